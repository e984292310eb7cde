// Package memory knows the format of memory files: what a change of one is, and
// how two changes of the same text become one.
//
// [Merge] joins two edits of one text. Ordinary files are merged by lines, three
// ways; MEMORY.md, the index that agents load first, is merged as a set of
// lines, since its entries have no order that matters and both sides append to
// its end. It decides from the three texts alone: it reads nothing and stores
// nothing. [MergeWithoutBase] is for two texts whose common origin nobody knows,
// [Marked] for edits that only a person can join, [Unified] shows a change.
//
//	if text, clean := memory.Merge(key, base, mine, theirs); clean {
//		// text has both edits
//	}
//
// No text makes any of them panic, and none takes more than a fraction of a
// second for texts of the largest size that an entry can have.
package memory
