package view

import "strings"

// wraps joins words that a hard wrap cut in two: all between them is dropped,
// which is the line break, the next line's margin and the end of a table's row.
func wraps(e *edit) { unwrap(e, false) }

// hyphens does the same where the wrap put a hyphen, and drops it.
func hyphens(e *edit) { unwrap(e, true) }

func unwrap(e *edit, hyphenated bool) {
	joinedTo := -1
	for i := 0; ; {
		at := strings.IndexByte(e.src[i:], '\n')
		if at < 0 {
			return
		}
		i += at + 1
		left := lineEnd(e.src, i-1)
		right := margin(e.src, i)
		if left == 0 || right == len(e.src) || !is(e.src[left-1], token) || !is(e.src[right], token) || closes(e.src[left:i], e.src[i:right]) {
			continue
		}
		start := runBefore(e.src, left, longest, token)
		if hyphenated {
			if e.src[left-1] != '-' {
				continue
			}
			left--
		} else if e.src[left-1] == '=' && e.src[right] != '=' {
			left-- // quoted-printable, or padding, after which nothing comes
		}
		end := runAfter(e.src, right, longest, token)
		if start >= left || left < e.done || !oneWord(e.src[start:left], e.src[right:end], start == joinedTo) {
			continue
		}
		e.drop(left, right)
		joinedTo, i = right, right
	}
}

// oneWord reports whether two parts may be those of one token. goesOn says that
// left was found to be a part of one.
func oneWord(left, right string, goesOn bool) bool {
	if !goesOn && len(left)+len(right) < shortest {
		return false
	}
	inside := changesOfKind(left) + changesOfKind(right)
	return inside >= 3 || goesOn && inside > 0
}

// closes reports whether a quote ends what stands before the line break, and none
// opens anew after it: then what follows belongs to something else.
func closes(before, after string) bool {
	const quotes = "\"'"
	return strings.ContainsAny(before, quotes) && !strings.ContainsAny(after, quotes)
}

// border returns the length of the line of a drawn table at the begin of s, or
// else at its end; 0 for none.
func border(s string, begin bool) int {
	for _, line := range [...]string{"│", "┃", "║"} {
		if begin && strings.HasPrefix(s, line) || !begin && strings.HasSuffix(s, line) {
			return len(line)
		}
	}
	return 0
}

// lineEnd returns where the words of the line end whose break is at end: before
// space, closing marks and empty cells.
func lineEnd(s string, end int) int {
	for least := max(0, end-maxMargin); end > least; {
		c := s[end-1]
		if is(c, blank) || c == '\r' || c == '|' || c == '`' || c == '*' || isQuote(c) {
			end--
			continue
		}
		size := 0
		if c >= 0x80 {
			size = border(s[:end], false)
		}
		if size == 0 {
			break
		}
		end -= size
	}
	return end
}

// margin returns where the words of the line begin that begins at i: after
// indentation, the marks of quotes, comments and lists, opening marks and empty
// cells.
func margin(s string, i int) int {
	for end := min(len(s), i+maxMargin); i < end; i++ {
		switch c := s[i]; {
		case is(c, blank) || strings.IndexByte(">#*;|!\"'`%", c) >= 0:
		case i+1 < end && (c == '-' || c == '+' || c == '/' || c == ':') && (is(s[i+1], blank) || s[i+1] == c):
		case c == '/' && i > 0 && s[i-1] == '/', c == '-' && i > 0 && s[i-1] == '-':
		case c >= 0x80 && border(s[i:], true) > 0:
			i += border(s[i:], true) - 1
		default:
			return i
		}
	}
	return i
}
