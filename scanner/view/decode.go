package view

import "strings"

// Decode undoes one layer of encoding, in place: runs of base64 (both alphabets,
// padded or not) and of hex from 16 characters on, percent encoding, and
// backslash escapes of characters. A run whose decoded bytes are not text, nor
// hold 16 characters of text in a row, is left alone. It returns t and false
// when nothing was decoded. What it makes need not be UTF-8.
//
// In a text that is itself a view it decodes only what is touched: the rest can
// be decoded from what the view was made from.
func Decode(t Text) (Text, bool) {
	if tooLong(t.s) {
		return t, false
	}
	e := edit{src: t.s}
	if t.parent == nil {
		e.decode(0, len(t.s))
		return e.text(t)
	}
	done := 0
	for start, end, ok := t.NextTouched(0); ok; start, end, ok = t.NextTouched(max(end, done)) {
		start, end = e.whole(max(start, done), end, done)
		e.decode(start, end)
		done = end
	}
	return e.text(t)
}

// whole widens src[start:end] to the encoded runs and escapes that reach into
// it, but not to what is before least.
func (e *edit) whole(start, end, least int) (from, to int) {
	const escape = 12
	from, to = start, end
	for i := start - 1; i >= max(least, start-escape) && e.src[i] > ' '; i-- {
		if c := e.src[i]; c == '%' || c == '\\' || c == '=' {
			from = i
		}
	}
	for from > least && sixBits[e.src[from-1]] != none {
		from--
	}
	for to < len(e.src) && (sixBits[e.src[to]] != none || e.src[to] == '=') {
		to++
	}
	return from, to
}

// decode decodes what begins in src[start:end].
func (e *edit) decode(start, end int) {
	for i := start; i < end; {
		if c := e.src[i]; c == '%' || c == '\\' || c == '=' {
			i = e.unescape(i)
			continue
		}
		if sixBits[e.src[i]] == none {
			i++
			continue
		}
		run := i
		for i < len(e.src) && sixBits[e.src[i]] != none {
			i++
		}
		if i-run >= shortest && run >= e.done && !e.partOfLonger(run, i) {
			e.run(run, i)
		}
	}
}

// partOfLonger reports whether the digit before or after the run src[start:end]
// is escaped: then the run is whole, and has its right phase, in the next layer.
func (e *edit) partOfLonger(start, end int) bool {
	if last := e.last(start); start > 0 && start == e.done && (last == '+' || last == '/') {
		return true
	}
	if end == len(e.src) || e.src[end] != '%' && e.src[end] != '\\' {
		return false
	}
	rest := strings.ToLower(e.src[end:min(len(e.src), end+6)])
	for _, escape := range [...]string{"%2b", "%2f", "\\u002b", "\\u002f", "\\x2b", "\\x2f"} {
		if strings.HasPrefix(rest, escape) {
			return true
		}
	}
	return false
}
