package view

import (
	"unicode/utf8"
)

// lexical marks the bytes at which something may begin that [Normalise] undoes.
var lexical = func() (table [256]bool) {
	for c := range 0x20 {
		table[c] = c != '\t' && c != '\n' && c != '\v' && c != '\f' && c != '\r'
	}
	for _, c := range "\\&<\x7F" {
		table[c] = true
	}
	// The first bytes of characters that plain and invisible know.
	for _, c := range []byte{0xC2, 0xCD, 0xD8, 0xE1, 0xE2, 0xE3, 0xEF, 0xF0, 0xF3} {
		table[c] = true
	}
	return table
}()

// Normalise undoes what is no part of a secret, wherever it stands: invisible
// characters and terminal codes are dropped, short inline HTML tags inside a
// word too; Markdown's and JSON's backslashes, HTML entities, full width and
// look-alike characters become what they mean. A word of ASCII letters and
// digits between spaces is always kept. It returns t and false when nothing
// differs. Valid UTF-8 stays valid.
func Normalise(t Text) (Text, bool) {
	if tooLong(t.s) {
		return t, false
	}
	e := edit{src: t.s}
	for i := 0; i < len(t.s); {
		if !lexical[t.s[i]] {
			i++
			continue
		}
		i = e.lexeme(i)
	}
	return e.text(t)
}

// lexeme undoes what begins at i, if anything, and returns what comes after it.
func (e *edit) lexeme(i int) int {
	switch c := e.src[i]; {
	case c == '\\':
		return e.backslashes(i)
	case c == '&':
		return e.entity(i)
	case c == '<':
		return e.shortTag(i)
	case c == 0x1B:
		return e.control(i)
	case c >= utf8.RuneSelf:
		return e.character(i)
	}
	e.drop(i, i+1)
	return i + 1
}

// backslashes undoes a run of backslashes and what it escapes. However long the
// run is, it is one escape: text that was quoted twice has more of them.
func (e *edit) backslashes(i int) int {
	j := i
	for j < len(e.src) && e.src[j] == '\\' {
		j++
	}
	if j == len(e.src) {
		return j
	}
	switch c := e.src[j]; {
	case c == 'n':
		e.put(i, j+1, "\n")
	case c == 'r':
		e.put(i, j+1, "\r")
	case c == 't':
		e.put(i, j+1, "\t")
	case isPunct(c):
		e.put(i, j+1, e.src[j:j+1])
	default:
		return j
	}
	return j + 1
}

// control drops a code of a terminal: its parameters and its final letter, or
// the escape character alone where it begins no code without text.
func (e *edit) control(i int) int {
	const most = 64
	j := i + 1
	if j < len(e.src) && e.src[j] == '[' {
		end := j + 1
		for end < len(e.src) && end-j < most && '0' <= e.src[end] && e.src[end] <= '?' {
			end++
		}
		if end < len(e.src) && '@' <= e.src[end] && e.src[end] <= '~' {
			j = end + 1
		}
	}
	e.drop(i, j)
	return j
}

// character drops the character at i when it is invisible, and puts what it
// looks like for it where that may be part of a token.
func (e *edit) character(i int) int {
	r, size := utf8.DecodeRuneInString(e.src[i:])
	if r == utf8.RuneError {
		return i + size
	}
	if invisible(r) {
		e.drop(i, i+size)
		return i + size
	}
	c, where := plain(r)
	if where == nowhere || where == inToken && !e.inToken(i, i+size, c) {
		return i + size
	}
	e.put(i, i+size, string(rune(c)))
	return i + size
}

// inToken reports whether the character src[i:j], which looks like c, stands in
// what could be a token: a part of one between two, all else beside one.
func (e *edit) inToken(i, j int, c byte) bool {
	before, after := is(e.last(i), word), false
	if j < len(e.src) {
		r, _ := utf8.DecodeRuneInString(e.src[j:])
		next, where := plain(r)
		after = where == inToken && is(next, word) || r < utf8.RuneSelf && is(byte(r), word) ||
			before && (invisible(r) || r < utf8.RuneSelf && startsSpelling(byte(r)))
	}
	if is(c, mark|joiner) {
		return before && after
	}
	return before || after
}

// startsSpelling reports whether c may begin another spelling of a character.
func startsSpelling(c byte) bool {
	return c == '\\' || c == '&' || c == '*' || c == '`' || c == '%' || c == '<'
}
