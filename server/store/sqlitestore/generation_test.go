package sqlitestore_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// age makes the log look as if nobody had written to it for a while.
func age(tb testing.TB, dir string) {
	tb.Helper()
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "teammemd.db-wal"), past, past); err != nil {
		tb.Fatal(err)
	}
}

func generation(tb testing.TB, s *sqlitestore.Store) uint64 {
	tb.Helper()
	n, err := s.Generation(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// TestGenerationAfterACalm changes tokens after the log was quiet, so that the
// generation is known from looking at the file: every change is seen at once,
// those of this process and those of another.
func TestGenerationAfterACalm(t *testing.T) {
	dir := t.TempDir()
	serving := serve(t, dir)
	beside := open(t, sqlitestore.Options{Dir: dir})
	for i, changer := range []*sqlitestore.Store{serving, beside, beside, serving} {
		age(t, dir)
		before := generation(t, serving)
		if again := generation(t, serving); again != before {
			t.Fatalf("change %d: %d, then %d without a change", i, before, again)
		}
		id := strconv.Itoa(i)
		err := changer.AddToken(t.Context(), store.Token{ID: id, Name: id, Hash: [32]byte{byte(i)}, Repos: "*", Role: api.Writer, CreatedAt: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if after := generation(t, serving); after == before {
			t.Errorf("change %d is not seen", i)
		}
	}
}

// TestGenerationOfAClosedStore asks a store that knows the answer and is closed.
func TestGenerationOfAClosedStore(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	beside := open(t, sqlitestore.Options{Dir: dir}) // keeps the log
	age(t, dir)
	generation(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Generation(t.Context()); err == nil {
		t.Errorf("a closed store says %d", n)
	}
	generation(t, beside)
}

// BenchmarkGeneration is what a look for revocations costs: four a second.
func BenchmarkGeneration(b *testing.B) {
	for name, old := range map[string]bool{"asked": false, "looked at": true} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			s := serve(b, dir)
			if old {
				age(b, dir)
			}
			for b.Loop() {
				generation(b, s)
			}
		})
	}
}
