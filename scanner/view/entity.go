package view

import (
	"html"
	"strings"
	"unicode/utf8"
)

// maxEntity bounds what follows the ampersand of an entity, in bytes. The
// longest name of HTML has 32.
const maxEntity = 40

// entity puts what the entity at i means for it. One whose ampersand is an
// entity itself, because it was escaped twice, is undone at once.
func (e *edit) entity(i int) int {
	body, escaped := i+1, false
	for strings.HasPrefix(e.src[body:], "amp;") {
		body, escaped = body+len("amp;"), true
	}
	meaning, size := entityBody(e.src[body:])
	switch {
	case size > 0:
		e.put(i, body+size, meaning)
		return body + size
	case escaped:
		e.put(i, body, "&")
	}
	return body
}

// entityBody returns the meaning of the entity that begins s without its
// ampersand, and its length: 0 for none.
func entityBody(s string) (meaning string, size int) {
	if len(s) > maxEntity {
		s = s[:maxEntity]
	}
	end := 0
	if end < len(s) && s[end] == '#' {
		end++
	}
	for end < len(s) && is(s[end], alnum) {
		end++
	}
	if end < 2 || end == len(s) || s[end] != ';' {
		return "", 0
	}
	whole := "&" + s[:end+1]
	meaning = html.UnescapeString(whole)
	if meaning == whole || strings.ContainsRune(meaning, utf8.RuneError) || strings.ContainsRune(meaning, 0) {
		return "", 0
	}
	return visible(meaning), end + 1
}

// visible returns what a decoded character looks like: nothing for an invisible
// one.
func visible(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size != len(s) {
		return s
	}
	if invisible(r) {
		return ""
	}
	if c, where := plain(r); where != nowhere {
		return string(rune(c))
	}
	return s
}
