package sqlitestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
)

// TestFirstSchemaIsBroughtUpToDate: what the first release wrote is read as it
// was, and written on.
func TestFirstSchemaIsBroughtUpToDate(t *testing.T) {
	dir := t.TempDir()
	first, err := os.ReadFile(filepath.Join("migrations", "0001_first.sql"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := sqlite.OpenConn(filepath.Join(dir, "teammemd.db"))
	if err != nil {
		t.Fatal(err)
	}
	sum := api.SumString("one")
	rows := fmt.Sprintf(`
		PRAGMA application_id = %d;
		PRAGMA user_version = 1;
		INSERT INTO meta VALUES ('epoch', 'an epoch'), ('credential_generation', 1);
		INSERT INTO repos VALUES (1, 'acme/api', 1, 1000);
		INSERT INTO bodies VALUES (1, x'%[2]x', 'one');
		INSERT INTO entries VALUES (1, 'a.md', x'%[2]x', 3, 1, 1000);
		INSERT INTO versions VALUES (1, 'a.md', 1, 'put', x'%[2]x', 3, 1000, 't', 'ada', '', '', '', '1-old', 0);
	`, 0x746d6d64, sum[:])
	if err := sqlitex.ExecuteScript(conn, string(first)+rows, nil); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	s := serve(t, dir)
	head, err := s.Head(t.Context(), acme)
	if err != nil || head.Version != 1 || len(head.Items) != 1 || head.Items[0].Sum != sum || head.Items[0].Allowed != "" || head.Epoch != "an epoch" {
		t.Fatalf("head %+v, %v", head, err)
	}
	if next, err := s.Update(t.Context(), acme, putting("b.md", "two")); err != nil || next.Version != 2 {
		t.Errorf("writing on: %v", err)
	}
	history, err := s.History(t.Context(), acme, api.Key{}, 0)
	if err != nil || len(history) != 2 || history[1].Rules != "1-old" || history[1].Allowed != "" {
		t.Errorf("history %+v, %v", history, err)
	}
	if p, err := s.Policy(t.Context(), acme); err != nil || p.Revision != 0 {
		t.Errorf("policy %+v, %v", p, err)
	}
	if r, err := s.Rescan(t.Context(), acme); err != nil || r.Rules != "" {
		t.Errorf("%+v, %v", r, err)
	}
}
