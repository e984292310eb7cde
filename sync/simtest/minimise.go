package simtest

import "slices"

// Minimise returns a history that still fails and is smaller: fewer operations,
// less in each of them, fewer clients and keys. It asks fails about candidates,
// a few hundred times.
func Minimise(h History, fails func(History) bool) History {
	for before := -1; before != len(h.Ops); {
		before = len(h.Ops)
		h = fewerOps(h, fails)
		h = lessInOps(h, fails)
	}
	return fewerThings(h, fails)
}

// fewerOps leaves out runs of operations, long ones first.
func fewerOps(h History, fails func(History) bool) History {
	for n := (len(h.Ops) + 1) / 2; n > 0; n /= 2 {
		for at := 0; at+n <= len(h.Ops); {
			smaller := h
			smaller.Ops = slices.Delete(slices.Clone(h.Ops), at, at+n)
			if fails(smaller) {
				h = smaller
				continue
			}
			at += n
		}
	}
	return h
}

// lessInOps lets operations happen at once, and nothing after them.
func lessInOps(h History, fails func(History) bool) History {
	for i := range h.Ops {
		for _, less := range []func(*Op){
			func(op *Op) { op.Turns = 0 },
			func(op *Op) { op.Turns /= 2 },
			func(op *Op) { op.Ambush = 0 },
		} {
			smaller := h
			smaller.Ops = slices.Clone(h.Ops)
			less(&smaller.Ops[i])
			if smaller.Ops[i] != h.Ops[i] && fails(smaller) {
				h = smaller
			}
		}
	}
	return h
}

// fewerThings leaves out clients and keys that no operation names, and what is
// special about the history.
func fewerThings(h History, fails func(History) bool) History {
	for _, less := range []func(*History){
		func(h *History) { h.Twins = false },
		func(h *History) { h.Poison = false },
		func(h *History) { h.Big = false },
		func(h *History) { h.Few = false },
		func(h *History) { h.Merge = false },
		func(h *History) { h.Steady = false },
		func(h *History) { h.Clients-- }, func(h *History) { h.Clients-- }, func(h *History) { h.Clients-- },
		func(h *History) { h.Keys-- }, func(h *History) { h.Keys-- }, func(h *History) { h.Keys-- }, func(h *History) { h.Keys-- },
	} {
		smaller := h
		less(&smaller)
		if smaller.Check() == nil && fails(smaller) {
			h = smaller
		}
	}
	return h
}
