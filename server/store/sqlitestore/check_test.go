package sqlitestore_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// problems returns what a check finds in a data directory.
func problems(tb testing.TB, dir string) (found []store.Problem) {
	tb.Helper()
	s, err := sqlitestore.Open(tb.Context(), sqlitestore.Options{Dir: dir})
	if err != nil {
		tb.Fatalf("opening: %v", err)
	}
	defer s.Close()
	if err := s.Check(tb.Context(), func(p store.Problem) { found = append(found, p) }); err != nil {
		tb.Errorf("checking: %v", err)
	}
	return found
}

// richStore writes something of everything: two repos, of which the second has
// number 2, with a redaction, a pruned version, a retired key, a policy that was
// ended, a rename and an erased person.
func richStore(t *testing.T, dir string) {
	t.Helper()
	s := serve(t, dir)
	ctx, by := t.Context(), api.Actor{Person: "ada"}
	for _, repo := range []api.Repo{acme, mustRepo("acme/second")} {
		for _, c := range []store.Change{
			change("a.md", "one"), change("b.md", "value"), change("a.md", "two"), change("a.md", "three"), change("c.md", "gone"),
			{At: time.Now(), Retire: []api.Key{mustKey("c.md")}, Actor: by, Detail: `{"a":"detail"}`},
			{At: time.Now(), Retire: []api.Key{mustKey("b.md")}, Redact: []api.Checksum{api.SumString("value")}, Actor: by},
			{At: time.Now(), Redact: []api.Checksum{api.SumString("never there")}},
			change("d.md", "last"),
		} {
			if _, err := s.Update(ctx, repo, func(store.Tx) (store.Change, error) { return c, nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, pruned := s.Prune(ctx, mustRepo("acme/second"), store.Retention{Keep: 2}, by, time.Now())
	_, bound := s.Bind(ctx, mustRepo("acme/second"), "github.com#2")
	_, renamed := s.Bind(ctx, mustRepo("acme/renamed"), "github.com#2")
	_, erased := s.Erase(ctx, func(a api.Actor) bool { return a.Person == "ben" }, by, time.Now())
	err := errors.Join(pruned, bound, renamed, erased,
		s.AddPolicyEntry(ctx, mustRepo("acme/renamed"), api.PolicyEntry{ID: "p", Rule: "r", Actor: by, At: time.Now()}),
		s.EndPolicyEntry(ctx, mustRepo("acme/renamed"), "p", time.Now(), by),
		s.Audit(ctx, mustRepo("acme/renamed"), store.Event{Action: store.ActionAllow, Actor: by, At: time.Now(), Detail: `{"a":1}`}),
		s.Close())
	if err != nil {
		t.Fatal(err)
	}
}

// TestCheckFinds plants one damage after another. Versions of repo 2: 1 a=one,
// 2 b=value (redacted), 3 a=two, 4 a=three, 5 c=gone, 6 c retired, 7 b retired,
// 8 a redaction alone, 9 d=last. Rows 10 to 12: prune, rename, allow.
func TestCheckFinds(t *testing.T) {
	sound := t.TempDir()
	richStore(t, sound)
	if found := problems(t, sound); len(found) != 0 {
		t.Fatalf("a sound store: %+v", found)
	}
	database := read(t, filepath.Join(sound, "teammemd.db"))
	for _, c := range []struct{ name, sql, says string }{
		{"a changed content", "UPDATE bodies SET content = 'five' WHERE repo = 2 AND content = 'last'", "not that of its checksum"},
		{"a missing content", "DELETE FROM bodies WHERE repo = 2 AND content = 'last'", "a content is missing"},
		{"a content of nobody", "DELETE FROM versions WHERE repo = 1 AND version = 9", "no version has"},
		{"a redacted content that is back", "INSERT INTO bodies (repo, sum, content) SELECT repo, sum, 'x' FROM redactions WHERE repo = 2 LIMIT 1", "that was redacted is there"},
		{"a content that no version has", "INSERT INTO bodies (repo, sum, content) VALUES (2, zeroblob(32), 'x')", "a content"},
		{"a live entry of another content", "UPDATE entries SET sum = (SELECT sum FROM entries WHERE repo = 2 AND key = 'a.md') WHERE repo = 2 AND key = 'd.md'", "not what version 9 made"},
		{"an entry of another version", "UPDATE entries SET version = 8 WHERE repo = 2 AND key = 'd.md'", "not what version 9 made"},
		{"an entry of another time", "UPDATE entries SET modified_ms = modified_ms + 1 WHERE repo = 2 AND key = 'd.md'", "not what version 9 made"},
		{"an entry that allows more", "UPDATE entries SET allowed = '1 r=x' WHERE repo = 2 AND key = 'd.md'", "not what version 9 made"},
		{"a lost entry", "DELETE FROM entries WHERE repo = 2 AND key = 'd.md'", "neither live nor retired"},
		{"an entry out of nothing", "INSERT INTO entries SELECT repo, 'x.md', sum, bytes, version, modified_ms, allowed FROM entries WHERE repo = 2 AND key = 'd.md'", "the history says that it is not"},
		{"a lost tombstone", "DELETE FROM tombs WHERE repo = 2 AND key = 'c.md'", "neither live nor retired"},
		{"a tombstone of another version", "UPDATE tombs SET version = 1 WHERE repo = 2 AND key = 'c.md'", "the key is retired"},
		{"a live key that is dead as well", "INSERT INTO tombs VALUES (2, 'd.md', 9)", "the key is retired"},
		{"a lost audit row", "DELETE FROM audit WHERE repo = 2 AND number = 4", "audit row 5 follows row 3"},
		{"the last audit row lost", "DELETE FROM audit WHERE repo = 2 AND number = 12", "the chain ends at row 11"},
		{"a chain cut short", "DELETE FROM audit WHERE repo = 2 AND number = 12; UPDATE repos SET chain = 11, version = 8 WHERE id = 2", "the repo has version 8"},
		{"rows that were swapped", "UPDATE audit SET number = number + 100 WHERE repo = 2 AND number IN (10, 11); UPDATE audit SET number = 11 WHERE repo = 2 AND number = 110; UPDATE audit SET number = 10 WHERE repo = 2 AND number = 111", "does not fit into the chain"},
		{"another action", "UPDATE audit SET action = 'write' WHERE repo = 2 AND number = 10", "does not fit into the chain"},
		{"another actor of a row", "UPDATE audit SET actor = (SELECT number FROM actors WHERE repo = 2 AND person = '') WHERE repo = 2 AND number = 6", "does not fit into the chain"},
		{"another actor of a version", "UPDATE versions SET actor = (SELECT number FROM actors WHERE repo = 2 AND person = 'ada') WHERE repo = 2 AND version = 1", "its actor is not that of the chain"},
		{"a changed pseudonym", "UPDATE actors SET id = zeroblob(16) WHERE repo = 2 AND person = 'ada'", "does not fit into the chain"},
		{"a lost actor", "DELETE FROM actors WHERE repo = 2 AND person = 'ada'", "its actor is unknown"},
		{"a pseudonym of two", "UPDATE actors SET id = (SELECT id FROM actors WHERE repo = 1 AND person = 'ada') WHERE repo = 2 AND person = 'ada'", "share a pseudonym"},
		{"another detail", "UPDATE audit SET detail = '{\"a\":2}' WHERE repo = 2 AND number = 12", "digest is not that of its detail"},
		{"a row of another time", "UPDATE audit SET at_ms = at_ms + 1 WHERE repo = 2 AND number = 9", "does not fit into the chain"},
		{"swapped salts", "UPDATE versions SET salt = (SELECT salt FROM versions WHERE repo = 2 AND version = 4) WHERE repo = 2 AND version = 3", "does not fit into the chain"},
		{"a swapped seal", "UPDATE versions SET seal = (SELECT seal FROM versions WHERE repo = 1 AND version = 2) WHERE repo = 2 AND version = 2", "does not fit into the chain"},
		{"a lost seal", "UPDATE versions SET seal = NULL WHERE repo = 2 AND version = 2", "does not fit into the chain"},
		{"the seal of a redacted version", "UPDATE versions SET seal = zeroblob(32) WHERE repo = 2 AND version = 2", "does not fit into the chain"},
		{"a rewritten version", "UPDATE versions SET key = 'z.md' WHERE repo = 2 AND version = 5", "does not fit into the chain"},
		{"rules of another set", "UPDATE versions SET rules = 'x' WHERE repo = 2 AND version = 5", "does not fit into the chain"},
		{"a lost version", "DELETE FROM versions WHERE repo = 2 AND version = 3", "audit row 3 does not fit into the chain"},
		{"the last version lost", "DELETE FROM versions WHERE repo = 2 AND version = 9", "audit row 9 does not fit into the chain"},
		{"a version out of nothing", "INSERT INTO versions SELECT repo, 10, ordinal, key, 9, op, sum, bytes, at_ms, actor, rules, allowed, salt, seal, redacted, pruned FROM versions WHERE repo = 2 AND version = 9", "version 10 is not in the chain"},
		{"a thread that leads elsewhere", "UPDATE versions SET before = 0 WHERE repo = 2 AND version = 4", "does not lead to version 3"},
		{"a redacted version that tells", "UPDATE versions SET bytes = 5 WHERE repo = 2 AND version = 2", "tells of its content"},
		{"a shortened ledger", "DELETE FROM redactions WHERE repo = 2; UPDATE versions SET sum = x'00' WHERE repo = 2 AND version = 5", "damaged"},
		{"a redaction that was not done", "INSERT INTO redactions SELECT repo, sum, 0 FROM entries WHERE repo = 2 AND key = 'd.md'", "content that was redacted"},
		{"a version number that ran ahead", "UPDATE repos SET version = 10 WHERE id = 2", "the repo has version 10, its chain 9"},
		{"a repo of another time", "UPDATE repos SET modified_ms = 1 WHERE id = 2", "last change"},
		{"rows of no repo", "DELETE FROM repos WHERE id = 2", "belong to no repo"},
		{"a policy by nobody", "UPDATE scan_policy SET ended_by = 99", "name no actor"},
		{"a former name in use", "INSERT INTO former_names VALUES ('acme/api', 2)", "former names are in use"},
		{"an erased actor with a name", "UPDATE actors SET erased = 1 WHERE repo = 2 AND person = 'ada'", "erased actors have names"},
		{"a short token hash", "INSERT INTO tokens (id, name, hash, repos, role, created_ms, expires_ms, revoked_ms) VALUES ('t', '', x'00', '*', 'reader', 0, 0, 0)", "hash that is none"},
		{"the server's chain changed", "UPDATE audit SET detail = '{}' WHERE repo = 0", "digest is not that of its detail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "teammemd.db"), database)
			rawDatabase(t, dir, strings.Split(strings.TrimSuffix(strings.TrimSpace(c.sql), ";"), "; ")...)
			var said []string
			for _, p := range problems(t, dir) {
				said = append(said, p.Repo.String()+" "+p.Key.String()+": "+p.What)
				if strings.Contains(p.What, "three") || strings.Contains(p.What, "last\n") {
					t.Errorf("a problem quotes a content: %s", p.What)
				}
			}
			if !strings.Contains(strings.Join(said, "\n"), c.says) {
				t.Errorf("found %q, want %q", said, c.says)
			}
			if len(said) > 12 {
				t.Errorf("one damage makes %d problems", len(said))
			}
		})
	}
}

// TestCheckFindsATornPage: what is below the rows is SQLite's to find.
func TestCheckFindsATornPage(t *testing.T) {
	dir := t.TempDir()
	richStore(t, dir)
	// The index says other than its table.
	rawDatabase(t, dir, "PRAGMA writable_schema = ON", `UPDATE sqlite_schema SET rootpage =
		(SELECT rootpage FROM sqlite_schema WHERE name = 'former_names_by_repo') WHERE name = 'repos_by_identity'`)
	found := problems(t, dir)
	if len(found) == 0 || !strings.Contains(found[0].What, "engine") {
		t.Errorf("found %+v", found)
	}
}

func TestCheckCanBeStopped(t *testing.T) {
	dir := t.TempDir()
	richStore(t, dir)
	s := serve(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Check(ctx, func(store.Problem) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}
