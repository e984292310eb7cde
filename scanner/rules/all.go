package rules

import (
	"cmp"
	"crypto/sha256"
	hexadecimal "encoding/hex"
	"fmt"
	"slices"
	"sync"

	"github.com/teammem/teammemd/scanner/pattern"
)

// generation is the first part of the rule set's version. It grows when what a
// rule finds changes meaning: reviewed exceptions of an older one then end.
const generation = "3"

// Set is the rules that this build knows. It is not changed after it was built.
type Set struct {
	// Rules are sorted by id.
	Rules []Rule
	// Version names the set: a generation and a hash over all that can change a
	// finding, such as "3-0123456789ab".
	Version string
}

// Load returns the set. It is built at the first call, in some milliseconds.
var Load = sync.OnceValues(Build)

// Build builds the set anew.
func Build() (*Set, error) {
	all, err := gitleaks()
	if err != nil {
		return nil, err
	}
	all = append(all, Ours()...)
	slices.SortFunc(all, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return &Set{Rules: all, Version: version(all)}, nil
}

// All returns every rule, sorted by id, none when the set cannot be built.
func All() []Rule {
	set, err := Load()
	if err != nil {
		return nil
	}
	return slices.Clone(set.Rules)
}

func version(all []Rule) string {
	hash := sha256.New()
	fmt.Fprintf(hash, "generation %s\n", generation)
	for _, r := range all {
		fmt.Fprintf(hash, "%q %s %t %q %q %q %d %v %d", r.ID, r.Tier, r.Vague, r.Keywords, r.Pattern, r.Alphabet, r.Group, r.Entropy, r.Reach)
		for _, f := range r.Filters {
			fmt.Fprintf(hash, " %q", f.Name)
		}
		fmt.Fprintln(hash)
	}
	return generation + "-" + hexadecimal.EncodeToString(hash.Sum(nil))[:12]
}

// TokenShaped reports whether the rule knows its secret by the shape of the
// secret alone, wherever it stands.
func (r Rule) TokenShaped() bool {
	if r.Tier != Block1 {
		return false
	}
	if r.Alphabet != "" {
		return true
	}
	parsed, err := pattern.Parse(r.Pattern)
	return err == nil && parsed.Solid()
}
