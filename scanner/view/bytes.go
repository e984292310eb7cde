package view

// class is a set of properties of a byte.
type class uint8

const (
	digit class = 1 << iota
	lower
	upper
	mark   // also part of many tokens: _ and -
	joiner // part of some: . + / = ~
	blank  // space and tab

	alnum = digit | lower | upper
	word  = alnum | mark
	token = word | joiner
)

var classes = func() (table [256]class) {
	for c := range table {
		switch {
		case '0' <= c && c <= '9':
			table[c] = digit
		case 'a' <= c && c <= 'z':
			table[c] = lower
		case 'A' <= c && c <= 'Z':
			table[c] = upper
		}
	}
	for _, c := range "_-" {
		table[c] = mark
	}
	for _, c := range ".+/=~" {
		table[c] = joiner
	}
	for _, c := range " \t" {
		table[c] = blank
	}
	return table
}()

func is(c byte, what class) bool { return classes[c]&what != 0 }

// isPunct reports whether c is punctuation of ASCII, which a backslash makes
// literal in Markdown.
func isPunct(c byte) bool { return c > ' ' && c < 0x7F && !is(c, alnum) }

// runBefore returns where the run of bytes of what begins that ends at end, at
// most limit bytes before.
func runBefore(s string, end, limit int, what class) int {
	start := end
	for start > 0 && end-start < limit && is(s[start-1], what) {
		start--
	}
	return start
}

// runAfter returns where the run of bytes of what ends that begins at start, at
// most limit bytes after.
func runAfter(s string, start, limit int, what class) int {
	end := start
	for end < len(s) && end-start < limit && is(s[end], what) {
		end++
	}
	return end
}

// changesOfKind counts how often a text goes from lower case to upper case or
// digits and back. Words have few, random text many.
func changesOfKind(s string) (count int) {
	var before class
	for i := range len(s) {
		kind := classes[s[i]] & alnum
		if kind == 0 {
			continue
		}
		if before != 0 && kind != before {
			count++
		}
		before = kind
	}
	return count
}
