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
	from, to = max(least, start-escape), min(len(e.src), end+escape)
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
		if i-run >= shortest && run >= e.done && !e.goesOn(i) {
			e.run(run, i, 0)
		}
	}
}

// goesOn reports whether a run that ends at i goes on with a digit that is
// escaped: then it is whole, and has its right phase, in the next layer.
func (e *edit) goesOn(i int) bool {
	return strings.HasPrefix(e.src[i:], "%2B") || strings.HasPrefix(e.src[i:], "%2F") ||
		strings.HasPrefix(e.src[i:], "%2b") || strings.HasPrefix(e.src[i:], "%2f")
}
