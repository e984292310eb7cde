package core

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Push is one write.
type Push struct {
	Repo    api.Repo
	Request api.PushRequest
	// IfMatch guards the whole repo; nil = unconditional.
	IfMatch *Match
	Actor   api.Actor
	// Role is the caller's in Repo.
	Role api.Role
	// WritersMayRetire is the repo's policy.
	WritersMayRetire bool
}

// Pushed is a successful write: the answer, and the state that the answer's
// headers repeat.
type Pushed struct {
	api.PushAnswer
	View *View
}

// Push checks, scans and stores one write, all of it or nothing, and returns
// when it is durable. Errors are *[api.Error] for what the caller can mend, with
// every fault named, and wrap [api.ErrUnavailable] otherwise; then the outcome
// may be unknown, and sending the same again is safe.
func (c *Core) Push(ctx context.Context, push Push) (Pushed, error) {
	if err := MayWrite(push.Role); err != nil {
		return Pushed{}, err
	}
	who := rights{mayRevive: push.Role >= api.Maintainer}
	who.mayRetire = who.mayRevive || push.WritersMayRetire
	if len(push.Request.SoftDeleteKeys) > 0 && !who.mayRetire {
		return Pushed{}, api.Errorf(api.ErrForbidden, "retiring keys is for maintainers of the repo")
	}
	p, err := check(push.Request, c.o.MaxEntryBytes)
	if err != nil {
		return Pushed{}, err
	}
	used, err := c.scan(ctx, push.Repo, p, push.Request.Allowed)
	if err != nil {
		return Pushed{}, err
	}
	change := store.Change{
		Actor: c.CleanActor(ctx, push.Actor),
		At:    c.o.Now().UTC().Truncate(time.Millisecond),
		Rules: c.o.Rules(),
	}
	head, v, err := c.update(ctx, push, p, who, change)
	if err != nil {
		return Pushed{}, err
	}
	c.o.Meter.Wrote(len(v.puts), len(v.retire))
	if len(v.puts)+len(v.retire) > 0 {
		c.hub.Bump(push.Repo, head.Version)
		c.audit(ctx, push, head.Version, v.puts, used)
	}
	view := c.views.get(head)
	return Pushed{PushAnswer: api.PushAnswer{
		Repo: push.Repo, Version: head.Version, Epoch: head.Epoch, LastModified: head.Modified,
		Checksum: view.Checksum(), Ignored: v.ignored, Unchanged: len(v.puts)+len(v.retire) == 0,
	}, View: view}, nil
}

// update runs decide under the repo's write lock.
func (c *Core) update(ctx context.Context, push Push, p *proposal, who rights, change store.Change) (*store.Head, verdict, error) {
	var v verdict // of the last call of decide, which is the one that counts
	lim := limits{maxEntries: c.o.MaxEntries, maxBytes: c.o.MaxEntryBytes}
	head, err := c.o.Store.Update(ctx, push.Repo, func(tx store.Tx) (store.Change, error) {
		var err error
		v, err = decide(tx, p, push.IfMatch, who, lim)
		change.Puts, change.Retire = v.puts, v.retire
		return change, err
	})
	if err == nil {
		return head, v, nil
	}
	if refused, ok := errors.AsType[*api.Error](err); ok {
		return nil, v, refused
	}
	return nil, v, storeError("storing a write", err)
}

// audit logs each finding that a stored write was allowed to have; the versions
// have it as well. A key in which something was found is not repeated.
func (c *Core) audit(ctx context.Context, push Push, version uint64, stored []store.Put, used []allowance) {
	for _, f := range used {
		if !slices.ContainsFunc(stored, func(p store.Put) bool { return p.Key == f.key }) {
			continue
		}
		key := f.Key
		if f.Line == 0 {
			key = withheld
		}
		c.o.Log.WarnContext(ctx, "finding was allowed", "repo", push.Repo.String(), "version", version,
			"key", key, "rule", f.Rule, "reason", f.reason, "token", push.Actor.Token)
	}
}
