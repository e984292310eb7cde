package pgstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

// TestScrubLeavesNothing redacts a content and erases a person: before, table,
// statistics and log have them; after scrubbing, no file of the cluster does.
func TestScrubLeavesNothing(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t, "wal_recycle = off")
	dsn := pgtest.SchemaIn(t, cluster)
	s := serve(t, dsn)
	const value, person = "the phrase that leaked", "a person who left"
	secret := "it has " + value
	large := strings.Repeat(value+" ", 500) // compressed, and in a table of its own
	for i, text := range []string{secret, large, "other", secret + " again"} {
		c := change(fmt.Sprintf("%d.md", i%2), text)
		c.Actor = api.Actor{Person: person}
		if _, err := s.Update(t.Context(), acme, func(store.Tx) (store.Change, error) { return c, nil }); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Exec(t, "CHECKPOINT")
	for _, text := range []string{value, person} {
		found := cluster.FilesWith(t, text)
		for _, kind := range []string{"base/", "pg_wal/"} {
			if !strings.Contains(strings.Join(found, "\n"), kind) {
				t.Errorf("before, %q is only in %q, not below %s", text, found, kind)
			}
		}
	}
	// What the planner samples must not be these.
	schema := strings.TrimPrefix(dsn[strings.LastIndex(dsn, "search_path="):], "search_path=")
	for _, table := range []string{"bodies", "actors", "audit", "versions", "entries"} {
		cluster.Exec(t, "ANALYZE "+schema+"."+table)
	}
	redacted := change("1.md", "clean")
	redacted.Redact = []api.Checksum{api.SumString(secret), api.SumString(large), api.SumString(secret + " again")}
	redacted.Action = store.ActionRedact
	if _, err := s.Update(t.Context(), acme, func(store.Tx) (store.Change, error) { return redacted, nil }); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Erase(t.Context(), func(a api.Actor) bool { return a.Person == person }, api.Actor{Person: "lead"}, time.Now()); err != nil || n == 0 {
		t.Fatalf("erased %d, %v", n, err)
	}
	if err := s.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{value, person} {
		if found := cluster.FilesWith(t, text); len(found) > 0 {
			t.Errorf("%q is still in %q", text, found)
		}
	}
	if said := problems(t, s); said != "" {
		t.Error(said)
	}
	put(t, s, "after.md", "it goes on")
}
