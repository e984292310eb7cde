// Package accesstest has stand-ins for what package access asks: names of data,
// and people.
package accesstest

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"sync"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Names is a [store.Names] in memory. It is a referee: it fails the test on a call
// that no backend has to understand.
type Names struct {
	tb testing.TB

	mu     sync.Mutex
	data   map[api.Repo]string   // names that have data, to whose it is ("" = nobody's)
	homes  map[string]api.Repo   // identity to the name of its data
	alias  map[api.Repo]api.Repo // former name to the present one
	broken error
	reads  int
	binds  int
}

var _ store.Names = (*Names)(nil)

// NewNames returns a Names without any data.
func NewNames(tb testing.TB) *Names {
	tb.Helper()
	return &Names{tb: tb, data: map[api.Repo]string{}, homes: map[string]api.Repo{}, alias: map[api.Repo]api.Repo{}}
}

// Write says that there is data under a name, nobody's so far.
func (n *Names) Write(name api.Repo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.data[name]; !ok {
		n.data[name] = ""
	}
}

// Data returns the names that have data, and whose it is.
func (n *Names) Data() map[api.Repo]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.data)
}

// Break makes every call fail, until it is called with nil.
func (n *Names) Break(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = err
}

// Calls returns how often something was read, and bound.
func (n *Names) Calls() (reads, binds int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reads, n.binds
}

// Resolve implements [store.Names].
func (n *Names) Resolve(_ context.Context, name api.Repo) (api.Repo, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reads++
	if n.broken != nil {
		return api.Repo{}, n.broken
	}
	return n.resolve(name), nil
}

func (n *Names) resolve(name api.Repo) api.Repo {
	if name.IsZero() {
		n.tb.Error("names: the zero repo was resolved")
	}
	if _, ok := n.data[name]; ok {
		return name
	}
	if to, ok := n.alias[name]; ok {
		return to
	}
	return name
}

// Identity implements [store.Names].
func (n *Names) Identity(_ context.Context, name api.Repo) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reads++
	return n.data[name], n.broken
}

var identityForm = regexp.MustCompile(`^[^#/ ]+#[0-9]+$`)

// Bind implements [store.Names].
func (n *Names) Bind(_ context.Context, name api.Repo, identity string) (api.Repo, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.binds++
	if name.IsZero() || !identityForm.MatchString(identity) {
		n.tb.Errorf("names: Bind(%q, %q)", name, identity)
	}
	if n.broken != nil {
		return api.Repo{}, n.broken
	}
	owner, has := n.data[name]
	home, known := n.homes[identity]
	if has && owner == "" && known && home != name {
		return api.Repo{}, fmt.Errorf("binding %q: %w", name, store.ErrNameTaken)
	}
	if has && owner != "" && owner != identity {
		orphan, err := store.Orphan(owner)
		if err != nil {
			return api.Repo{}, err
		}
		n.move(name, orphan, owner)
	}
	if known && home != name {
		n.move(home, name, identity)
		n.alias[home] = name
	}
	n.data[name], n.homes[identity] = identity, name
	delete(n.alias, name)
	return name, nil
}

func (n *Names) move(from, to api.Repo, identity string) {
	delete(n.data, from)
	n.data[to], n.homes[identity] = identity, to
	for old, now := range n.alias {
		if now == from {
			n.alias[old] = to
		}
	}
}
