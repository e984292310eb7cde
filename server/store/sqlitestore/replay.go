package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Replayed counts what was done again after a restore.
type Replayed struct {
	Redactions  int // contents
	Retirements int // keys
	Erasures    int // actors
	Revocations int // tokens
}

// Replaced is a store that a backup takes the place of, on whichever database.
type Replaced interface {
	store.Store
	Tokens(ctx context.Context) ([]store.Token, error)
	Repos(ctx context.Context) ([]api.Repo, error)
	Identity(ctx context.Context, name api.Repo) (string, error)
	Resolve(ctx context.Context, name api.Repo) (api.Repo, error)
	// Dump lends tables as [Store.Dump] does.
	Dump(ctx context.Context, use func(table func(name string) iter.Seq2[Row, error]) error) error
}

// replay does in a restored store what its predecessor did since the backup.
type replay struct {
	old    Replaced
	next   *Store
	by     api.Actor
	at     time.Time
	done   Replayed
	unread error // the first error of reading the old store
}

// run goes on where the old store cannot be read: what can be saved is saved.
func (p *replay) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{p.revoke, p.accounts, p.erase, p.tie, p.repos} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readable notes an error of the old store and reports whether there was none.
func (p *replay) readable(err error) bool {
	if err != nil && p.unread == nil {
		p.unread = err
	}
	return err == nil
}

func (p *replay) revoke(ctx context.Context) error {
	tokens, err := p.old.Tokens(ctx)
	if !p.readable(err) {
		return ctx.Err()
	}
	restored, err := p.next.Tokens(ctx)
	if err != nil {
		return err
	}
	live := make(map[string]bool)
	for _, t := range restored {
		live[t.ID] = t.RevokedAt.IsZero()
	}
	for _, t := range tokens {
		if t.RevokedAt.IsZero() || !live[t.ID] {
			continue
		}
		if err := p.next.RevokeToken(ctx, t.ID, t.RevokedAt); err != nil {
			return err
		}
		p.done.Revocations++
	}
	return nil
}

// erase takes away the names of pseudonyms that have none in the old store. They
// are random, so they say who is meant without a repo.
func (p *replay) erase(ctx context.Context) error {
	erased := make(map[actorID]bool)
	err := p.old.Dump(ctx, func(table func(string) iter.Seq2[Row, error]) error {
		for row, err := range table("actors") {
			if err != nil {
				return err
			}
			if id, ok := row["id"].([]byte); ok && len(id) == len(actorID{}) && row["erased"] == int64(1) {
				erased[actorID(id)] = true
			}
		}
		return nil
	})
	if !p.readable(err) || len(erased) == 0 {
		return ctx.Err()
	}
	return p.next.write(ctx, func(conn *sqlite.Conn) (err error) {
		p.next.actors.forget()
		p.done.Erasures, err = eraseActors(conn, func(id actorID, _ api.Actor) bool { return erased[id] })
		return err
	})
}

// tie gives restored data the identity that it got since, where a rename followed:
// by its name alone it would not be found again.
func (p *replay) tie(ctx context.Context) error {
	repos, err := p.next.Repos(ctx)
	if err != nil {
		return err
	}
	for _, repo := range repos {
		if bound, err := p.next.Identity(ctx, repo); err != nil {
			return err
		} else if bound != "" {
			continue // that finds it again
		}
		identity, err := p.tied(ctx, repo)
		if !p.readable(err) && ctx.Err() != nil {
			return ctx.Err()
		}
		if identity == "" {
			continue
		}
		if _, err := p.next.Bind(ctx, repo, identity); err != nil && !errors.Is(err, store.ErrNameTaken) {
			return err
		}
	}
	return nil
}

// tied returns the identity of the data that was renamed from a name, "" for none.
func (p *replay) tied(ctx context.Context, repo api.Repo) (string, error) {
	now, err := p.old.Resolve(ctx, repo)
	if err != nil || now == repo {
		return "", err
	}
	return p.old.Identity(ctx, now)
}

func (p *replay) repos(ctx context.Context) error {
	repos, err := p.old.Repos(ctx)
	if !p.readable(err) {
		return ctx.Err()
	}
	for _, repo := range repos {
		was, err := p.read(ctx, repo)
		if !p.readable(err) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		if err := p.repo(ctx, was); err != nil {
			return fmt.Errorf("repeating what was done in %q: %w", repo, err)
		}
	}
	return nil
}

// oldRepo is what the old store says of a repo.
type oldRepo struct {
	head     *store.Head
	identity string
}

func (p *replay) read(ctx context.Context, repo api.Repo) (was oldRepo, err error) {
	if was.head, err = p.old.Head(ctx, repo); err != nil {
		return was, err
	}
	was.identity, err = p.old.Identity(ctx, repo)
	return was, err
}

// repo repeats renames, redactions and retirements of one repo.
func (p *replay) repo(ctx context.Context, was oldRepo) error {
	name, err := p.bind(ctx, was)
	if err != nil {
		return err
	}
	now, err := p.next.Head(ctx, name)
	if errors.Is(err, store.ErrNoRepo) {
		now, err = &store.Head{}, nil
	}
	if err != nil {
		return err
	}
	change, err := p.since(ctx, was, now)
	if err != nil {
		return err
	}
	if err := p.replace(ctx, was, now, &change); err != nil {
		return err
	}
	change.Actor, change.At, change.Action = p.by, p.at, store.ActionServerChange
	change.Detail = fmt.Sprintf(`{"redactions":%d,"retirements":%d}`, len(change.Redact), len(change.Retire))
	// Nobody else writes to a store that is being restored.
	_, err = p.next.Update(ctx, name, func(store.Tx) (store.Change, error) { return change, nil })
	p.done.Redactions += len(change.Redact)
	p.done.Retirements += len(change.Retire)
	return err
}

// bind returns the name under which the restored data of a repo is kept.
func (p *replay) bind(ctx context.Context, was oldRepo) (api.Repo, error) {
	if was.identity == "" {
		return p.next.Resolve(ctx, was.head.Repo)
	}
	name, err := p.next.Bind(ctx, was.head.Repo, was.identity)
	if !errors.Is(err, store.ErrNameTaken) {
		return name, err
	}
	err = p.next.read(ctx, "SELECT name FROM repos WHERE identity = ?", []any{was.identity}, func(stmt *sqlite.Stmt) (err error) {
		name, err = api.ParseRepo(stmt.ColumnText(0))
		return err
	})
	return name, err
}

// since returns what must be done to a restored head: contents that were
// redacted, and keys that were retired and not written again before the backup.
func (p *replay) since(ctx context.Context, was oldRepo, now *store.Head) (c store.Change, err error) {
	for _, sum := range was.head.Redacted {
		if !now.IsRedacted(sum) {
			c.Redact = append(c.Redact, sum)
		}
	}
	for _, tomb := range was.head.Tombs {
		if _, dead := now.Tomb(tomb.Key); dead {
			continue
		}
		if item, live := now.Item(tomb.Key); live {
			// Where it cannot be read when, the key is taken for retired since.
			history, err := p.old.History(ctx, was.head.Repo, tomb.Key, 1)
			if !p.readable(err) && ctx.Err() != nil {
				return c, ctx.Err()
			}
			if len(history) > 0 && item.Modified.After(history[0].At) {
				continue
			}
		}
		c.Retire = append(c.Retire, tomb.Key)
	}
	return c, nil
}

// replace sees to the live entries with a redacted content: each becomes what
// the old store has in its place, or is retired.
func (p *replay) replace(ctx context.Context, was oldRepo, now *store.Head, c *store.Change) error {
	for _, item := range now.Items {
		if !slices.Contains(c.Redact, item.Sum) || slices.Contains(c.Retire, item.Key) {
			continue
		}
		put, ok, err := p.clean(ctx, was, now, item.Key)
		if err != nil {
			return err
		}
		if ok {
			c.Puts = append(c.Puts, put)
			continue
		}
		c.Retire = append(c.Retire, item.Key)
	}
	return nil
}

// clean returns what the old store has under a key, if it can be read and the
// restored ledger lets it in.
func (p *replay) clean(ctx context.Context, was oldRepo, now *store.Head, key api.Key) (store.Put, bool, error) {
	item, live := was.head.Item(key)
	if !live || now.IsRedacted(item.Sum) {
		return store.Put{}, false, nil
	}
	bodies, err := p.old.Bodies(ctx, was.head.Repo, []api.Checksum{item.Sum})
	if !p.readable(err) {
		return store.Put{}, false, ctx.Err()
	}
	content, there := bodies[item.Sum]
	ok := there && api.SumString(content) == item.Sum
	return store.Put{Key: key, Content: content, Sum: item.Sum, Allowed: item.Allowed}, ok, nil
}
