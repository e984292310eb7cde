package sqlitestore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

func TestOneServes(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, true)
	for range 2 {
		if _, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: true}); !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), dir) {
			t.Errorf("a second server: %v", err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	open(t, dir, true)
}

func TestBeside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	beside := open(t, dir, false)
	if err := beside.AddToken(t.Context(), token("first")); err != nil {
		t.Fatal(err)
	}
	serving := open(t, dir, true)
	if _, err := serving.TokenByHash(t.Context(), token("first").Hash); err != nil {
		t.Errorf("a token from before the first start: %v", err)
	}
	if _, err := beside.Update(t.Context(), repoOf(t, "acme/api"), always(puts(t, "a.md", "1"))); err == nil {
		t.Error("an update without the serving lock")
	}
	for version := range uint64(3) {
		update(t, serving, "acme/api", "a.md", string(rune('a'+version)))
		if head := headOf(t, beside, "acme/api"); head.Version != version+1 {
			t.Errorf("beside the server, version %d of %d is read", head.Version, version+1)
		}
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes on Windows")
	}
	dir := filepath.Join(t.TempDir(), "data")
	update(t, open(t, dir, true), "acme/api", "a.md", "1")
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 4 {
		t.Errorf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		if info, err := file.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file.Name(), info.Mode(), err)
		}
	}
}

// TestForeignFiles has things that are not ours in the database's place: each is
// refused by its path and left as it is.
func TestForeignFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, dir string)
		want    error
		says    string
	}{
		"text": {prepare: func(t *testing.T, dir string) {
			write(t, dir, strings.Repeat("no database, only text\n", 1000))
		}, says: "not a database"},
		"short text": {prepare: func(t *testing.T, dir string) { write(t, dir, "x") }, says: "not a database"},
		"another program's": {prepare: func(t *testing.T, dir string) {
			sql(t, dir, "CREATE TABLE notes (text)")
		}, says: "another program"},
		"another program's, marked": {prepare: func(t *testing.T, dir string) {
			sql(t, dir, "PRAGMA application_id = 7")
		}, says: "another program"},
		"a newer release's": {prepare: func(t *testing.T, dir string) {
			create(t, dir)
			sql(t, dir, "PRAGMA user_version = 1000")
		}, want: store.ErrNewerSchema},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tt.prepare(t, dir)
			path := filepath.Join(dir, "teammemd.db")
			before := read(t, path)
			for _, serve := range []bool{true, false} {
				_, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: serve})
				if err == nil || !errors.Is(err, tt.want) && tt.want != nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) {
					t.Errorf("serve %v: %v", serve, err)
				}
			}
			if !bytes.Equal(before, read(t, path)) {
				t.Error("the file was changed")
			}
		})
	}
}

func create(t *testing.T, dir string) {
	t.Helper()
	if err := open(t, dir, false).Close(); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "teammemd.db"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDirIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("opening: %v", err)
	}
}

func TestDamagedDatabase(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, true)
	for i := range 50 {
		update(t, s, "acme/api", "a.md", strings.Repeat(string(rune('a'+i%26)), 5000+i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "teammemd.db")
	data := read(t, path)
	write(t, dir, string(data[:len(data)/2+100]))
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: true})
	if err != nil {
		return // it may show already here
	}
	defer s.Close()
	_, headErr := s.Head(t.Context(), repoOf(t, "acme/api"))
	_, historyErr := s.History(t.Context(), repoOf(t, "acme/api"), api.Key{}, 0)
	if headErr == nil && historyErr == nil {
		t.Error("half a database answers as if it were whole")
	}
}

// TestOpenTogether creates one store from several sides at once.
func TestOpenTogether(t *testing.T) {
	for range 5 {
		dir := t.TempDir()
		var mu sync.Mutex
		epochs := map[string]bool{}
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: i == 0})
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				if err := s.AddToken(t.Context(), token(string(rune('a'+i)))); err != nil {
					t.Error(err)
				}
				_, err = s.Head(t.Context(), repoOf(t, "acme/api"))
				if !errors.Is(err, store.ErrNoRepo) {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				epochs[sql(t, dir, "SELECT value FROM meta WHERE name = 'epoch'")[0]] = true
			})
		}
		wg.Wait()
		if len(epochs) != 1 {
			t.Errorf("epochs: %v", epochs)
		}
	}
}

func TestEpoch(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, true)
	epoch := update(t, s, "acme/api", "a.md", "1").Epoch
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if again := headOf(t, open(t, dir, true), "acme/api").Epoch; again != epoch || len(epoch) < 20 {
		t.Errorf("epoch %q became %q", epoch, again)
	}
	if other := update(t, open(t, t.TempDir(), true), "acme/api", "a.md", "1").Epoch; other == epoch {
		t.Error("two stores have one epoch")
	}
}

func TestDurableSettings(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, true)
	if rows := sql(t, dir, "PRAGMA journal_mode", "PRAGMA user_version", "PRAGMA application_id"); rows[0] != "wal" || rows[1] != "1" || rows[2] != "1953326445" {
		t.Errorf("journal mode, schema, application: %q", rows)
	}
}
