package memory

import (
	"path"

	"github.com/teammem/teammemd/api"
)

// indexName is the name of the files that are merged as a set of lines, in any
// directory.
const indexName = "MEMORY.md"

// Merge joins two edits of one text: mine and theirs, both made from base. It
// reports false where the edits overlap or touch, so that a person has to
// choose; the text is then empty. The same is true of a merge that would be too
// large for an entry. Edits that are identical on both sides count once.
//
// An index, which is a file with the name MEMORY.md, merges by the union of its
// lines, with removals honoured: whatever one side removed and the other left
// alone goes, everything that either side added stays. It always merges.
//
// What is kept does not depend on which side is mine: for ordinary files the
// result is the same, for an index it has the same lines, in the order of
// theirs. A merge with a side that equals base is the other side.
func Merge(key api.Key, base, mine, theirs string) (merged string, clean bool) {
	switch {
	case mine == theirs, theirs == base:
		return mine, true
	case mine == base:
		return theirs, true
	case isIndex(key):
		merged, clean = mergeIndex(base, mine, theirs), true
	default:
		merged, clean = mergeLines(base, mine, theirs)
	}
	return fitting(merged, clean)
}

// MergeWithoutBase joins two texts whose common origin is not known. Nobody can
// say then what was removed and what was added, so an ordinary file merges only
// when both are equal; of an index, every line of either side stays.
func MergeWithoutBase(key api.Key, mine, theirs string) (merged string, clean bool) {
	switch {
	case mine == theirs:
		return mine, true
	case isIndex(key):
		return fitting(mergeIndex("", mine, theirs), true)
	}
	return "", false
}

// fitting refuses what is too large to travel: it would only be held.
func fitting(merged string, clean bool) (string, bool) {
	if !clean || len(merged) > api.MaxEntryBytes {
		return "", false
	}
	return merged, true
}

func isIndex(key api.Key) bool { return path.Base(key.String()) == indexName }
