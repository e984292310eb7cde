package sqlitestore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
	"github.com/teammem/teammemd/server/store/sqlitestore"
	"github.com/teammem/teammemd/server/store/storetest"
)

// sealing opens a store for serving that encrypts.
func sealing(tb testing.TB, dir string, keys *seal.Keys) *sqlitestore.Store {
	tb.Helper()
	return open(tb, sqlitestore.Options{Dir: dir, Serve: true, Keys: keys})
}

func closed(tb testing.TB, s *sqlitestore.Store) {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
}

func texts(tb testing.TB, s *sqlitestore.Store, repo api.Repo, contents ...string) map[api.Checksum]string {
	tb.Helper()
	sums := make([]api.Checksum, len(contents))
	for i, content := range contents {
		sums[i] = api.SumString(content)
	}
	found, err := s.Bodies(tb.Context(), repo, sums)
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

func wantNoMark(t *testing.T, when, dir string) {
	t.Helper()
	if files := findBytes(t, dir, mark); len(files) != 0 {
		t.Errorf("%s: %v hold a text", when, files)
	}
}

// TestSealedFiles looks for texts in every byte of the data directory, before and
// after they are encrypted.
func TestSealedFiles(t *testing.T) {
	dir, keys := t.TempDir(), storetest.Keys(t)
	s := serve(t, dir)
	var marked []string
	for i := range 40 {
		c := store.Change{At: time.Now()}
		for n := range 10 {
			text := fmt.Sprint(mark, i, " ", n, strings.Repeat(" large", i*i*n), mark)
			c.Puts = append(c.Puts, change(fmt.Sprintf("%d/%d.md", i, n), text).Puts...)
			marked = append(marked, text)
		}
		if _, err := s.Update(t.Context(), acme, func(store.Tx) (store.Change, error) { return c, nil }); err != nil {
			t.Fatal(err)
		}
	}
	// Rows that went leave copies behind, as those that are encrypted do.
	if _, err := s.Update(t.Context(), acme, purge(marked[:20]...)); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	if len(findBytes(t, dir, mark)) == 0 {
		t.Fatal("the texts cannot be found: the test looks in the wrong place")
	}
	s = sealing(t, dir, keys)
	steps := 0
	done, err := s.RotateKeys(t.Context(), true, func(store.Rotation) { steps++ })
	if err != nil || done.Contents != int64(len(marked)-20) || steps < 3 {
		t.Fatalf("%+v in %d steps, %v", done, steps, err)
	}
	wantNoMark(t, "encrypted", dir)
	if found := texts(t, s, acme, marked...); len(found) != len(marked)-20 || found[api.SumString(marked[33])] != marked[33] {
		t.Errorf("%d texts", len(found))
	}
	if _, err := s.Update(t.Context(), acme, putting("more.md", mark+" written after")); err != nil {
		t.Fatal(err)
	}
	wantNoMark(t, "after a write", dir)
	closed(t, s)
	wantNoMark(t, "closed", dir)
	wantSealedSound(t, dir, keys)
}

// wantSealedSound is wantSound for a store that is encrypted.
func wantSealedSound(t *testing.T, dir string, keys *seal.Keys) {
	t.Helper()
	for _, p := range problemsWith(t, sqlitestore.Options{Dir: dir, Keys: keys}) {
		t.Errorf("%q %q: %s", p.Repo, p.Key, p.What)
	}
}

func problemsWith(t *testing.T, o sqlitestore.Options) (found []store.Problem) {
	t.Helper()
	s := open(t, o)
	defer closed(t, s)
	if err := s.Check(t.Context(), func(p store.Problem) { found = append(found, p) }); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestSealedDamage spoils what is sealed. Whoever reads it is told, gets nothing
// of it, and the other repo goes on.
func TestSealedDamage(t *testing.T) {
	for name, sql := range map[string]string{
		"two contents swapped":           "UPDATE bodies SET sealed = (SELECT b.sealed FROM bodies b WHERE b.repo = bodies.repo AND b.sum <> bodies.sum) WHERE repo = 2",
		"another repo's content":         "UPDATE bodies SET sealed = (SELECT b.sealed FROM bodies b WHERE b.repo = 1 AND b.sum = bodies.sum) WHERE repo = 2",
		"another repo's content and key": "UPDATE bodies SET sealed = (SELECT b.sealed FROM bodies b WHERE b.repo = 1 AND b.sum = bodies.sum) WHERE repo = 2; UPDATE data_keys SET wrapped = (SELECT k.wrapped FROM data_keys k WHERE k.repo = 1) WHERE repo = 2",
		"cut":                            "UPDATE bodies SET sealed = substr(sealed, 1, 40) WHERE repo = 2",
		"nothing left":                   "UPDATE bodies SET sealed = x'' WHERE repo = 2",
		"another data key":               "UPDATE data_keys SET wrapped = zeroblob(length(wrapped)) WHERE repo = 2",
		"no data key":                    "DELETE FROM data_keys WHERE repo = 2",
		"a data key under a new number":  "UPDATE data_keys SET number = 2 WHERE repo = 2; UPDATE bodies SET data_key = 2 WHERE repo = 2",
		"said to be plain":               "UPDATE bodies SET data_key = 0 WHERE repo = 2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, keys := t.TempDir(), storetest.Keys(t)
			s := sealing(t, dir, keys)
			damaged := mustRepo("acme/damaged")
			for _, repo := range []api.Repo{acme, damaged} {
				for _, text := range []string{"the first text", "the other text"} {
					if _, err := s.Update(t.Context(), repo, putting(text[4:9]+".md", text)); err != nil {
						t.Fatal(err)
					}
				}
			}
			closed(t, s)
			rawDatabase(t, dir, strings.Split(sql, "; ")...)
			s = open(t, sqlitestore.Options{Dir: dir, Keys: keys})
			found, err := s.Bodies(t.Context(), damaged, []api.Checksum{api.SumString("the first text")})
			if !errors.Is(err, seal.ErrDamaged) || len(found) != 0 || strings.Contains(err.Error(), "text") {
				t.Errorf("reading: %q, %v", found, err)
			}
			if len(texts(t, s, acme, "the first text", "the other text")) != 2 {
				t.Error("the sound repo cannot be read")
			}
			problems := problemsWith(t, sqlitestore.Options{Dir: dir, Keys: keys})
			if len(problems) == 0 {
				t.Error("the check finds nothing")
			}
			for _, p := range problems {
				if p.Repo == acme {
					t.Errorf("of the sound repo: %s", p.What)
				}
			}
		})
	}
}

// TestRotationAfterCrash takes the files as a crash would leave them after every
// step, and goes on with them.
func TestRotationAfterCrash(t *testing.T) {
	dir, keys := t.TempDir(), storetest.Keys(t)
	s := serve(t, dir)
	c := store.Change{At: time.Now()}
	var marked []string
	for i := range 320 {
		text := fmt.Sprint(mark, " ", i)
		c.Puts = append(c.Puts, change(fmt.Sprintf("%d.md", i), text).Puts...)
		marked = append(marked, text)
	}
	for _, repo := range []api.Repo{acme, mustRepo("acme/web")} {
		if _, err := s.Update(t.Context(), repo, func(store.Tx) (store.Change, error) { return c, nil }); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, s)
	s = sealing(t, dir, keys)
	var left []string
	if _, err := s.RotateKeys(t.Context(), true, func(store.Rotation) { left = append(left, crashed(t, dir)) }); err != nil {
		t.Fatal(err)
	}
	if len(left) < 8 {
		t.Fatalf("only %d steps", len(left))
	}
	for step, after := range left {
		s := sealing(t, after, keys)
		if got := len(texts(t, s, acme, marked...)); got != len(marked) {
			t.Errorf("step %d: %d texts", step, got)
		}
		if _, err := s.RotateKeys(t.Context(), true, nil); err != nil {
			t.Errorf("step %d: %v", step, err)
		}
		if n, err := s.Sealing(t.Context()); err != nil || n != (store.Sealing{Sealed: 640, Keys: 2}) {
			t.Errorf("step %d: %+v, %v", step, n, err)
		}
		closed(t, s)
		wantNoMark(t, fmt.Sprint("step ", step), after)
		wantSealedSound(t, after, keys)
	}
}

// TestWithoutKeys: what needs no content goes on beside a server whose keys one
// does not have.
func TestWithoutKeys(t *testing.T) {
	dir := t.TempDir()
	s := sealing(t, dir, storetest.Keys(t))
	if _, err := s.Update(t.Context(), acme, putting("a.md", "text")); err != nil {
		t.Fatal(err)
	}
	beside := open(t, sqlitestore.Options{Dir: dir})
	if head, err := beside.Head(t.Context(), acme); err != nil || len(head.Items) != 1 {
		t.Errorf("head: %v", err)
	}
	if h, err := beside.History(t.Context(), acme, api.Key{}, 0); err != nil || len(h) != 1 {
		t.Errorf("history: %v", err)
	}
	if err := beside.Backup(t.Context(), filepath.Join(t.TempDir(), "backup")); err != nil {
		t.Errorf("backup: %v", err)
	}
	if _, err := beside.Bodies(t.Context(), acme, []api.Checksum{api.SumString("text")}); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("a content: %v", err)
	}
	if err := beside.KeysReady(t.Context()); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("ready: %v", err)
	}
	if err := beside.Check(t.Context(), func(p store.Problem) { t.Error(p.What) }); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("check: %v", err)
	}
	if _, err := beside.RotateKeys(t.Context(), false, nil); err == nil {
		t.Error("keys are changed beside a server")
	}
}

// TestSealedBackup: a backup holds no text, and is restored with its key file
// alone.
func TestSealedBackup(t *testing.T) {
	dir, keys := t.TempDir(), storetest.Keys(t)
	s := sealing(t, dir, keys)
	for _, text := range []string{mark + " one", mark + " two"} {
		if _, err := s.Update(t.Context(), acme, putting(text[len(mark)+1:]+".md", text)); err != nil {
			t.Fatal(err)
		}
	}
	backup := filepath.Join(t.TempDir(), "backup")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), acme, purge(mark+" two")); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	wantNoMark(t, "backup", filepath.Dir(backup))
	for what, wrong := range map[string]*seal.Keys{"no keys": nil, "other keys": storetest.Keys(t)} {
		if _, err := sqlitestore.Restore(t.Context(), sqlitestore.Options{Dir: dir, Keys: wrong}, backup, api.Actor{}, time.Now()); !errors.Is(err, seal.ErrNoKey) {
			t.Errorf("restored with %s: %v", what, err)
		}
	}
	done, err := sqlitestore.Restore(t.Context(), sqlitestore.Options{Dir: dir, Keys: keys}, backup, api.Actor{}, time.Now())
	if err != nil || done.Redactions != 1 || done.Unread != nil {
		t.Fatalf("%+v, %v", done, err)
	}
	s = sealing(t, dir, keys)
	if found := texts(t, s, acme, mark+" one", mark+" two"); len(found) != 1 || found[api.SumString(mark+" one")] != mark+" one" {
		t.Errorf("%d texts", len(found))
	}
	wantNoMark(t, "restored", dir)
}

// TestDataKeyIsSpent: after so many versions a repo gets its next data key by
// itself.
func TestDataKeyIsSpent(t *testing.T) {
	dir, keys := t.TempDir(), storetest.Keys(t)
	s := sealing(t, dir, keys)
	write := func(text string) {
		t.Helper()
		if _, err := s.Update(t.Context(), acme, putting("a.md", text)); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	write("two")
	closed(t, s)
	rawDatabase(t, dir, fmt.Sprintf("UPDATE data_keys SET since = %d", -seal.MaxVersions))
	s = sealing(t, dir, keys)
	write("three")
	write("four")
	if n, err := s.Sealing(t.Context()); err != nil || n != (store.Sealing{Sealed: 4, Keys: 2}) {
		t.Errorf("%+v, %v", n, err)
	}
	if len(texts(t, s, acme, "one", "two", "three", "four")) != 4 {
		t.Error("not all can be read")
	}
	closed(t, s)
	if got := rawDatabase(t, dir, "SELECT group_concat(data_key, ',' ORDER BY rowid) FROM bodies"); got[0] != "1,1,2,2" {
		t.Errorf("data keys %s", got[0])
	}
	wantSealedSound(t, dir, keys)
}

// TestRolledBackKey: a data key that was made in a transaction that failed never
// seals anything.
func TestRolledBackKey(t *testing.T) {
	dir, keys := t.TempDir(), storetest.Keys(t)
	s := sealing(t, dir, keys)
	rawDatabase(t, dir, "CREATE TRIGGER no BEFORE INSERT ON versions BEGIN SELECT raise(ABORT, 'no'); END")
	if _, err := s.Update(t.Context(), acme, putting("a.md", "one")); err == nil {
		t.Fatal("the write was not refused")
	}
	rawDatabase(t, dir, "DROP TRIGGER no")
	if _, err := s.Update(t.Context(), acme, putting("a.md", "one")); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	s = sealing(t, dir, keys)
	if len(texts(t, s, acme, "one")) != 1 {
		t.Error("what was written cannot be read")
	}
}
