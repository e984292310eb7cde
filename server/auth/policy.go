package auth

import (
	"fmt"
	"slices"

	"github.com/teammem/teammemd/api"
)

// Policy is what a server's configuration says beyond roles. The zero value is
// the strict one.
type Policy struct{ writersMayRetire []Pattern }

// NewPolicy returns a policy under which writers may retire keys in the repos
// that one of the patterns selects; elsewhere that takes a maintainer.
func NewPolicy(writersMayRetire ...string) (Policy, error) {
	var p Policy
	for _, s := range writersMayRetire {
		pattern, err := ParsePattern(s)
		if err != nil {
			return Policy{}, fmt.Errorf("reading writers_may_retire: %w", err)
		}
		p.writersMayRetire = append(p.writersMayRetire, pattern)
	}
	return p, nil
}

// WritersMayRetire reports whether a writer may retire keys in repo.
func (p Policy) WritersMayRetire(repo api.Repo) bool {
	return slices.ContainsFunc(p.writersMayRetire, func(pattern Pattern) bool { return pattern.Match(repo) })
}
