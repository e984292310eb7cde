package sqlitestore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// oldDatabase makes a database as an earlier release left it: its migrations,
// then these rows.
func oldDatabase(t *testing.T, dir string, schema int, rows string) {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join("migrations", "*.sql"))
	if err != nil || len(scripts) < schema {
		t.Fatalf("%d migrations, %v", len(scripts), err)
	}
	conn, err := sqlite.OpenConn(filepath.Join(dir, "teammemd.db"))
	if err != nil {
		t.Fatal(err)
	}
	parts := []string{fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", 0x746d6d64, schema)}
	for _, script := range scripts[:schema] {
		parts = append(parts, read(t, script))
	}
	for _, part := range append(parts, rows) {
		if err := sqlitex.ExecuteScript(conn, part, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFirstSchemaIsBroughtUpToDate: what the first release wrote is read as it
// was, and written on.
func TestFirstSchemaIsBroughtUpToDate(t *testing.T) {
	dir := t.TempDir()
	sum := api.SumString("one")
	oldDatabase(t, dir, 1, fmt.Sprintf(`
		INSERT INTO meta VALUES ('epoch', 'an epoch'), ('credential_generation', 1);
		INSERT INTO repos VALUES (1, 'acme/api', 1, 1000);
		INSERT INTO bodies VALUES (1, x'%[1]x', 'one');
		INSERT INTO entries VALUES (1, 'a.md', x'%[1]x', 3, 1, 1000);
		INSERT INTO versions VALUES (1, 'a.md', 1, 'put', x'%[1]x', 3, 1000, 't', 'ada', '', '', '', '1-old', 0);
	`, sum[:]))
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

// TestSecondSchemaIsBroughtUpToDate: two repos with history, a repo that has
// only a policy, and people in all of them.
func TestSecondSchemaIsBroughtUpToDate(t *testing.T) {
	dir := t.TempDir()
	one, two := api.SumString("one"), api.SumString("two")
	oldDatabase(t, dir, 2, fmt.Sprintf(`
		INSERT INTO meta VALUES ('epoch', 'an epoch'), ('credential_generation', 1);
		INSERT INTO repos VALUES (1, 'acme/api', 3, 3000), (2, 'acme/other', 1, 1500);
		INSERT INTO bodies VALUES (1, x'%[1]x', 'one'), (1, x'%[2]x', 'two'), (2, x'%[1]x', 'one');
		INSERT INTO entries VALUES (1, 'b.md', x'%[1]x', 3, 1, 1000, ''), (1, 'c.md', x'%[2]x', 3, 3, 3000, '1 r=why'), (2, 'a.md', x'%[1]x', 3, 1, 1500, '');
		INSERT INTO tombs VALUES (1, 'a.md', 3);
		INSERT INTO versions VALUES
			(1, 'b.md', 1, 'put', x'%[1]x', 3, 1000, 't', 'ada', 'd', 'a', 's', '1-old', 0, ''),
			(1, 'a.md', 1, 'put', x'%[1]x', 3, 1000, 't', 'ada', 'd', 'a', 's', '1-old', 0, ''),
			(1, 'a.md', 2, 'put', x'%[2]x', 3, 2000, 't', 'ben', '', '', '', '1-old', 0, ''),
			(1, 'a.md', 3, 'retire', NULL, 0, 3000, 't', 'ada', 'd', 'a', 's', '2-old', 0, ''),
			(1, 'c.md', 3, 'put', x'%[2]x', 3, 3000, 't', 'ada', 'd', 'a', 's', '2-old', 0, '1 r=why'),
			(2, 'a.md', 1, 'put', x'%[1]x', 3, 1500, '', '', '', '', '', '', 0, '');
		INSERT INTO scan_policy (repo, id, rule, keys, reason, actor, at_ms, expires_ms, ended_ms, ended_by) VALUES
			('acme/api', 'p1', 'r', 'docs/**', 'why', '{"token":"t","person":"ben"}', 100, 0, 200, '{"user":"u","person":"cy"}'),
			('acme/api', 'p2', 'r', '', 'why not', '{}', 300, 400, 0, '{}'),
			('acme/none', 'p1', 'r', '', 'why', '{"person":"ada"}', 100, 0, 0, '{}');
		INSERT INTO rescans VALUES ('acme/api', '2-old', 5000, '[]'), ('acme/blank', '2-old', 6000, '[]');
	`, one[:], two[:]))
	s := serve(t, dir)
	wantOldRepo(t, s)
	rows, err := s.Trail(t.Context(), acme, 0, 0)
	if err != nil || len(rows) != 3 || rows[1].Actor.Person != "ben" || rows[2].At.UnixMilli() != 3000 {
		t.Errorf("chain %+v, %v", rows, err)
	}
	p, err := s.Policy(t.Context(), acme)
	if err != nil || p.Revision != 3 || p.Entries[0].Actor != (api.Actor{Token: "t", Person: "ben"}) ||
		p.Entries[0].EndedBy != (api.Actor{User: "u", Person: "cy"}) || p.Entries[1].Actor != (api.Actor{}) {
		t.Errorf("policy %+v, %v", p, err)
	}
	if p, err := s.Policy(t.Context(), mustRepo("acme/none")); err != nil || len(p.Entries) != 1 || p.Entries[0].Actor.Person != "ada" {
		t.Errorf("policy of a repo without a version: %+v, %v", p, err)
	}
	if r, err := s.Rescan(t.Context(), mustRepo("acme/blank")); err != nil || r.Rules != "2-old" {
		t.Errorf("marks of a repo without a version: %+v, %v", r, err)
	}
	if _, err := s.Head(t.Context(), mustRepo("acme/none")); !errors.Is(err, store.ErrNoRepo) {
		t.Errorf("a repo with a policy alone: %v, want ErrNoRepo", err)
	}
	if repos, err := s.Repos(t.Context()); err != nil || len(repos) != 2 {
		t.Errorf("repos %v, %v", repos, err)
	}
	if head, err := s.Update(t.Context(), mustRepo("acme/none"), putting("a.md", "x")); err != nil || head.Version != 1 {
		t.Errorf("the first change beside a policy: %+v, %v", head, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantSound(t, dir)
}

// wantOldRepo looks at the repo that the old release wrote and writes it on.
func wantOldRepo(t *testing.T, s *sqlitestore.Store) {
	t.Helper()
	head, err := s.Head(t.Context(), acme)
	if err != nil || head.Version != 3 || len(head.Items) != 2 || len(head.Tombs) != 1 || head.Epoch != "an epoch" {
		t.Fatalf("head %+v, %v", head, err)
	}
	history, err := s.History(t.Context(), acme, api.Key{}, 0)
	if err != nil || len(history) != 5 {
		t.Fatalf("history %+v, %v", history, err)
	}
	var got []string
	for _, v := range history {
		got = append(got, fmt.Sprint(v.Key, " ", v.Version, " ", v.Op, " ", v.Actor.Person, " ", v.Actor.Device, " ", v.Rules, " ", v.Allowed))
	}
	want := []string{"a.md 3 retire ada d 2-old ", "c.md 3 put ada d 2-old 1 r=why", "a.md 2 put ben  1-old ", "a.md 1 put ada d 1-old ", "b.md 1 put ada d 1-old "}
	if !slices.Equal(got, want) {
		t.Errorf("history %q", got)
	}
	if history[0].ActorID != history[3].ActorID || history[0].ActorID == history[2].ActorID {
		t.Error("pseudonyms do not follow the actors")
	}
	if next, err := s.Update(t.Context(), mustRepo("acme/other"), putting("b.md", "two")); err != nil || next.Version != 2 {
		t.Errorf("writing on: %v", err)
	}
}
