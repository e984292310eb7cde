package match

import "slices"

// automaton finds all keywords in one pass (Aho and Corasick, 1975), whatever
// the case of ASCII letters. Its table is dense over classes of bytes: bytes
// that stand in no keyword share one.
type automaton struct {
	class   [256]uint8
	classes uint32
	next    []uint32  // by state and class; states are multiplied by classes
	found   [][]int32 // by state: the keywords that end there, longest first
	lengths []int     // by keyword
}

// newAutomaton builds the automaton. Keywords are in lower case, distinct and
// not empty.
func newAutomaton(keywords []string) *automaton {
	a := &automaton{classes: 1}
	for _, word := range keywords {
		a.lengths = append(a.lengths, len(word))
		for i := range len(word) {
			if c := word[i]; a.class[c] == 0 {
				a.class[c] = uint8(a.classes) //nolint:gosec // at most 230 bytes are in lower-case UTF-8
				a.classes++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		a.class[c] = a.class[c+'a'-'A']
	}
	a.grow(keywords)
	a.link()
	return a
}

// state adds a state and returns its number.
func (a *automaton) state() uint32 {
	a.next = append(a.next, make([]uint32, a.classes)...)
	a.found = append(a.found, nil)
	return uint32(len(a.found)-1) * a.classes //nolint:gosec // a few thousand states
}

// statesOf returns how many states the trie of keywords has: one for each
// beginning.
func statesOf(keywords []string) int {
	states, before := 1, ""
	for _, word := range slices.Sorted(slices.Values(keywords)) {
		shared := 0
		for shared < min(len(word), len(before)) && word[shared] == before[shared] {
			shared++
		}
		states, before = states+len(word)-shared, word
	}
	return states
}

// grow makes the trie.
func (a *automaton) grow(keywords []string) {
	states := statesOf(keywords)
	a.next = make([]uint32, 0, states*int(a.classes))
	a.found = make([][]int32, 0, states)
	a.state()
	for id, word := range keywords {
		at := uint32(0)
		for i := range len(word) {
			edge := at + uint32(a.class[word[i]])
			if a.next[edge] == 0 {
				a.next[edge] = a.state()
			}
			at = a.next[edge]
		}
		a.found[at/a.classes] = append(a.found[at/a.classes], int32(id)) //nolint:gosec // a few thousand
	}
}

// link turns the trie into a machine that never steps back: where a state has
// no edge, it takes that of the longest suffix that is a state.
func (a *automaton) link() {
	suffix := make([]uint32, len(a.found))
	queue := make([]uint32, 0, len(a.found))
	for c := range a.classes {
		if to := a.next[c]; to != 0 {
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		back := suffix[at/a.classes]
		a.found[at/a.classes] = append(a.found[at/a.classes], a.found[back/a.classes]...)
		for c := range a.classes {
			to := a.next[at+c]
			if to == 0 {
				a.next[at+c] = a.next[back+c]
				continue
			}
			suffix[to/a.classes] = a.next[back+c]
			queue = append(queue, to)
		}
	}
}

// run calls do for every keyword that ends in text[from:to], with its id and
// where it begins, until do returns false. It reports whether it came to the
// end. Of a keyword that begins before from it finds those that begin at least at
// begin.
func (a *automaton) run(text string, begin, from, to int, do func(keyword int32, start int) bool) bool {
	at := uint32(0)
	for i := begin; i < to; i++ {
		at = a.next[at+uint32(a.class[text[i]])]
		if at == 0 || i < from {
			continue
		}
		for _, id := range a.found[at/a.classes] {
			if !do(id, i+1-a.lengths[id]) {
				return false
			}
		}
	}
	return true
}
