package pgstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

// rich fills a store with everything that a check looks at.
func rich(t *testing.T, s *pgstore.Store) {
	t.Helper()
	put(t, s, "a.md", "one")
	put(t, s, "a.md", "two")
	put(t, s, "b.md", "three")
	put(t, s, "c.md", "value")
	c := store.Change{At: time.Now(), Retire: []api.Key{mustKey("c.md")}, Redact: []api.Checksum{api.SumString("value")}, Detail: `{"a":1}`}
	if _, err := s.Update(t.Context(), acme, func(store.Tx) (store.Change, error) { return c, nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(t.Context(), acme, store.Retention{Keep: 1}, api.Actor{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.AddPolicyEntry(t.Context(), acme, api.PolicyEntry{ID: "p", Rule: "r", Reason: "why", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := s.Audit(t.Context(), api.Repo{}, store.Event{Action: store.ActionSignIn, At: time.Now(), Detail: `{"b":2}`}); err != nil {
		t.Fatal(err)
	}
}

func problems(t *testing.T, s *pgstore.Store) string {
	t.Helper()
	var said []string
	if err := s.Check(t.Context(), func(p store.Problem) { said = append(said, p.Repo.String()+" "+p.Key.String()+": "+p.What) }); err != nil {
		t.Fatal(err)
	}
	return strings.Join(said, "\n")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t)
	s := serve(t, dsn)
	if said := problems(t, s); said != "" {
		t.Errorf("an empty store: %s", said)
	}
	rich(t, s)
	if said := problems(t, s); said != "" {
		t.Errorf("a sound store: %s", said)
	}
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, c := range []struct{ name, sql, says string }{
		{"a changed content", "UPDATE bodies SET content = 'x' WHERE content = 'two'", "not that of its checksum"},
		{"a lost content", "DELETE FROM bodies WHERE content = 'two'", "a content is missing"},
		{"a content too many", "INSERT INTO bodies SELECT repo, sha256('x'), 'x' FROM repos WHERE repo <> 0", "no version has"},
		{"a lost entry", "DELETE FROM entries WHERE key = 'a.md'", "neither live nor retired"},
		{"an entry of another content", "UPDATE entries SET bytes = 9", "is not what version"},
		{"a lost tombstone", "DELETE FROM tombs", "neither live nor retired"},
		{"a lost version", "DELETE FROM versions WHERE version = 2", "seals are not those of the chain"},
		{"a rewritten version", "UPDATE versions SET rules = 'x' WHERE version = 2", "its seal is not its own"},
		{"another actor of a version", "UPDATE versions SET actor = 'nobody' WHERE version = 2", "not that of the chain"},
		{"a lost audit row", "DELETE FROM audit WHERE number = 2", "follows row 1"},
		{"another action", "UPDATE audit SET action = 'x' WHERE number = 2", "hash is not that of the chain"},
		{"another detail", "UPDATE audit SET detail = '{}' WHERE repo = 0", "digest is not that of its detail"},
		{"a version that ran ahead", "UPDATE repos SET version = 9 WHERE repo <> 0", "the repo has version 9"},
		{"a redaction that was not done", "INSERT INTO redactions SELECT repo, sum, 0 FROM entries WHERE key = 'a.md'", "that was redacted"},
		{"rows of no repo", "UPDATE entries SET repo = 5", "belong to no repo"},
		{"a policy by nobody", "UPDATE scan_policy SET actor = 'nobody'", "name no actor"},
		{"a name for others", "UPDATE repo_names SET repo = 5", "stands for others"},
		{"no epoch", "DELETE FROM meta WHERE name = 'epoch'", "no epoch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			backup := []string{}
			for _, table := range append(pgstore.RepoTables(), "repo_names", "meta") {
				if _, err := conn.Exec(t.Context(), "CREATE TEMP TABLE kept_"+table+" AS TABLE "+table); err != nil {
					t.Fatal(err)
				}
				backup = append(backup, table)
			}
			if _, err := conn.Exec(t.Context(), c.sql); err != nil {
				t.Fatal(err)
			}
			said := problems(t, s)
			if !strings.Contains(said, c.says) || strings.Contains(said, "three") {
				t.Errorf("found %q, want %q", said, c.says)
			}
			for _, table := range backup {
				for _, statement := range []string{"TRUNCATE " + table, "INSERT INTO " + table + " SELECT * FROM kept_" + table, "DROP TABLE kept_" + table} {
					if _, err := conn.Exec(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
