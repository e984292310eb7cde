package core

import (
	"slices"

	"github.com/teammem/teammemd/api"
)

// Match is a condition on a repo's checksum: that it is one of Sums or, with
// Any, that the repo was ever written.
type Match struct {
	Any  bool
	Sums []api.Checksum
}

// holds reports whether a repo at version, with sum, meets the condition.
func (m Match) holds(version uint64, sum api.Checksum) bool {
	return version > 0 && (m.Any || slices.Contains(m.Sums, sum))
}
