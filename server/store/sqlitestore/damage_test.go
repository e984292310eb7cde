package sqlitestore_test

import (
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// TestDamagedRows spoils one value of one repo: whoever reads it is told, and
// the other repo goes on.
func TestDamagedRows(t *testing.T) {
	sound, damaged := acme, mustRepo("acme/damaged")
	for _, c := range []struct {
		name, sql string
		history   bool // it shows there, not in the head
	}{
		{"a key that leads out", "UPDATE entries SET key = '../up.md' WHERE repo = 2", false},
		{"an entry's short checksum", "UPDATE entries SET sum = x'00' WHERE repo = 2", false},
		{"an entry's long checksum", "UPDATE entries SET sum = zeroblob(33) WHERE repo = 2", false},
		{"a redaction's checksum", "INSERT INTO redactions (repo, sum, at_ms) VALUES (2, x'01', 0)", false},
		{"a tombstone's key", "INSERT INTO tombs (repo, key, version) VALUES (2, '/', 1)", false},
		{"a version's checksum", "UPDATE versions SET sum = x'0102' WHERE repo = 2", true},
		{"a version's key", "UPDATE versions SET key = '' WHERE repo = 2", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := serve(t, dir)
			for _, repo := range []api.Repo{sound, damaged} {
				if _, err := s.Update(t.Context(), repo, putting("a.md", "one")); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			rawDatabase(t, dir, c.sql)
			s = serve(t, dir)
			_, err := s.Head(t.Context(), damaged)
			if c.history {
				_, err = s.History(t.Context(), damaged, api.Key{}, 0)
			}
			if err == nil || !strings.Contains(err.Error(), "damaged:") {
				t.Errorf("reading: %v", err)
			}
			if _, err := s.Update(t.Context(), damaged, putting("b.md", "two")); (err == nil) != c.history {
				t.Errorf("writing: %v", err)
			}
			if head, err := s.Update(t.Context(), sound, putting("b.md", "two")); err != nil || head.Version != 2 {
				t.Errorf("the sound repo: %+v, %v", head, err)
			}
		})
	}
}

func TestDamagedToken(t *testing.T) {
	for _, damage := range []string{"UPDATE tokens SET hash = x'00'", "UPDATE tokens SET role = 'king'"} {
		dir := t.TempDir()
		s := serve(t, dir)
		if err := s.AddToken(t.Context(), store.Token{ID: "t", Role: api.Reader, Hash: api.SumString("t")}); err != nil {
			t.Fatal(err)
		}
		rawDatabase(t, dir, damage)
		if _, err := s.Tokens(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("after %q: %v", damage, err)
		}
	}
}
