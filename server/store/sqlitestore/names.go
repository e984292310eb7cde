package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Resolve returns the name under which data is kept that name stands for.
func (s *Store) Resolve(ctx context.Context, name api.Repo) (api.Repo, error) {
	current := name
	err := s.read(ctx, "SELECT r.name FROM former_names f JOIN repos r ON r.id = f.repo WHERE f.name = ?", []any{name.String()}, func(stmt *sqlite.Stmt) (err error) {
		current, err = api.ParseRepo(stmt.ColumnText(0))
		return err
	})
	if err != nil {
		return api.Repo{}, fmt.Errorf("resolving %q: %w", name, err)
	}
	return current, nil
}

// Identity returns the identity that name's data belongs to.
func (s *Store) Identity(ctx context.Context, name api.Repo) (identity string, err error) {
	err = s.read(ctx, "SELECT identity FROM repos WHERE name = ?", []any{name.String()}, func(stmt *sqlite.Stmt) error {
		identity = stmt.ColumnText(0)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("reading the identity of %q: %w", name, err)
	}
	return identity, nil
}

// Bind says that name is now the repository with this identity.
func (s *Store) Bind(ctx context.Context, name api.Repo, identity string) (api.Repo, error) {
	if name.IsZero() || identity == "" {
		return api.Repo{}, errors.New("binding a repo: name and identity are needed")
	}
	bound, err := s.Identity(ctx, name)
	if err != nil || bound == identity {
		return name, err
	}
	if s.lock == nil {
		return api.Repo{}, fmt.Errorf("binding %q: %w", name, errNotServing)
	}
	err = s.alone(ctx, func() error {
		b := binder{store: s, conn: s.writer, name: name, identity: identity, at: time.Now(), touched: []api.Repo{name}}
		_, err := s.commit(b.bind)
		// Before anybody else writes: a head under an old name would be written on.
		for _, repo := range b.touched {
			s.heads.forget(repo)
		}
		return err
	})
	if err != nil {
		return api.Repo{}, fmt.Errorf("binding %q: %w", name, err)
	}
	return name, nil
}

// binder is one call of Bind inside its transaction.
type binder struct {
	store    *Store
	conn     *sqlite.Conn
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

func (b *binder) find(where string, arg any) (n named, err error) {
	err = sqlitex.Execute(b.conn, `SELECT id, name, identity, version > 0 OR chain > 0
		OR EXISTS (SELECT 1 FROM scan_policy p WHERE p.repo = r.id) OR EXISTS (SELECT 1 FROM rescans s WHERE s.repo = r.id)
		FROM repos r WHERE `+where, &sqlitex.ExecOptions{
		Args: []any{arg},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			n = named{stmt.ColumnInt64(0), stmt.ColumnText(1), stmt.ColumnText(2), stmt.ColumnInt(3) != 0}
			return nil
		},
	})
	return n, err
}

func (b *binder) bind() error {
	holder, err := b.find("name = ?", b.name.String())
	if err != nil {
		return err
	}
	own, err := b.find("identity = ?", b.identity)
	if err != nil {
		return err
	}
	if err := b.settleMembers(); err != nil {
		return err
	}
	switch {
	case holder.identity == b.identity && holder.id != 0:
		return nil // another call was faster
	case !holder.data:
		err = b.giveUp(holder)
	case holder.identity != "":
		err = b.moveAside(holder)
	case own.data:
		return store.ErrNameTaken
	default: // own's place, if it has one, is empty
		if err := b.drop(own); err != nil {
			return err
		}
		return b.tie(holder.id)
	}
	if err != nil {
		return err
	}
	if own.id == 0 {
		return b.begin()
	}
	return b.rename(own, b.name, true)
}

// begin gives the name to the identity, without data.
func (b *binder) begin() error {
	if err := exec(b.conn, "DELETE FROM former_names WHERE name = ?", b.name.String()); err != nil {
		return err
	}
	id, err := makeRepo(b.conn, b.name)
	if err != nil {
		return err
	}
	return b.tie(id)
}

func (b *binder) tie(id int64) error {
	return exec(b.conn, "UPDATE repos SET identity = ? WHERE id = ?", b.identity, id)
}

// drop deletes the row of a repo without data. Its number may be given again,
// so nothing may remember it.
func (b *binder) drop(n named) error {
	if n.id == 0 {
		return nil
	}
	b.store.actors.forget()
	if repo, err := api.ParseRepo(n.name); err == nil {
		b.touched = append(b.touched, repo)
	}
	for _, query := range []string{"DELETE FROM repos WHERE id = ?", "DELETE FROM former_names WHERE repo = ?", "DELETE FROM actors WHERE repo = ?"} {
		if err := exec(b.conn, query, n.id); err != nil {
			return err
		}
	}
	return nil
}

// giveUp drops the row of a repo without data. Who was let into the repository
// that it was tied to was not let into the one that takes its name.
func (b *binder) giveUp(n named) error {
	if n.identity != "" {
		orphan, err := store.Orphan(n.identity)
		if err != nil {
			return err
		}
		if err := moveMembers(b.conn, b.name, orphan); err != nil {
			return err
		}
	}
	return b.drop(n)
}

// moveAside gives the data of a repository that lost its name a name that is
// nobody's.
func (b *binder) moveAside(n named) error {
	orphan, err := store.Orphan(n.identity)
	if err != nil {
		return err
	}
	return b.rename(n, orphan, false)
}

// rename gives data another name. The old one goes on standing for it, unless
// another repository takes it.
func (b *binder) rename(n named, to api.Repo, remember bool) error {
	from, err := api.ParseRepo(n.name)
	if err != nil {
		return err
	}
	b.touched = append(b.touched, from, to)
	if err := exec(b.conn, "DELETE FROM former_names WHERE name = ?", to.String()); err != nil {
		return err
	}
	if err := exec(b.conn, "UPDATE repos SET name = ? WHERE id = ?", to.String(), n.id); err != nil {
		return err
	}
	if err := moveMembers(b.conn, from, to); err != nil {
		return err
	}
	if remember {
		if err := exec(b.conn, "INSERT INTO former_names (name, repo) VALUES (?, ?)", from.String(), n.id); err != nil {
			return err
		}
	}
	detail, err := json.Marshal(map[string]string{"from": from.String(), "to": to.String()})
	if err != nil {
		return err
	}
	return b.store.record(n.id, store.Event{Action: store.ActionRename, At: b.at, Detail: string(detail)})
}
