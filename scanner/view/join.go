package view

import "strings"

// joints marks the bytes at which [join] may find something.
var joints = func() (table [256]bool) {
	for _, c := range "*`~\"'\\<[(" {
		table[c] = true
	}
	return table
}()

// join drops what stands between two parts of a word that a reader sees as one:
// emphasis, the end of one string and the begin of the next, a backslash at the
// end of a line, tags and comments.
func join(e *edit) {
	for i := 0; i < len(e.src); {
		switch c := e.src[i]; {
		case !joints[c]:
			i++
		case c == '<':
			i = e.markup(i)
		case c == '\\':
			i = e.continuation(i)
		case c == '"' || c == '\'':
			i = e.concatenation(i)
		case c == '[' || c == '(':
			i = e.defanged(i)
		default:
			i = e.emphasis(i)
		}
	}
}

// emphasis drops a run of emphasis marks inside a word.
func (e *edit) emphasis(i int) int {
	const most = 6
	j, stars := i, 0
	for ; j < len(e.src); j++ {
		if c := e.src[j]; c == '*' {
			stars++
		} else if c == '~' && j+1 < len(e.src) && e.src[j+1] == '~' {
			j++
		} else if c != '`' {
			break
		}
	}
	if j == i {
		return i + 1 // one ~ is part of the word
	}
	// A long run hides something or draws a line. Four stars are the end of
	// something bold and the begin of another.
	if j-i > most || stars > 4 {
		return j
	}
	if e.src[i:j] == "`" && j < len(e.src) {
		if end := e.concatenation(i); end > j {
			return end
		}
	}
	if e.midWord(i, j) {
		e.drop(i, j)
	}
	return j
}

// continuation drops a backslash at the end of a line with the line break, and
// the next line's margin when a word goes on there.
func (e *edit) continuation(i int) int {
	end := lineBreak(e.src, i+1)
	if end == i+1 {
		return i + 1
	}
	if next := margin(e.src, end); e.midWord(i, next) {
		end = next
	}
	e.drop(i, end)
	return end
}

// defanged puts the mark alone for one in brackets inside a word, as in [.].
func (e *edit) defanged(i int) int {
	if i+3 >= len(e.src) || e.src[i+2] != ']' && e.src[i+2] != ')' || !is(e.src[i+1], mark|joiner) || !e.midWord(i, i+3) {
		return i + 1
	}
	e.put(i, i+3, e.src[i+1:i+2])
	return i + 3
}

// lineBreak returns where the line break at i ends, or i when there is none.
func lineBreak(s string, i int) int {
	if i < len(s) && s[i] == '\r' {
		i++
		if i == len(s) || s[i] != '\n' {
			return i - 1
		}
	}
	if i < len(s) && s[i] == '\n' {
		i++
	}
	return i
}

// maxMargin bounds what stands before a line's words, in bytes.
const maxMargin = 160

// operators join strings in one language or another; one that begins another
// one comes after it.
var operators = []string{"", "++", "+", "..", ".", "||", "&", "<>", "~"}

// concatenation drops everything from the closing quote at i to the quote that
// opens the next string, when only an operator is in between.
func (e *edit) concatenation(i int) int {
	if !is(e.last(i), token) {
		return i + 1
	}
	j := skipSpace(e.src, i+1)
	list := j < len(e.src) && e.src[j] == ','
	if list {
		j = skipSpace(e.src, j+1)
	}
	for _, operator := range operators[1:] {
		if strings.HasPrefix(e.src[j:], operator) {
			j = skipSpace(e.src, j+len(operator))
			break
		}
	}
	// Letters that say what kind of string follows.
	if next := runAfter(e.src, j, 2, lower|upper); next < len(e.src) && next > j && j > i+1 && isQuote(e.src[next]) {
		j = next
	}
	if j+1 >= len(e.src) || !isQuote(e.src[j]) || !is(e.src[j+1], token) {
		return i + 1
	}
	if list && !e.randomBeside(i, j+1) {
		return i + 1
	}
	e.drop(i, j+1)
	return j + 1
}

// randomBeside reports whether the words before start and after end look random.
// Only then are the items of a list taken for parts: most lists are of words.
func (e *edit) randomBeside(start, end int) bool {
	const enough = 64
	left := e.src[runBefore(e.src, start, enough, token):start]
	right := e.src[end:runAfter(e.src, end, enough, token)]
	return oneWord(left, right, false)
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// skipSpace returns where space, line breaks and the sign of a continued line
// end that begin at i.
func skipSpace(s string, i int) int {
	for end := min(len(s), i+maxMargin); i < end; i++ {
		if c := s[i]; !is(c, blank) && c != '\n' && c != '\r' && c != '\\' {
			break
		}
	}
	return i
}
