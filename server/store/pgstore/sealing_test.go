package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
	"github.com/teammem/teammemd/server/store/seal"
	"github.com/teammem/teammemd/server/store/sqlitestore"
	"github.com/teammem/teammemd/server/store/storetest"
)

func sealing(tb testing.TB, dsn string, keys *seal.Keys) *pgstore.Store {
	tb.Helper()
	return open(tb, pgstore.Options{DSN: dsn, Serve: true, Keys: keys})
}

// relationsWith counts the files of tables that hold a text.
func relationsWith(t *testing.T, cluster *pgtest.Cluster, text string) (n int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(cluster.Socket(), "data", "base"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // replaced meanwhile
		}
		if strings.Contains(string(data), text) {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func text(tb testing.TB, s *pgstore.Store, content string) {
	tb.Helper()
	sum := api.SumString(content)
	found, err := s.Bodies(tb.Context(), acme, []api.Checksum{sum})
	if err != nil || found[sum] != content {
		tb.Errorf("reading %q: %q, %v", content, found[sum], err)
	}
}

// TestSealedFiles looks for texts in the files of the tables, before and after
// they are encrypted, while another server goes on.
func TestSealedFiles(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t)
	dsn, keys := pgtest.SchemaIn(t, cluster), storetest.Keys(t)
	const mark = "leakleakleak"
	s := serve(t, dsn)
	for i := range 5 {
		c := store.Change{At: time.Now()}
		for n := range 60 {
			c.Puts = append(c.Puts, change(fmt.Sprintf("%d.md", n), fmt.Sprint(mark, i, " ", n)).Puts...)
		}
		if _, err := s.Update(t.Context(), acme, func(store.Tx) (store.Change, error) { return c, nil }); err != nil {
			t.Fatal(err)
		}
	}
	checkpoint := func() { rows(t, dsn, "CHECKPOINT") }
	checkpoint()
	if relationsWith(t, cluster, mark) == 0 {
		t.Fatal("the texts cannot be found: the test looks in the wrong place")
	}
	one, two := sealing(t, dsn, keys), sealing(t, dsn, keys)
	put(t, two, "more.md", mark+" by a server that begins to encrypt")
	done, err := one.RotateKeys(t.Context(), true, nil)
	if err != nil || done.Contents != 301 || done.Made != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	checkpoint()
	if n := relationsWith(t, cluster, mark); n != 0 {
		t.Errorf("%d files hold a text", n)
	}
	// Its data key is not the newest any more.
	put(t, two, "more.md", mark+" after the rotation")
	for _, s := range []*pgstore.Store{one, two} {
		text(t, s, mark+" after the rotation")
		text(t, s, mark+"3 7")
	}
	checkpoint()
	if n := relationsWith(t, cluster, mark); n != 0 {
		t.Errorf("%d files hold a text that was written after", n)
	}
	if n, err := two.Sealing(t.Context()); err != nil || n != (store.Sealing{Sealed: 302, Keys: 1}) {
		t.Errorf("%+v, %v", n, err)
	}
	// The server that knows no keys began before, and must not write plain.
	if _, err := s.Update(t.Context(), acme, putting("more.md", "plain")); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("a server without keys writes: %v", err)
	}
	if _, err := s.Bodies(t.Context(), acme, []api.Checksum{api.SumString(mark + "3 7")}); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("a server without keys reads: %v", err)
	}
	if err := s.KeysReady(t.Context()); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("a server without keys is ready: %v", err)
	}
	if err := two.KeysReady(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

// TestReadWhileKeysChange lets a rotation fall between a row and its data key: a
// reader has the row when the key goes.
func TestReadWhileKeysChange(t *testing.T) {
	t.Parallel()
	dsn, keys := pgtest.Schema(t), storetest.Keys(t)
	s := sealing(t, dsn, keys)
	put(t, s, "a.md", "the text")
	rows(t, dsn, "CREATE TABLE old_bodies AS SELECT * FROM bodies")
	rows(t, dsn, "CREATE TABLE old_keys AS SELECT * FROM data_keys")
	if _, err := s.RotateKeys(t.Context(), true, nil); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for _, statement := range []string{ // back to before, and then what the rotation did
		"CREATE TABLE new_bodies AS SELECT * FROM bodies", "CREATE TABLE new_keys AS SELECT * FROM data_keys",
		"DELETE FROM bodies", "DELETE FROM data_keys", "INSERT INTO bodies SELECT * FROM old_bodies", "INSERT INTO data_keys SELECT * FROM old_keys",
		"BEGIN", "LOCK TABLE data_keys IN ACCESS EXCLUSIVE MODE",
		"DELETE FROM bodies", "DELETE FROM data_keys", "INSERT INTO bodies SELECT * FROM new_bodies", "INSERT INTO data_keys SELECT * FROM new_keys",
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	reader := open(t, pgstore.Options{DSN: dsn, Keys: keys}) // it has no data key in memory
	var wg sync.WaitGroup
	wg.Go(func() { text(t, reader, "the text") })
	for waits := false; !waits; {
		if err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'data_keys'::regclass AND NOT granted)").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}

// TestServerOfTheReleaseBefore: what such a server calls writes plain, and nothing
// where a repo is encrypted.
func TestServerOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Keys{"true": nil, "false": storetest.Keys(t)} {
		dsn := pgtest.Schema(t)
		s := sealing(t, dsn, keys)
		put(t, s, "a.md", "one")
		const none = "sha256(''::bytea)"
		wrote := rows(t, dsn, `SELECT teammemd_apply(repo, name, version, gen_random_uuid(), modified_ms, 'x', `+none+`, '{}', 'write', 'r', NULL, '',
			`+none+`, `+none+`, '{b.md}', '{put}', ARRAY[sha256('two'::bytea)], '{3}', '{""}', ARRAY[`+none+`], ARRAY[`+none+`],
			ARRAY[sha256('two'::bytea)], ARRAY['two'::bytea], false, false, '{}')::text FROM repos WHERE version > 0`)
		if len(wrote) != 1 || wrote[0] != name {
			t.Errorf("it answers %v, want %s", wrote, name)
		}
		if n, err := s.Sealing(t.Context()); err != nil || n.Plain+n.Sealed != map[string]int64{"true": 2, "false": 1}[name] {
			t.Errorf("%+v, %v", n, err)
		}
	}
}

// TestSealedDamage spoils what is sealed: it is told and not served.
func TestSealedDamage(t *testing.T) {
	t.Parallel()
	keys := storetest.Keys(t)
	for name, sql := range map[string]string{
		"two contents swapped":          "UPDATE bodies b SET content = o.content FROM bodies o WHERE b.repo = o.repo AND b.sum <> o.sum",
		"cut":                           "UPDATE bodies SET content = substr(content, 1, 40)",
		"another data key":              "UPDATE data_keys SET wrapped = decode(repeat('00', 61), 'hex')",
		"no data key":                   "DELETE FROM data_keys",
		"a data key under a new number": "WITH x AS (UPDATE data_keys SET number = 2) UPDATE bodies SET data_key = 2",
		"said to be plain":              "UPDATE bodies SET data_key = 0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.Schema(t)
			s := sealing(t, dsn, keys)
			put(t, s, "a.md", "the first text")
			put(t, s, "b.md", "the other text")
			rows(t, dsn, sql)
			again := open(t, pgstore.Options{DSN: dsn, Keys: keys})
			found, err := again.Bodies(t.Context(), acme, []api.Checksum{api.SumString("the first text")})
			if !errors.Is(err, seal.ErrDamaged) || len(found) != 0 || strings.Contains(err.Error(), "text") {
				t.Errorf("reading: %q, %v", found, err)
			}
			problems := 0
			if err := again.Check(t.Context(), func(store.Problem) { problems++ }); err != nil || problems == 0 {
				t.Errorf("the check finds %d problems, %v", problems, err)
			}
		})
	}
}

// TestWithoutKeys: what needs no content goes on.
func TestWithoutKeys(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t)
	put(t, sealing(t, dsn, storetest.Keys(t)), "a.md", "text")
	beside := open(t, pgstore.Options{DSN: dsn})
	if head, err := beside.Head(t.Context(), acme); err != nil || len(head.Items) != 1 {
		t.Errorf("head: %v", err)
	}
	if _, err := beside.Bodies(t.Context(), acme, []api.Checksum{api.SumString("text")}); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("a content: %v", err)
	}
	if err := beside.Check(t.Context(), func(p store.Problem) { t.Error(p.What) }); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("check: %v", err)
	}
}

// TestTakeEncrypted moves an encrypted store on SQLite, whose contents are sealed
// anew here, and a plain one.
func TestTakeEncrypted(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]*seal.Keys{"plain": nil, "encrypted": storetest.Keys(t)} {
		for to, here := range map[string]*seal.Keys{"plain": nil, "encrypted": storetest.Keys(t)} {
			t.Run(name+" to "+to, func(t *testing.T) {
				t.Parallel()
				from, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: t.TempDir(), Serve: true, Keys: there})
				if err != nil {
					t.Fatal(err)
				}
				defer from.Close()
				for i := range 3 {
					if _, err := from.Update(t.Context(), acme, putting("a.md", fmt.Sprint("text ", i))); err != nil {
						t.Fatal(err)
					}
				}
				s := sealing(t, pgtest.Schema(t), here)
				if err := from.Dump(t.Context(), func(tables pgstore.Tables) error { return s.Take(t.Context(), tables) }); err != nil {
					t.Fatal(err)
				}
				want := store.Sealing{Plain: 3}
				if here != nil {
					want = store.Sealing{Sealed: 3, Keys: 1}
				}
				if n, err := s.Sealing(t.Context()); err != nil || n != want {
					t.Errorf("%+v, %v, want %+v", n, err, want)
				}
				if err := s.Check(t.Context(), func(p store.Problem) { t.Error(p.What) }); err != nil {
					t.Error(err)
				}
				text(t, s, "text 1")
				put(t, s, "a.md", "more")
				text(t, s, "more")
			})
		}
	}
}

// TestBackupEncrypted: a backup holds no text, and goes into an encrypted database
// with the key file alone.
func TestBackupEncrypted(t *testing.T) {
	t.Parallel()
	dsn, keys := pgtest.Schema(t), storetest.Keys(t)
	s := sealing(t, dsn, keys)
	put(t, s, "a.md", "the first text")
	put(t, s, "a.md", "the other text")
	dir := t.TempDir()
	backup := filepath.Join(dir, "backup")
	if err := s.Dump(t.Context(), func(tables sqlitestore.Tables) error {
		return sqlitestore.WriteBackup(t.Context(), backup, keys, tables)
	}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(backup); err != nil || strings.Contains(string(data), "first text") {
		t.Errorf("a text is in the backup, or %v", err)
	}
	for what, with := range map[string]*seal.Keys{"no keys": nil, "its keys": keys} {
		to := sealing(t, pgtest.Schema(t), with)
		_, err := to.Replace(t.Context(), func(ctx context.Context, _ bool, take func(pgstore.Tables) error) error {
			_, err := sqlitestore.RestoreTo(ctx, sqlitestore.Options{Dir: t.TempDir(), Keys: with}, backup, nil, api.Actor{}, time.Now(), take)
			return err
		})
		if with == nil {
			if !errors.Is(err, seal.ErrNoKey) {
				t.Errorf("with %s: %v", what, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, err := to.Sealing(t.Context()); err != nil || n != (store.Sealing{Sealed: 2, Keys: 1}) {
			t.Errorf("%+v, %v", n, err)
		}
		text(t, to, "the first text")
	}
	bare := open(t, pgstore.Options{DSN: dsn})
	if err := bare.Dump(t.Context(), func(tables sqlitestore.Tables) error {
		return sqlitestore.WriteBackup(t.Context(), filepath.Join(dir, "bare"), nil, tables)
	}); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("a backup without keys: %v", err)
	}
}

// TestDataKeyIsSpent: after so many versions a repo gets its next data key by
// itself, on whichever server.
func TestDataKeyIsSpent(t *testing.T) {
	t.Parallel()
	dsn, keys := pgtest.Schema(t), storetest.Keys(t)
	put(t, sealing(t, dsn, keys), "a.md", "one")
	rows(t, dsn, fmt.Sprintf("UPDATE data_keys SET since = %d", -seal.MaxVersions))
	s := sealing(t, dsn, keys)
	put(t, s, "a.md", "two")
	put(t, s, "a.md", "three")
	if n, err := s.Sealing(t.Context()); err != nil || n != (store.Sealing{Sealed: 3, Keys: 2}) {
		t.Errorf("%+v, %v", n, err)
	}
	for _, content := range []string{"one", "two", "three"} {
		text(t, s, content)
	}
}
