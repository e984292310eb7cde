package pgstore_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// backedUp writes a backup and returns its path.
func backedUp(tb testing.TB, s *pgstore.Store) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "backup.db")
	if err := s.Dump(context.Background(), func(tables sqlitestore.Tables) error {
		return sqlitestore.WriteBackup(context.Background(), path, nil, tables)
	}); err != nil {
		tb.Fatal(err)
	}
	return path
}

// TestDump moves a store to PostgreSQL and back: it answers everything as it did,
// its chains verify, and it goes on.
func TestDump(t *testing.T) {
	t.Parallel()
	from := lived(t)
	want := everything(t, from)
	between := serve(t, pgtest.Schema(t))
	if err := from.Dump(t.Context(), func(tables pgstore.Tables) error { return between.Take(t.Context(), tables) }); err != nil {
		t.Fatal(err)
	}
	backup := backedUp(t, between)
	if left, err := os.ReadDir(filepath.Dir(backup)); err != nil || len(left) != 1 {
		t.Errorf("beside the backup: %v, %v", left, err)
	}
	dir := t.TempDir()
	if err := os.Rename(backup, filepath.Join(dir, "teammemd.db")); err != nil {
		t.Fatal(err)
	}
	back, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := back.Close(); err != nil {
			t.Error(err)
		}
	}()
	if diff := cmp.Diff(want, everything(t, back), cmpopts.EquateComparable(api.Key{}, api.Repo{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what came back (-want +got):\n%s", diff)
	}
	if _, err := back.Update(t.Context(), mustRepo("acme/web"), putting("a.md", "on")); err != nil {
		t.Error(err)
	}
	var said []string
	if err := back.Check(t.Context(), func(p store.Problem) { said = append(said, p.What) }); err != nil || len(said) != 0 {
		t.Errorf("%s, %v", strings.Join(said, "\n"), err)
	}
}

// TestEveryTableIsMoved reads off the catalogue of SQLite which tables there are, so
// that none is forgotten on the way in either direction.
func TestEveryTableIsMoved(t *testing.T) {
	t.Parallel()
	from, to := lived(t), serve(t, pgtest.Schema(t))
	moved := map[string][]string{"there": nil, "back": nil, "kept": nil}
	noting := func(way string, tables pgstore.Tables) pgstore.Tables {
		return func(name string) iter.Seq2[map[string]any, error] {
			moved[way] = append(moved[way], name)
			return tables(name)
		}
	}
	ctx, file := t.Context(), filepath.Join(t.TempDir(), "backup")
	if err := errors.Join(
		from.Dump(ctx, func(tables pgstore.Tables) error { return to.Take(ctx, noting("there", tables)) }),
		to.Dump(ctx, func(tables pgstore.Tables) error {
			return sqlitestore.WriteBackup(ctx, file, nil, noting("back", tables))
		}),
		from.Dump(ctx, func(tables pgstore.Tables) error {
			for row, err := range tables("sqlite_schema") {
				if err != nil {
					return err
				}
				if name, _ := row["name"].(string); row["type"] == "table" {
					moved["kept"] = append(moved["kept"], name)
				}
			}
			return nil
		}),
	); err != nil {
		t.Fatal(err)
	}
	// Contents travel opened: each store has data keys of its own.
	own := func(name string) bool { return name == "data_keys" || name == "data_rotation" }
	want := slices.Sorted(slices.Values(slices.DeleteFunc(moved["kept"], own)))
	for _, way := range []string{"there", "back"} {
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(slices.DeleteFunc(moved[way], own)))); diff != "" || len(want) < 10 {
			t.Errorf("the tables that went %s (-want +got):\n%s", way, diff)
		}
	}
}
