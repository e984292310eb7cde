package view

import "math"

// edit makes a text from another one, from left to right. It allocates nothing
// before the first change.
type edit struct {
	src     string
	out     []byte
	changes []change
	// done is how much of src is in out or was dropped.
	done int
}

// tooLong reports that positions in src do not fit into a [change]. Such a text
// is far beyond every limit on what is scanned; it has no views.
func tooLong(src string) bool { return len(src) > math.MaxInt32/2 }

// drop leaves out src[from:to].
func (e *edit) drop(from, to int) { e.put(from, to, "") }

// put has made stand for src[from:to], which is not empty and not before an
// earlier one.
func (e *edit) put(from, to int, made string) {
	e.open(from)
	e.out = append(e.out, made...)
	e.shut(from, to, len(made), 0)
}

// open copies src up to from; what is then appended to out comes from there.
func (e *edit) open(from int) {
	if e.out == nil {
		e.out = make([]byte, 0, len(e.src))
	}
	e.out = append(e.out, e.src[e.done:from]...)
}

// shut notes that the last n bytes of out stand for src[from:to]. Bytes dropped
// one after another are one change.
func (e *edit) shut(from, to, n int, bits int32) {
	end, last := len(e.out), len(e.changes)-1
	if n == 0 && last >= 0 && from == e.done && int(e.changes[last].at) == end {
		e.changes[last].to = int32(to)
		e.done = to
		return
	}
	e.changes = append(e.changes, change{int32(end - n), int32(end), int32(from), int32(to), bits})
	e.done = to
}

// last returns the byte that stands before what src[at:] makes, 0 for none.
func (e *edit) last(at int) byte {
	if at > e.done {
		return e.src[at-1]
	}
	if len(e.out) > 0 {
		return e.out[len(e.out)-1]
	}
	return 0
}

// text returns what was made from parent, or parent and false when it is the
// same.
func (e *edit) text(parent Text) (Text, bool) {
	if len(e.changes) == 0 {
		return parent, false
	}
	made := append(e.out, e.src[e.done:]...)
	from := parent
	return Text{s: string(made), parent: &from, changes: e.changes}, true
}
