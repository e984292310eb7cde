package memdir

import "github.com/teammem/teammemd/api"

// Accepts reports whether a file of that key takes part, as far as its name
// tells. The others are neither listed nor placed.
func (t *Tree) Accepts(key api.Key) bool { return t.names.takesPart(key) }
