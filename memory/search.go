package memory

import "slices"

// search aligns two ranges by the shortest edit script (Myers, "An O(ND)
// difference algorithm and its variations", 1986). Lines that the other range
// does not have are left out first: no alignment can use them.
func (al *aligner) search(a0, a1, b0, b1 int) {
	count(al.seenA, al.a[a0:a1], a0)
	count(al.seenB, al.b[b0:b1], b0)
	fromA := common(al.a, a0, a1, al.seenB)
	fromB := common(al.b, b0, b1, al.seenA)
	forget(al.seenA, al.a[a0:a1])
	forget(al.seenB, al.b[b0:b1])
	s := shortest{a: pick(al.a, fromA), b: pick(al.b, fromB), steps: al.steps}
	pairs := s.pairs()
	al.steps = s.steps
	for _, p := range slices.Backward(pairs) {
		al.emit(span{fromA[p.a], fromB[p.b], 1})
	}
}

// common lists the places from..to whose line the other range has.
func common(words []int, from, to int, other []sighting) []int {
	places := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		if other[words[i]].count > 0 {
			places = append(places, i)
		}
	}
	return places
}

func pick(words, places []int) []int {
	picked := make([]int, len(places))
	for i, place := range places {
		picked[i] = words[place]
	}
	return picked
}

// shortest searches the edit script of two sequences. Round d finds, on each
// diagonal k = x-y, the furthest point (x, y) that d edits reach.
type shortest struct {
	a, b  []int
	steps int // that are left
	rows  [][]int
}

// get is the x that round d reached on diagonal k, which has d's parity.
func (s *shortest) get(d, k int) int { return s.rows[d][(k+d)/2] }

// pairs returns equal places of a and b, last first.
func (s *shortest) pairs() []span {
	for d := 0; s.steps > 0; d++ {
		s.rows = append(s.rows, make([]int, d+1))
		for k := -d; k <= d; k += 2 {
			if s.reach(d, k) {
				return s.back(d, k)
			}
		}
	}
	return s.back(s.furthest())
}

// reach computes one point, and reports whether it is the end of both.
func (s *shortest) reach(d, k int) bool {
	x := 0
	if d > 0 {
		x, _ = s.step(d, k)
	}
	y := x - k
	for x < len(s.a) && y < len(s.b) && s.a[x] == s.b[y] {
		x, y = x+1, y+1
		s.steps--
	}
	s.steps--
	s.rows[d][(k+d)/2] = x
	return x >= len(s.a) && y >= len(s.b)
}

// step returns where round d enters diagonal k, and from which diagonal. The
// points beyond the end of a or b that it may return lead nowhere: an equally
// short way inside exists, see the paper.
func (s *shortest) step(d, k int) (x, from int) {
	if k == -d || k != d && s.get(d-1, k-1) < s.get(d-1, k+1) {
		return s.get(d-1, k+1), k + 1
	}
	return s.get(d-1, k-1) + 1, k - 1
}

// furthest is the point of the last whole round that covers most of both, for a
// search that was given up.
func (s *shortest) furthest() (d, k int) {
	d = len(s.rows) - 1
	best := -1
	for at := -d; at <= d; at += 2 {
		x := s.get(d, at)
		y := x - at
		if x <= len(s.a) && y <= len(s.b) && x+y > best {
			best, k = x+y, at
		}
	}
	return d, k
}

// back walks from a point to the beginning.
func (s *shortest) back(d, k int) []span {
	var pairs []span
	for x := s.get(d, k); ; d-- {
		entry, from := 0, 0
		if d > 0 {
			entry, from = s.step(d, k)
		}
		for ; x > entry; x-- {
			pairs = append(pairs, span{x - 1, x - 1 - k, 1})
		}
		if d == 0 {
			return pairs
		}
		k = from
		x = s.get(d-1, k)
	}
}
