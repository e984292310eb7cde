package search

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/teammem/teammemd/api"
)

// Item says which content a key has.
type Item struct {
	Key      api.Key
	Sum      api.Checksum
	Modified time.Time
}

// Index is an immutable picture of the live entries of one repo. A nil Index is
// one without entries.
type Index struct {
	leaves  []*leaf
	bases   []int    // number of the first doc of each leaf
	lengths []uint32 // positions of each doc
	docs    int
	length  int // positions of all docs
	bytes   int
	cut     int // docs of which only the beginning is held
	most    int // bytes that are held of one content
}

// Len returns how many entries the index holds.
func (x *Index) Len() int {
	if x == nil {
		return 0
	}
	return x.docs
}

// Bytes returns what the index takes in memory, closely: its texts, and what was
// made of them.
func (x *Index) Bytes() int {
	if x == nil {
		return 0
	}
	return x.bytes
}

// Cut returns of how many entries only the beginning is searched.
func (x *Index) Cut() int {
	if x == nil {
		return 0
	}
	return x.cut
}

// all iterates over the docs, by key.
func (x *Index) all(yield func(*doc) bool) {
	if x == nil {
		return
	}
	for _, l := range x.leaves {
		for _, d := range l.docs {
			if !yield(d) {
				return
			}
		}
	}
}

// Lacks returns those of items, which are sorted by key, that Next needs the
// content of: they are new, or not what x holds.
func (x *Index) Lacks(items []Item, most int) []Item {
	held := x.held(items, most)
	var lacks []Item
	for i, d := range held {
		if d == nil {
			lacks = append(lacks, items[i])
		}
	}
	return lacks
}

// held returns the doc of each item, nil for one that x does not hold.
func (x *Index) held(items []Item, most int) []*doc {
	held := make([]*doc, len(items))
	i := 0
	for d := range x.all {
		for i < len(items) && items[i].Key.Compare(d.key) < 0 {
			i++
		}
		if i == len(items) {
			break
		}
		if items[i].Key == d.key && items[i].Sum == d.sum && (most == x.most || !d.cut && len(d.text) <= most) {
			held[i] = d
		}
	}
	return held
}

// Next returns the index of items, which are sorted by key, each once. What x
// holds is taken over, and the texts of all others are in contents; those that
// are missing there are left out. Of each content at most most bytes are
// searched. x is not changed.
func (x *Index) Next(items []Item, contents map[api.Checksum]string, most int) *Index {
	docs := x.held(items, most)
	var a analyser
	for i, d := range docs {
		if d == nil {
			if content, ok := contents[items[i].Sum]; ok {
				docs[i] = a.analyse(items[i], content, most)
			}
		} else if !d.modified.Equal(items[i].Modified) {
			again := *d
			again.modified = items[i].Modified
			docs[i] = &again
		}
	}
	docs = slices.DeleteFunc(docs, func(d *doc) bool { return d == nil })
	next := &Index{leaves: x.divide(docs), docs: len(docs), most: most}
	base := 0
	for _, l := range next.leaves {
		next.bases = append(next.bases, base)
		base += len(l.docs)
		for _, d := range l.docs {
			next.lengths = append(next.lengths, uint32(d.length))
			next.length += d.length
		}
		next.cut += l.cut
		if next.docs >= invertFrom {
			l.invert()
		}
		next.bytes += l.bytes()
	}
	next.bytes += 4 * cap(next.lengths)
	return next
}

// invertFrom is the size, in entries, from which leaves get dictionaries. Below it
// looking into each entry is as fast as BenchmarkSizes shows, and needs no memory.
const invertFrom = 256

// Sizes of leaves, in docs. A write makes one leaf anew, and a query looks into
// each of them.
const (
	fewest  = 16
	usual   = 64
	largest = 128
)

// divide makes the leaves of docs: those of x where nothing in them changed.
func (x *Index) divide(docs []*doc) []*leaf {
	var old, leaves []*leaf
	if x != nil {
		old = x.leaves
	}
	var open []*doc // docs that are in no leaf yet
	for i, l := range old {
		n := len(docs)
		if i+1 < len(old) {
			limit := old[i+1].docs[0].key
			n, _ = slices.BinarySearchFunc(docs, limit, func(d *doc, k api.Key) int { return d.key.Compare(k) })
		}
		if len(open) == 0 && slices.Equal(docs[:n], l.docs) {
			leaves = append(leaves, l)
		} else if open = append(open, docs[:n]...); len(open) >= fewest {
			leaves = appendLeaves(leaves, open)
			open = nil
		}
		docs = docs[n:]
	}
	return appendLeaves(leaves, append(open, docs...))
}

// appendLeaves makes leaves of docs, all of about the same size.
func appendLeaves(leaves []*leaf, docs []*doc) []*leaf {
	if len(docs) == 0 {
		return leaves
	}
	count := 1
	if len(docs) > largest {
		count = (len(docs) + usual - 1) / usual
	}
	for i := range count {
		leaves = append(leaves, newLeaf(slices.Clone(docs[i*len(docs)/count:(i+1)*len(docs)/count])))
	}
	return leaves
}

// leaf holds docs of neighbouring keys. It is immutable but for its dictionary,
// which is made once.
type leaf struct {
	docs []*doc
	cut  int
	size int // bytes of the docs

	dict atomic.Pointer[dictionary] // nil: it was not made
}

func newLeaf(docs []*doc) *leaf {
	l := &leaf{docs: docs}
	for _, d := range docs {
		l.size += d.bytes()
		if d.cut {
			l.cut++
		}
	}
	return l
}

func (l *leaf) bytes() int {
	if dict := l.dict.Load(); dict != nil {
		return l.size + dict.bytes()
	}
	return l.size
}

// dictionary says which docs of a leaf have a term. Its strings are parts of the
// docs' own.
type dictionary struct {
	terms []string
	ends  []uint32 // of the term's entries in refs
	refs  []ref
}

// ref is one term of one doc.
type ref struct {
	doc    uint16  // of the leaf
	weight float32 // as [doc.weigh] finds it: sums of halves, so it is exact
}

func (t *dictionary) bytes() int { return 16*cap(t.terms) + 4*cap(t.ends) + 8*cap(t.refs) }

func (t *dictionary) of(i int) []ref {
	from := uint32(0)
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.refs[from:t.ends[i]]
}

// invert makes the dictionary. Made twice at a time it is the same.
func (l *leaf) invert() {
	if l.dict.Load() == nil {
		l.dict.Store(invert(l.docs))
	}
}

func invert(docs []*doc) *dictionary {
	total := 0
	numbers := make(map[string]int)
	var terms []string
	var counts []uint32
	for _, d := range docs {
		total += d.terms()
		for i := range d.terms() {
			term := d.term(i)
			n, ok := numbers[term]
			if !ok {
				n = len(terms)
				numbers[term] = n
				terms = append(terms, term)
				counts = append(counts, 0)
			}
			counts[n]++
		}
	}
	sorted := slices.Clone(terms)
	slices.Sort(sorted)
	t := &dictionary{terms: slices.Clip(sorted), ends: make([]uint32, len(sorted)), refs: make([]ref, total)}
	end := uint32(0)
	for i, term := range sorted {
		n := numbers[term]
		t.ends[i] = end // the beginning, until the docs were gone through
		end += counts[n]
		counts[n] = uint32(i)
	}
	for number, d := range docs {
		for i := range d.terms() {
			n := counts[numbers[d.term(i)]]
			t.refs[t.ends[n]] = ref{uint16(number), d.weigh(d.positions(i))}
			t.ends[n]++
		}
	}
	return t
}
