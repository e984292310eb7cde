package view

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape decodes the escape at i, if there is one, and returns what comes
// after it.
func (e *edit) unescape(i int) int {
	if i < e.done {
		return i + 1
	}
	switch e.src[i] {
	case '%':
		return e.percent(i)
	case '=':
		return e.quotedPrintable(i)
	}
	j := i
	for j < len(e.src) && e.src[j] == '\\' {
		j++
	}
	return e.escape(i, j)
}

// percent decodes %XX, and %uXXXX, which old browsers wrote.
func (e *edit) percent(i int) int {
	if value, ok := hexValue(e.src, i+1, 2); ok {
		e.open(i)
		e.out = append(e.out, byte(value))
		e.shut(i, i+3, 1, 0)
		return i + 3
	}
	if strings.HasPrefix(e.src[i:], "%u") {
		return e.escape(i, i+1)
	}
	return i + 1
}

// quotedPrintable decodes =XX inside a word, for the marks that tokens have.
func (e *edit) quotedPrintable(i int) int {
	value, ok := hexValue(e.src, i+1, 2)
	if !ok || i == 0 || !is(e.src[i-1], word) || strings.IndexByte("_-.=+/", byte(value)) < 0 {
		return i + 1
	}
	e.put(i, i+3, string(rune(value)))
	return i + 3
}

// escape decodes what begins at i and says at j how: uXXXX, u{X}, UXXXXXXXX,
// xXX, or three octal digits. Before j stand backslashes, more than one where
// the text was quoted twice.
func (e *edit) escape(i, j int) int {
	if j == len(e.src) {
		return j
	}
	var value, size int
	switch rest := e.src[j:]; rest[0] {
	case 'u':
		value, size = unicodeEscape(rest)
	case 'U':
		if v, ok := hexValue(rest, 1, 8); ok {
			value, size = v, 9
		}
	case 'x':
		if v, ok := hexValue(rest, 1, 2); ok {
			e.open(i)
			e.out = append(e.out, byte(v))
			e.shut(i, j+3, 1, 0)
			return j + 3
		}
	case '0', '1':
		if v, err := strconv.ParseUint(rest[:min(3, len(rest))], 8, 8); err == nil && len(rest) >= 3 {
			value, size = int(v), 3
		}
	}
	if size == 0 || !utf8.ValidRune(rune(value)) {
		return j
	}
	e.put(i, j+size, visible(string(rune(value))))
	return j + size
}

// unicodeEscape returns the value and length of the escape that begins with u,
// length 0 for none. Two that are a surrogate pair are one.
func unicodeEscape(s string) (value, size int) {
	if strings.HasPrefix(s, "u{") {
		end := strings.IndexByte(s[:min(len(s), 9)], '}')
		if end < 3 {
			return 0, 0
		}
		value, ok := hexValue(s, 2, end-2)
		if !ok {
			return 0, 0
		}
		return value, end + 1
	}
	value, ok := hexValue(s, 1, 4)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(rune(value)) && len(s) > 7 && s[5] == '\\' && s[6] == 'u' {
		if low, ok := hexValue(s, 7, 4); ok {
			return int(utf16.DecodeRune(rune(value), rune(low))), 11
		}
	}
	return value, 5
}

// hexValue returns the value of the size digits of hex at i.
func hexValue(s string, i, size int) (value int, ok bool) {
	if i+size > len(s) {
		return 0, false
	}
	for _, c := range []byte(s[i : i+size]) {
		if fourBits[c] == none {
			return 0, false
		}
		value = value<<4 | int(fourBits[c])
	}
	return value, true
}
