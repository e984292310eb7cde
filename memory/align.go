package memory

import "sort"

const (
	// maxDepth bounds how often a gap between anchors is searched for anchors of
	// its own.
	maxDepth = 8
	// maxSteps bounds the search in gaps without anchors, for one alignment. A
	// search that reaches it keeps what it found: the alignment is then valid and
	// not the longest, so that a merge may see an overlap where there is none,
	// and never the other way round.
	maxSteps = 1 << 19
)

// span is a run of equal lines: a[a:a+n] and b[b:b+n].
type span struct{ a, b, n int }

// aligner pairs the lines of two texts. Lines that occur once in both are
// anchors; the longest rising chain of them splits the texts, and the gaps are
// aligned in turn: by their own anchors, and where there are none, by the
// shortest edit.
type aligner struct {
	a, b  []int
	spans []span
	steps int // that are left
	seenA []sighting
	seenB []sighting
}

// sighting is where a line is, and how often, in the range that is looked at.
type sighting struct{ count, at int }

// align returns the runs of equal lines of a and b, in order, no two of them
// adjacent in both. Lines are numbers below words.
func align(a, b []int, words int) []span {
	al := aligner{a: a, b: b, steps: maxSteps, seenA: make([]sighting, words), seenB: make([]sighting, words)}
	al.between(span{0, 0, 0}, len(a), len(b), 0)
	return al.spans
}

// emit adds a run, or makes the last one longer.
func (al *aligner) emit(s span) {
	if s.n == 0 {
		return
	}
	if i := len(al.spans) - 1; i >= 0 && al.spans[i].a+al.spans[i].n == s.a && al.spans[i].b+al.spans[i].n == s.b {
		al.spans[i].n += s.n
		return
	}
	al.spans = append(al.spans, s)
}

// between aligns a[from.a:a1] with b[from.b:b1].
func (al *aligner) between(from span, a1, b1, depth int) {
	a0, b0 := from.a, from.b
	head := 0
	for a0+head < a1 && b0+head < b1 && al.a[a0+head] == al.b[b0+head] {
		head++
	}
	al.emit(span{a0, b0, head})
	a0, b0 = a0+head, b0+head
	tail := 0
	for a0 < a1-tail && b0 < b1-tail && al.a[a1-1-tail] == al.b[b1-1-tail] {
		tail++
	}
	a1, b1 = a1-tail, b1-tail
	if a0 < a1 && b0 < b1 {
		al.middle(a0, a1, b0, b1, depth)
	}
	al.emit(span{a1, b1, tail})
}

func (al *aligner) middle(a0, a1, b0, b1, depth int) {
	var chain []span
	if depth < maxDepth {
		chain = al.anchors(a0, a1, b0, b1)
	}
	if len(chain) == 0 {
		al.search(a0, a1, b0, b1)
		return
	}
	at := span{a0, b0, 0}
	for _, anchor := range chain {
		al.between(at, anchor.a, anchor.b, depth+1)
		al.emit(anchor)
		at = span{anchor.a + 1, anchor.b + 1, 0}
	}
	al.between(at, a1, b1, depth+1)
}

// anchors returns the longest chain of lines that occur once in each range and
// follow each other in both.
func (al *aligner) anchors(a0, a1, b0, b1 int) []span {
	count(al.seenA, al.a[a0:a1], a0)
	count(al.seenB, al.b[b0:b1], b0)
	var once []span
	for i := a0; i < a1; i++ {
		word := al.a[i]
		if al.seenA[word].count == 1 && al.seenB[word].count == 1 {
			once = append(once, span{i, al.seenB[word].at, 1})
		}
	}
	forget(al.seenA, al.a[a0:a1])
	forget(al.seenB, al.b[b0:b1])
	return rising(once)
}

func count(seen []sighting, words []int, from int) {
	for i, word := range words {
		seen[word].count++
		seen[word].at = from + i
	}
}

func forget(seen []sighting, words []int) {
	for _, word := range words {
		seen[word] = sighting{}
	}
}

// rising returns the longest subsequence of pairs, which are in the order of a,
// that is in the order of b as well.
func rising(pairs []span) []span {
	var ends []int // ends[n] = the pair with the least b that ends a chain of n+1
	before := make([]int, len(pairs))
	for i, p := range pairs {
		n := sort.Search(len(ends), func(n int) bool { return pairs[ends[n]].b >= p.b })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	chain := make([]span, len(ends))
	for i, n := ends[len(ends)-1], len(ends)-1; i >= 0; i, n = before[i], n-1 {
		chain[n] = pairs[i]
	}
	return chain
}
