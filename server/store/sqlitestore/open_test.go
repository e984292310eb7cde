package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

func TestOpenRefuses(t *testing.T) {
	ours := func(t *testing.T, dir string) {
		t.Helper()
		if err := serve(t, dir).Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, dir string)
		want    error  // may be nil
		says    string // besides the path
	}{
		{"a newer schema", func(t *testing.T, dir string) {
			t.Helper()
			ours(t, dir)
			rawDatabase(t, dir, "PRAGMA user_version = 1000")
		}, store.ErrNewerSchema, "1000"},
		{"what is no database", func(t *testing.T, dir string) {
			t.Helper()
			write(t, filepath.Join(dir, "teammemd.db"), strings.Repeat("no database at all\n", 100))
		}, nil, "not a database"},
		{"a short file", func(t *testing.T, dir string) {
			t.Helper()
			write(t, filepath.Join(dir, "teammemd.db"), "remember the milk")
		}, nil, "not a database"},
		{"a database of another program", func(t *testing.T, dir string) {
			t.Helper()
			rawDatabase(t, dir, "CREATE TABLE theirs (x)", "PRAGMA user_version = 1")
		}, nil, "another program"},
		{"a marked database of another program", func(t *testing.T, dir string) {
			t.Helper()
			rawDatabase(t, dir, "PRAGMA application_id = 77")
		}, nil, "another program"},
		{"a directory in the database's place", func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Mkdir(filepath.Join(dir, "teammemd.db"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, nil, "directory"},
		{"a lost epoch", func(t *testing.T, dir string) {
			t.Helper()
			ours(t, dir)
			rawDatabase(t, dir, "DELETE FROM meta WHERE name = 'epoch'")
		}, nil, "damaged"},
		{"a second server", func(t *testing.T, dir string) {
			t.Helper()
			serve(t, dir)
		}, store.ErrLocked, "in use"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.prepare(t, dir)
			s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: true})
			if err == nil {
				t.Fatal("opened", s.Close())
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %q names neither %q nor %q", err, dir, c.says)
			}
		})
	}
	if _, err := sqlitestore.Open(t.Context(), sqlitestore.Options{}); err == nil {
		t.Error("opened without a directory")
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenLeavesAForeignDatabaseAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "teammemd.db")
	rawDatabase(t, dir, "CREATE TABLE theirs (x)")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	before := read(t, path)
	mode := modeOf(t, path)
	if s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir}); err == nil {
		t.Fatal("opened", s.Close())
	}
	if read(t, path) != before || modeOf(t, path) != mode {
		t.Error("the database of another program was changed")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func TestOpenLeavesOtherFilesAlone(t *testing.T) {
	for _, text := range []string{"x", strings.Repeat("x", 511), strings.Repeat("x", 512), strings.Repeat("a text\n", 1000)} {
		dir := t.TempDir()
		path := filepath.Join(dir, "teammemd.db")
		write(t, path, text)
		for _, serving := range []bool{true, false} {
			if s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: serving}); err == nil {
				t.Errorf("%d bytes of text were opened: %v", len(text), s.Close())
			}
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != text {
			t.Errorf("%d bytes of text became %d: %v", len(text), len(after), err)
		}
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no permission bits")
	}
	dir := filepath.Join(t.TempDir(), "made", "here")
	s := serve(t, dir)
	if _, err := s.Update(t.Context(), acme, putting("a.md", "one")); err != nil {
		t.Fatal(err)
	}
	wantModes := func() {
		t.Helper()
		for name, want := range map[string]os.FileMode{"": os.ModeDir | 0o700, "teammemd.db": 0o600, "teammemd.db-wal": 0o600, "teammemd.db-shm": 0o600, "server.lock": 0o600} {
			if got := modeOf(t, filepath.Join(dir, name)); got != want {
				t.Errorf("%q has mode %v, want %v", name, got, want)
			}
		}
	}
	wantModes()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "teammemd.db"), 0o644); err != nil { // as a copy by hand leaves it
		t.Fatal(err)
	}
	s = serve(t, dir)
	if _, err := s.Update(t.Context(), acme, putting("a.md", "two")); err != nil {
		t.Fatal(err)
	}
	wantModes()
}

func TestManyOpenANewDirectory(t *testing.T) {
	for range 10 { // each is a race that some win
		openTogether(t, t.TempDir())
	}
}

func openTogether(t *testing.T, dir string) {
	t.Helper()
	stores := make([]*sqlitestore.Store, 8)
	var all sync.WaitGroup
	for i := range stores {
		all.Go(func() {
			var err error
			if stores[i], err = sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: i == 0}); err != nil {
				t.Errorf("opening: %v", err)
			}
		})
	}
	all.Wait()
	for _, s := range stores {
		if s == nil {
			continue
		}
		if g, err := s.Generation(t.Context()); err != nil || g == 0 {
			t.Errorf("generation %d, %v", g, err)
		}
		defer s.Close()
	}
	if got := rawDatabase(t, dir, "SELECT count(*) FROM meta"); got[0] != "2" {
		t.Errorf("%s rows of meta, want 2", got[0])
	}
}

// No test can pull the plug, so this one looks at what the promise hangs on.
func TestWritesAreSynced(t *testing.T) {
	const full, on = 2, 1
	s := serve(t, t.TempDir())
	for name, want := range map[string]int{"synchronous": full, "fullfsync": on, "checkpoint_fullfsync": on} {
		if got, err := s.Pragma(name); err != nil || got != want {
			t.Errorf("%s = %d, %v; want %d", name, got, err, want)
		}
	}
}

func TestCloseTwice(t *testing.T) {
	s := serve(t, t.TempDir())
	for range 3 {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
}

func TestEpochs(t *testing.T) {
	seen := map[string]bool{}
	for range 3 {
		s := serve(t, t.TempDir())
		head, err := s.Update(t.Context(), acme, putting("a.md", "one"))
		if err != nil {
			t.Fatal(err)
		}
		if seen[head.Epoch] || strings.ContainsAny(head.Epoch, ";:") || len(head.Epoch) < 20 {
			t.Errorf("epoch %q", head.Epoch)
		}
		seen[head.Epoch] = true
	}
}
