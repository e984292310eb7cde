package view

import "strings"

// markup drops tags and comments inside a word, whatever they hold.
func (e *edit) markup(i int) int {
	end := i
	for end < len(e.src) && e.src[end] == '<' {
		size := e.commentSize(end)
		if size == 0 {
			size = longTag(e.src[end:])
		}
		if size == 0 {
			break
		}
		end += size
	}
	if end == i {
		return i + 1
	}
	if e.midWord(i, end) {
		e.drop(i, end)
	}
	return end
}

// commentSize returns the length of the comment that begins at i, 0 for none.
// It is bounded as a tag is, so that many beginnings without an end cost little.
func (e *edit) commentSize(i int) int {
	const open, shut = "<!--", "-->"
	if !strings.HasPrefix(e.src[i:], open) {
		return 0
	}
	window := e.src[i+len(open) : min(len(e.src), i+maxTag)]
	at := strings.Index(window, shut)
	if at < 0 {
		return 0
	}
	return len(open) + at + len(shut)
}

// longTag returns the length of the inline tag that begins s, with attributes or
// without; 0 for none.
func longTag(s string) int {
	at := 1
	if strings.HasPrefix(s, "</") {
		at++
	}
	end := runAfter(s, at, 8, lower|upper)
	if end == at || end == len(s) || !inline[strings.ToLower(s[at:end])] || s[end] != '>' && s[end] != '/' && !is(s[end], blank) {
		return 0
	}
	close := strings.IndexAny(s[end:min(len(s), maxTag)], "<>")
	if close < 0 || s[end+close] == '<' {
		return 0
	}
	return end + close + 1
}
