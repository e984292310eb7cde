package search

import "context"

// Inverted returns x with a dictionary for every leaf, or for none.
func Inverted(x *Index, with bool) *Index {
	again := *x
	again.leaves = nil
	again.bytes = 0
	for _, l := range x.leaves {
		fresh := newLeaf(l.docs)
		if with {
			fresh.invert()
		}
		again.leaves = append(again.leaves, fresh)
		again.bytes += fresh.bytes()
	}
	return &again
}

// Fold is fold.
func Fold(word string) string { return fold(word) }

// Leaves returns how many leaves two indexes have, and how many they share.
func Leaves(x, y *Index) (count, shared int) {
	own := map[*leaf]bool{}
	for _, l := range x.leaves {
		own[l] = true
	}
	for _, l := range y.leaves {
		if own[l] {
			shared++
		}
	}
	return len(y.leaves), shared
}

// Find is [Index.Search] for whoever waits to the end.
func (x *Index) Find(q *Query, page Page) Found {
	found, err := x.Search(context.Background(), q, page)
	if err != nil {
		panic(err) // the background does not end
	}
	return found
}
