package access

import (
	"context"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

const (
	// nameLife is how long a name is believed to mean what it meant: another server
	// on the same database may rename.
	nameLife = 2 * time.Second
	maxNames = 20_000
)

// names remembers for a moment where data is kept and whose it is, so that a
// request costs no look into the database.
type names struct {
	store store.Names // nil: every name stands for itself
	now   func() time.Time

	mu    sync.RWMutex
	by    map[api.Repo]named
	binds uint64 // counts what may have changed names
}

type named struct {
	home     api.Repo
	identity string
	at       time.Time
}

func newNames(s store.Names, now func() time.Time) *names {
	return &names{store: s, now: now, by: map[api.Repo]named{}}
}

// at returns the name under which name's data is kept, and whose it is. The error
// wraps [api.ErrUnavailable].
func (n *names) at(ctx context.Context, name api.Repo) (home api.Repo, identity string, err error) {
	if n.store == nil {
		return name, "", nil
	}
	n.mu.RLock()
	known, ok := n.by[name]
	binds := n.binds
	n.mu.RUnlock()
	now := n.now()
	if age := now.Sub(known.at); ok && age >= 0 && age < nameLife {
		return known.home, known.identity, nil
	}
	if home, err = n.store.Resolve(ctx, name); err != nil {
		return api.Repo{}, "", errUnavailable("resolving a name", err)
	}
	if identity, err = n.store.Identity(ctx, home); err != nil {
		return api.Repo{}, "", errUnavailable("reading whose a name is", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.binds == binds {
		if len(n.by) >= maxNames {
			clear(n.by)
		}
		n.by[name] = named{home, identity, now}
	}
	return home, identity, nil
}

// bind is [store.Names.Bind], which it spares where nothing can have changed.
// changed reports whether data may be elsewhere now.
func (n *names) bind(ctx context.Context, name api.Repo, identity string) (home api.Repo, changed bool, err error) {
	if home, has, err := n.at(ctx, name); err == nil && home == name && has == identity {
		return home, false, nil
	}
	home, err = n.store.Bind(ctx, name, identity)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.binds++
	clear(n.by)
	return home, err == nil, err
}
