package search

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
)

// doc is one entry, taken apart. It is immutable.
type doc struct {
	key      api.Key
	sum      api.Checksum
	modified time.Time
	text     string
	cut      bool // text is only the beginning of the content

	// Terms in order: the text of term i ends at ends[i] of blob, and its positions
	// at ends of pos, each as the distance to the one before.
	blob string
	ends []termEnd
	pos  []byte

	length  int      // positions
	body    int      // the position of the text's first word
	offsets []uint32 // bytes of the text's words body, body+stride, ...
	fields  []field
}

type termEnd struct{ blob, pos uint32 }

// stride is how many positions share one of doc.offsets.
const stride = 32

// field is a range of positions that weighs more than others.
type field struct {
	from, to int
	weight   float32
}

// Weights of a word by where it stands; 1 anywhere else. In the manner of BM25F
// (Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted
// fields", CIKM 2004) the counts are weighed before they saturate. The values are
// ours; the relevance table holds them.
const (
	weightKey         = 3.0
	weightTitle       = 2.5
	weightDescription = 2.0
)

func (d *doc) terms() int { return len(d.ends) }

func (d *doc) term(i int) string {
	from := uint32(0)
	if i > 0 {
		from = d.ends[i-1].blob
	}
	return d.blob[from:d.ends[i].blob]
}

func (d *doc) positions(i int) positions {
	from := uint32(0)
	if i > 0 {
		from = d.ends[i-1].pos
	}
	return positions{d.pos[from:d.ends[i].pos], -1}
}

// positions iterates over the positions of one term, which grow.
type positions struct {
	rest []byte
	last int
}

func (p *positions) next() (at int, ok bool) {
	if len(p.rest) == 0 {
		return 0, false
	}
	if c := p.rest[0]; c < 0x80 { // nearly always
		p.rest = p.rest[1:]
		p.last += int(c)
		return p.last, true
	}
	step, n := binary.Uvarint(p.rest)
	p.rest = p.rest[n:]
	p.last += int(step)
	return p.last, true
}

// find returns the number of the first term that is not before s.
func (d *doc) find(s string) int {
	low, high := 0, len(d.ends)
	for low < high {
		if mid := int(uint(low+high) >> 1); d.term(mid) < s {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// weigh counts the occurrences of a term by their weights.
func (d *doc) weigh(p positions) float32 {
	var sum float32
	for at, ok := p.next(); ok; at, ok = p.next() {
		sum += d.weightAt(at)
	}
	return sum
}

func (d *doc) weightAt(at int) float32 {
	for _, f := range d.fields {
		if at >= f.from && at < f.to {
			return f.weight
		}
	}
	return 1
}

// bytes is what the doc takes in memory.
func (d *doc) bytes() int {
	const fixed = 320
	return fixed + len(d.key.String()) + len(d.text) + len(d.blob) + 8*cap(d.ends) + cap(d.pos) + 4*cap(d.offsets) + 24*cap(d.fields)
}

// analyser takes texts apart. It is used again and again, by one goroutine.
type analyser struct {
	found map[string]int // term -> number in lists
	lists []occurrences
	spans []span
	parts []word
	chain []word
	order []int
}

// maxReused is the size of a map above which a new one costs less than clearing
// it for each small text that follows.
const maxReused = 4096

type occurrences struct {
	term string
	last int // the last position, -1 before the first
	pos  []byte
}

// analyse makes the doc of one entry.
func (a *analyser) analyse(item Item, content string, most int) *doc {
	if a.found == nil || len(a.found) > maxReused {
		a.found = make(map[string]int)
	}
	clear(a.found)
	a.lists = a.lists[:0]
	text := cut(content, most)
	if len(text) < len(content) {
		text = strings.Clone(text) // else it would keep all of the content
	}
	d := &doc{key: item.Key, sum: item.Sum, modified: item.Modified, text: text, cut: len(text) < len(content)}
	d.body = a.walk(item.Key.String(), 0, nil) + 1 // a gap: no phrase reaches from the key into the text
	end := a.walk(text, d.body, &d.offsets)
	d.offsets = slices.Clip(d.offsets)
	d.length = end - 1
	d.fields = append(d.fields, field{0, d.body - 1, weightKey})
	a.spans = outline(text, a.spans[:0])
	for _, s := range a.spans {
		if f := (field{d.positionOf(s.from), d.positionOf(s.to), s.weight}); f.to > f.from {
			d.fields = append(d.fields, f)
		}
	}
	a.seal(d)
	return d
}

// positionOf returns the position of the first word at or after a byte.
func (d *doc) positionOf(offset int) int {
	i, _ := slices.BinarySearch(d.offsets, uint32(offset))
	i = max(i-1, 0)
	if len(d.offsets) == 0 {
		return d.body
	}
	at := d.body + i*stride
	for from := int(d.offsets[i]); ; at++ {
		w, ok := nextWord(d.text, from)
		if !ok || w.from >= offset {
			return at
		}
		from = w.to
	}
}

// walk notes the terms of a text whose first word has position at, and returns
// the position after the last. Where offsets is not nil it takes every
// stride-th word's byte.
func (a *analyser) walk(text string, at int, offsets *[]uint32) int {
	first := at
	a.chain = a.chain[:0]
	w, ok := nextWord(text, 0)
	for ok {
		if offsets != nil && (at-first)%stride == 0 {
			*offsets = append(*offsets, uint32(w.from))
		}
		if n := len(a.chain); n > 0 && !joins(text, a.chain[n-1], w) {
			a.join(text, at-n)
		}
		a.chain = append(a.chain, w)
		next, more := nextWord(text, w.to)
		a.note(text, w, next, more, at)
		at++
		w, ok = next, more
	}
	a.join(text, at-len(a.chain))
	return at
}

// note notes the terms of one word.
func (a *analyser) note(text string, w, next word, more bool, at int) {
	if w.cell {
		to := w.to
		if more && next.cell && next.from == w.to {
			to = next.to
		}
		a.add(foldCells(text[w.from:w.to], text[w.to:to]), at)
		return
	}
	a.add(fold(text[w.from:w.to]), at)
	if a.parts = parts(text, w, a.parts); a.parts != nil {
		for _, p := range a.parts {
			a.add(fold(text[p.from:p.to]), at)
		}
	}
}

// foldCells is the term of two neighbours, or of one with nothing after it.
func foldCells(one, two string) string {
	if two == "" {
		return fold(one)
	}
	return fold(one) + fold(two)
}

// join notes the words of a chain as one term, at the first one's position.
func (a *analyser) join(text string, at int) {
	if n := len(a.chain); n > 1 && n <= maxParts {
		a.add(joined(text, a.chain), at)
	}
	a.chain = a.chain[:0]
}

// joined is the term of words that '-' and '_' join.
func joined(text string, chain []word) string {
	var b strings.Builder
	for _, w := range chain {
		b.WriteString(fold(text[w.from:w.to]))
	}
	return cut(b.String(), maxTerm)
}

// add notes one occurrence. Positions may go back by a little: a chain's first
// word is noted again when the chain has ended.
func (a *analyser) add(term string, at int) {
	if term == "" {
		return
	}
	i, ok := a.found[term]
	if !ok {
		i = len(a.lists)
		a.found[term] = i
		if i < cap(a.lists) {
			a.lists = a.lists[:i+1]
			a.lists[i].pos = a.lists[i].pos[:0]
		} else {
			a.lists = append(a.lists, occurrences{})
		}
		a.lists[i].term, a.lists[i].last = term, -1
	}
	list := &a.lists[i]
	if at > list.last {
		list.pos = binary.AppendUvarint(list.pos, uint64(at-list.last))
		list.last = at
	}
}

// seal moves what was noted into d.
func (a *analyser) seal(d *doc) {
	a.order = a.order[:0]
	terms, bytes := 0, 0
	for i := range a.lists {
		a.order = append(a.order, i)
		terms += len(a.lists[i].term)
		bytes += len(a.lists[i].pos)
	}
	slices.SortFunc(a.order, func(x, y int) int { return strings.Compare(a.lists[x].term, a.lists[y].term) })
	var blob strings.Builder
	blob.Grow(terms)
	d.pos = make([]byte, 0, bytes)
	d.ends = make([]termEnd, 0, len(a.order))
	for _, i := range a.order {
		blob.WriteString(a.lists[i].term)
		d.pos = append(d.pos, a.lists[i].pos...)
		d.ends = append(d.ends, termEnd{uint32(blob.Len()), uint32(len(d.pos))})
		a.lists[i].term = "" // it may be a part of the text, which must not be kept by it
	}
	d.blob = blob.String()
}
