package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"
)

// Tables gives the rows of the tables of a store by their names, as [Store.Dump]
// lends them. Rows of versions come in their order.
type Tables = func(name string) iter.Seq2[Row, error]

// WriteBackup makes a backup of the tables of another store: a file as
// [Store.Backup] writes it, that [Restore] and [RestoreTo] take. It needs twice as
// much room beside it for a while. A file of that name is replaced when the new one
// is whole and on the disk.
func WriteBackup(ctx context.Context, path string, from Tables) error {
	if err := writeBackup(ctx, path, from); err != nil {
		return fmt.Errorf("backing up to %q: %w", path, err)
	}
	return nil
}

func writeBackup(ctx context.Context, path string, from Tables) (err error) {
	aside, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0700
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(aside)) }()
	s, err := Open(ctx, Options{Dir: aside, Serve: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	// The copy is what must last.
	if err := s.alone(ctx, func() error { return exec(s.writer, "PRAGMA synchronous = OFF") }); err != nil {
		return err
	}
	f := filler{from: from, repos: make(map[int64]int64), actors: make(map[pseudonym]int64), numbers: make(map[int64]int64)}
	if err := f.fill(ctx, s); err != nil {
		return err
	}
	return s.backup(ctx, path)
}

// filler copies tables into a new database.
type filler struct {
	from    Tables
	repos   map[int64]int64     // the numbers of repos there, and here
	actors  map[pseudonym]int64 // by the numbers here
	numbers map[int64]int64     // the last actor's of each repo here
	threads threads
}

// pseudonym is an actor's in a repo.
type pseudonym struct {
	repo int64
	id   actorID
}

// threads are the last versions of the keys of one repo.
type threads struct {
	repo int64
	last map[string]int64
}

func (f *filler) fill(ctx context.Context, s *Store) error {
	for _, t := range []struct {
		table  string
		change func(Row) error
	}{
		{"repos", f.repo},
		{"bodies", f.inRepo},
		{"entries", f.inRepo},
		{"tombs", f.inRepo},
		{"redactions", f.inRepo},
		{"actors", f.enter},
		{"versions", f.version},
		{"audit", f.byActor("actor")},
		{"scan_policy", f.policy},
		{"rescans", f.inRepo},
		{"devices", f.byActor("actor")},
		{"former_names", f.inRepo},
		{"tokens", nil},
		{"join_codes", nil},
		{"users", nil},
		{"sign_ins", nil},
		{"families", nil},
		{"refresh_tokens", nil},
		{"meta", nil},
	} {
		if err := s.write(ctx, func(conn *sqlite.Conn) error { return f.copy(ctx, conn, t.table, t.change) }); err != nil {
			return fmt.Errorf("table %s: %w", t.table, err)
		}
	}
	return nil
}

func (f *filler) copy(ctx context.Context, conn *sqlite.Conn, table string, change func(Row) error) error {
	if err := exec(conn, "DELETE FROM "+table); err != nil { // what a new database has
		return err
	}
	for row, err := range f.from(table) {
		if err == nil && change != nil {
			err = change(row)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = insertRow(conn, table, row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// repo gives a repo its number here; the server's own stays.
func (f *filler) repo(r Row) error {
	there, _ := r["id"].(int64)
	here := int64(0)
	if there != serverRepo {
		here = int64(len(f.repos)) + 1
	}
	f.repos[there] = here
	r["id"] = here
	delete(r, "chain_hash") // the last row has it
	return nil
}

func (f *filler) inRepo(r Row) error {
	there, _ := r["repo"].(int64)
	here, known := f.repos[there]
	if !known {
		return fmt.Errorf("a row belongs to the repo number %d, which there is not: run fsck", there)
	}
	r["repo"] = here
	return nil
}

// enter numbers the actors of each repo.
func (f *filler) enter(r Row) error {
	if err := f.inRepo(r); err != nil {
		return err
	}
	p, err := pseudonymOf(r, "id")
	if err != nil {
		return err
	}
	f.numbers[p.repo]++
	r["number"], f.actors[p] = f.numbers[p.repo], f.numbers[p.repo]
	return nil
}

func pseudonymOf(r Row, column string) (p pseudonym, err error) {
	p.repo, _ = r["repo"].(int64)
	id, _ := r[column].([]byte)
	if len(id) != len(p.id) {
		return p, fmt.Errorf("a pseudonym has %d bytes: run fsck", len(id))
	}
	copy(p.id[:], id)
	return p, nil
}

// byActor names the repo and the actors of a row by their numbers.
func (f *filler) byActor(columns ...string) func(Row) error {
	return func(r Row) error {
		if err := f.inRepo(r); err != nil {
			return err
		}
		for _, column := range columns {
			if r[column] == nil {
				continue
			}
			p, err := pseudonymOf(r, column)
			if err != nil {
				return err
			}
			number, known := f.actors[p]
			if !known {
				return errors.New("a row names an actor whom there is not: run fsck")
			}
			r[column] = number
		}
		return nil
	}
}

// version ties a version to the one of its key before.
func (f *filler) version(r Row) error {
	if err := f.byActor("actor")(r); err != nil {
		return err
	}
	if repo, _ := r["repo"].(int64); f.threads.last == nil || f.threads.repo != repo {
		f.threads = threads{repo: repo, last: make(map[string]int64)}
	}
	r["before"] = int64(0)
	if key, ok := r["key"].(string); ok {
		r["before"] = f.threads.last[key]
		f.threads.last[key], _ = r["version"].(int64)
	}
	return nil
}

// policy lets the entry have a number of this store's.
func (f *filler) policy(r Row) error {
	delete(r, "number")
	return f.byActor("actor", "ended_by")(r)
}
