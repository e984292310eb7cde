package view

import "strings"

// inline are the HTML elements that do not end a word.
var inline = map[string]bool{
	"a": true, "abbr": true, "b": true, "bdi": true, "bdo": true, "big": true, "cite": true, "code": true,
	"data": true, "del": true, "dfn": true, "em": true, "font": true, "i": true, "ins": true, "kbd": true,
	"mark": true, "nobr": true, "q": true, "s": true, "samp": true, "shy": true, "small": true, "span": true,
	"strike": true, "strong": true, "sub": true, "sup": true, "time": true, "tt": true, "u": true, "var": true,
	"wbr": true,
}

// maxTag bounds a tag with attributes, in bytes.
const maxTag = 1024

// shortTag drops the tags at i that stand inside a word and have no attributes.
// They hold nothing that could be a secret. A line break becomes one.
func (e *edit) shortTag(i int) int {
	end := i
	for {
		name, size := tagName(e.src[end:])
		if name == "br" && end == i {
			e.put(i, i+size, "\n")
			return i + size
		}
		if !inline[name] {
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

// tagName returns the name of the tag that begins s, in lower case, and the
// tag's length. It has none when it has attributes or is too long.
func tagName(s string) (name string, size int) {
	at := 1
	if strings.HasPrefix(s, "</") {
		at++
	}
	if len(s) < at || s[0] != '<' {
		return "", 0
	}
	end := runAfter(s, at, 8, lower|upper)
	close := strings.TrimLeft(s[end:min(len(s), end+3)], " ")
	close = strings.TrimPrefix(close, "/")
	if end == at || !strings.HasPrefix(close, ">") {
		return "", 0
	}
	size = end + strings.IndexByte(s[end:], '>') + 1
	return strings.ToLower(s[at:end]), size
}

// midWord reports whether src[i:j] stands inside a word: between two characters
// of tokens, of which the second may be written in some other way.
func (e *edit) midWord(i, j int) bool {
	if j == len(e.src) || !is(e.last(i), token) {
		return false
	}
	c := e.src[j]
	return is(c, token) || c >= 0x80 || startsSpelling(c)
}
