package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// lockNames lets one transaction at a time change what names stand for.
const lockNames = "SELECT pg_advisory_xact_lock(hashtextextended('teammemd names ' || current_schema(), 0))"

var errBindNothing = errors.New("binding a repo: name and identity are needed")

// Resolve returns the name under which data is kept that name stands for.
func (s *Store) Resolve(ctx context.Context, name api.Repo) (current api.Repo, err error) {
	var text string
	err = s.read(ctx, func(q querier) error {
		err := q.QueryRow(ctx, "SELECT r.name FROM repo_names n JOIN repos r ON r.repo = n.repo WHERE n.name = $1", name.String()).Scan(&text)
		if errors.Is(err, pgx.ErrNoRows) {
			text, err = name.String(), nil
		}
		return err
	})
	if err == nil {
		current, err = api.ParseRepo(text)
	}
	if err != nil {
		return api.Repo{}, fmt.Errorf("resolving %q: %w", name, err)
	}
	return current, nil
}

// Identity returns the identity that name's data belongs to.
func (s *Store) Identity(ctx context.Context, name api.Repo) (identity string, err error) {
	err = s.read(ctx, func(q querier) error {
		err := q.QueryRow(ctx, `SELECT r.identity FROM repo_names n JOIN repos r ON r.repo = n.repo
			WHERE n.name = $1 AND r.name = $1`, name.String()).Scan(&identity)
		if errors.Is(err, pgx.ErrNoRows) {
			identity, err = "", nil
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading the identity of %q: %w", name, err)
	}
	return identity, nil
}

// Bind says that name is now the repository with this identity. Other servers
// follow when they hear of it; until then they may read, and never write, under a
// name that was given up.
func (s *Store) Bind(ctx context.Context, name api.Repo, identity string) (api.Repo, error) {
	if name.IsZero() || identity == "" {
		return api.Repo{}, errBindNothing
	}
	bound, err := s.Identity(ctx, name)
	if err != nil || bound == identity {
		return name, err
	}
	if !s.serve {
		return api.Repo{}, fmt.Errorf("binding %q: %w", name, errNotServing)
	}
	var touched []api.Repo
	err = s.commit(ctx, notice{version: anything}, func(ctx context.Context, tx pgx.Tx) error {
		b := binder{tx: tx, name: name, identity: identity, at: time.Now(), touched: []api.Repo{name}}
		err := b.bind(ctx)
		touched = b.touched
		return err
	})
	for _, repo := range touched {
		s.heads.forget(repo)
	}
	if err != nil {
		return api.Repo{}, fmt.Errorf("binding %q: %w", name, err)
	}
	return name, nil
}

// binder is one call of Bind inside its transaction.
type binder struct {
	tx       pgx.Tx
	name     api.Repo
	identity string
	at       time.Time
	touched  []api.Repo // names whose heads are not what they were
}

// named is a repo's row as far as names go.
type named struct {
	id       int64 // 0 for none
	name     string
	identity string
	data     bool // it has anything that must not be lost
}

// find returns the repo that a lookup table names, locked.
func (b *binder) find(ctx context.Context, lookup, value string) (n named, err error) {
	var id int64
	err = b.tx.QueryRow(ctx, lookup, value).Scan(&id)
	if err == nil {
		err = b.tx.QueryRow(ctx, `SELECT r.repo, r.name, r.identity, r.version > 0 OR r.audit_number > 0
			OR EXISTS (SELECT FROM scan_policy p WHERE p.repo = r.repo) OR EXISTS (SELECT FROM rescans s WHERE s.repo = r.repo)
			FROM repos r WHERE r.repo = $1 FOR UPDATE OF r`, id).Scan(&n.id, &n.name, &n.identity, &n.data)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return named{}, nil
	}
	return n, err
}

func (b *binder) bind(ctx context.Context) error {
	if _, err := b.tx.Exec(ctx, lockNames); err != nil {
		return err
	}
	holder, err := b.find(ctx, "SELECT repo FROM repo_names WHERE name = $1", b.name.String())
	if err != nil {
		return err
	}
	if holder.name != b.name.String() {
		holder = named{} // the name was given up
	}
	own, err := b.find(ctx, "SELECT repo FROM repo_identities WHERE identity = $1", b.identity)
	if err != nil {
		return err
	}
	if err := b.settleMembers(ctx); err != nil {
		return err
	}
	switch {
	case holder.identity == b.identity && holder.id != 0:
		return nil // another call was faster
	case !holder.data:
		err = b.giveUp(ctx, holder)
	case holder.identity != "":
		err = b.moveAside(ctx, holder)
	case own.data:
		return store.ErrNameTaken
	default: // own's place, if it has one, is empty
		if err := b.drop(ctx, own); err != nil {
			return err
		}
		return b.tie(ctx, holder.id)
	}
	if err != nil {
		return err
	}
	if own.id == 0 {
		return b.begin(ctx)
	}
	return b.rename(ctx, own, b.name, true)
}

// begin gives the name to the identity, without data.
func (b *binder) begin(ctx context.Context) error {
	id := newRepoID()
	if err := b.stand(ctx, b.name, id); err != nil {
		return err
	}
	if _, err := b.tx.Exec(ctx, "INSERT INTO repos (repo, name) VALUES ($1, $2)", id, b.name.String()); err != nil {
		return err
	}
	return b.tie(ctx, id)
}

// stand lets a name stand for a repo.
func (b *binder) stand(ctx context.Context, name api.Repo, id int64) error {
	_, err := b.tx.Exec(ctx, "INSERT INTO repo_names (name, repo) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET repo = excluded.repo", name.String(), id)
	return err
}

func (b *binder) tie(ctx context.Context, id int64) error {
	if _, err := b.tx.Exec(ctx, "UPDATE repos SET identity = $2 WHERE repo = $1", id, b.identity); err != nil {
		return err
	}
	_, err := b.tx.Exec(ctx, "INSERT INTO repo_identities (identity, repo) VALUES ($2, $1) ON CONFLICT (identity) DO UPDATE SET repo = excluded.repo", id, b.identity)
	return err
}

// drop deletes the rows of a repo without data.
func (b *binder) drop(ctx context.Context, n named) error {
	if n.id == 0 {
		return nil
	}
	if repo, err := api.ParseRepo(n.name); err == nil {
		b.touched = append(b.touched, repo)
	}
	return each(ctx, b.tx, []string{
		"DELETE FROM repos WHERE repo = $1", "DELETE FROM repo_names WHERE repo = $1",
		"DELETE FROM repo_identities WHERE repo = $1", "DELETE FROM actors WHERE repo = $1",
	}, n.id)
}

// giveUp drops the rows of a repo without data. Who was let into the repository
// that it was tied to was not let into the one that takes its name.
func (b *binder) giveUp(ctx context.Context, n named) error {
	if n.identity != "" {
		orphan, err := store.Orphan(n.identity)
		if err != nil {
			return err
		}
		if err := moveMembers(ctx, b.tx, b.name, orphan); err != nil {
			return err
		}
	}
	return b.drop(ctx, n)
}

// moveAside gives the data of a repository that lost its name a name that is
// nobody's.
func (b *binder) moveAside(ctx context.Context, n named) error {
	orphan, err := store.Orphan(n.identity)
	if err != nil {
		return err
	}
	return b.rename(ctx, n, orphan, false)
}

// rename gives data another name. The old one goes on standing for it, unless
// another repository takes it.
func (b *binder) rename(ctx context.Context, n named, to api.Repo, remember bool) error {
	from, err := api.ParseRepo(n.name)
	if err != nil {
		return err
	}
	b.touched = append(b.touched, from, to)
	if err := b.stand(ctx, to, n.id); err != nil {
		return err
	}
	if !remember {
		if _, err := b.tx.Exec(ctx, "DELETE FROM repo_names WHERE name = $1", from.String()); err != nil {
			return err
		}
	}
	if _, err := b.tx.Exec(ctx, "UPDATE repos SET name = $2 WHERE repo = $1", n.id, to.String()); err != nil {
		return err
	}
	if err := moveMembers(ctx, b.tx, from, to); err != nil {
		return err
	}
	detail, err := json.Marshal(map[string]string{"from": from.String(), "to": to.String()})
	if err != nil {
		return err
	}
	return record(ctx, b.tx, n.id, store.Event{Action: store.ActionRename, At: b.at, Detail: string(detail)})
}
