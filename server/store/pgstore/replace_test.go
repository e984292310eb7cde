package pgstore_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// restore is what `server restore` does.
func restore(ctx context.Context, t *testing.T, dsn, backup string) (done sqlitestore.Restored, err error) {
	t.Helper()
	s, err := pgstore.Open(ctx, pgstore.Options{DSN: dsn, Serve: true})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	done.Kept, err = s.Replace(ctx, func(ctx context.Context, data bool, take func(pgstore.Tables) error) error {
		var old sqlitestore.Replaced
		if data {
			old = s
		}
		kept := done.Kept
		done, err = sqlitestore.RestoreTo(ctx, sqlitestore.Options{Dir: dir}, backup, old, api.Actor{Token: "operator"}, time.Now(), take)
		done.Kept = kept
		return err
	})
	if left, _ := os.ReadDir(dir); len(left) > 1 { // the lock's file
		t.Errorf("a restore left %v", left)
	}
	if left := rows(t, dsn, "SELECT nspname::text FROM pg_namespace WHERE nspname = current_schema() || '_restoring'"); len(left) > 0 {
		t.Errorf("a restore left the schema %v", left)
	}
	return done, errors.Join(err, s.Close())
}

// schema makes one whose replaced copies go with it.
func schema(t *testing.T) string {
	t.Helper()
	dsn := pgtest.Schema(t)
	t.Cleanup(func() {
		for _, kept := range rows(t, dsn, "SELECT nspname::text FROM pg_namespace WHERE starts_with(nspname, current_schema() || '_')") {
			rows(t, dsn, "DROP SCHEMA "+kept+" CASCADE")
		}
	})
	return dsn
}

func restored(t *testing.T, dsn, backup string) (sqlitestore.Restored, *pgstore.Store) {
	t.Helper()
	done, err := restore(t.Context(), t, dsn, backup)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, dsn)
	if said := problems(t, s); said != "" {
		t.Errorf("the restored store: %s", said)
	}
	return done, s
}

func update(t *testing.T, s *pgstore.Store, repo api.Repo, c store.Change) *store.Head {
	t.Helper()
	head, err := s.Update(t.Context(), repo, func(store.Tx) (store.Change, error) { return c, nil })
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// TestReplaceIntoANewDatabase puts a backup of SQLite's into an empty database: it
// answers everything as it did but for the epoch, and who was invited.
func TestReplaceIntoANewDatabase(t *testing.T) {
	t.Parallel()
	from := lived(t)
	want := everything(t, from)
	backup := t.TempDir() + "/backup.db"
	if err := from.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	dsn := schema(t)
	done, s := restored(t, dsn, backup)
	if done.Kept != "" || done.Unread != nil || done.Replayed != (sqlitestore.Replayed{}) {
		t.Errorf("done %+v", done)
	}
	was, _ := want["head"].(*store.Head)
	got := everything(t, s)
	is, _ := got["head"].(*store.Head)
	if is.Epoch == was.Epoch || is.Epoch != done.Epoch || is.Checksum != was.Checksum {
		t.Errorf("head %+v, was %+v", is, was)
	}
	trail, _ := got["trail of "].([]store.AuditRow)
	if len(trail) == 0 || trail[len(trail)-1].Action != store.ActionServerChange {
		t.Errorf("the server's chain does not end with the restore: %+v", trail)
	}
	for _, other := range []string{"head", "trail of "} {
		delete(want, other)
		delete(got, other)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(api.Key{}, api.Repo{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what was restored (-want +got):\n%s", diff)
	}
	update(t, s, mustRepo("acme/web"), change("a.md", "on"))
	if said := problems(t, s); said != "" {
		t.Error(said)
	}
}

// TestReplaceRepeatsWhatWasDone: what was taken away since the backup stays away, and
// what was there stays in a schema of its own, with which it can be looked at.
func TestReplaceRepeatsWhatWasDone(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	s := serve(t, dsn)
	now := time.Now().UTC().Truncate(time.Millisecond)
	for key, content := range map[string]string{"a.md": "kept", "b.md": "retired later", "c.md": "leaked", "d.md": "back again", "e.md": "leaked"} {
		put(t, s, key, content)
	}
	if err := errors.Join(
		s.AddToken(t.Context(), store.Token{ID: "t", Name: "n", Hash: [32]byte{5}, Repos: "*", Role: api.Writer, CreatedAt: now}),
		s.AddJoinCode(t.Context(), store.JoinCode{Hash: [32]byte{6}, Repo: acme, Role: api.Writer, ExpiresAt: now.Add(time.Hour)}),
	); err != nil {
		t.Fatal(err)
	}
	backup := backedUp(t, s)
	update(t, s, acme, store.Change{At: time.Now(), Actor: api.Actor{Person: "ada"}, Retire: []api.Key{mustKey("b.md"), mustKey("c.md")}, Redact: []api.Checksum{api.SumString("leaked")}, Puts: []store.Put{
		{Key: mustKey("e.md"), Content: "clean", Sum: api.SumString("clean")}, {Key: mustKey("later.md"), Content: "lost", Sum: api.SumString("lost")},
	}})
	if _, err := s.Erase(t.Context(), func(a api.Actor) bool { return a.Person == "ada" }, api.Actor{}, now); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Bind(t.Context(), acme, "github.com#1"); err != nil {
		t.Fatal(err)
	}
	web := mustRepo("acme/web")
	if _, err := s.Bind(t.Context(), web, "github.com#1"); err != nil {
		t.Fatal(err)
	}
	if err := s.RevokeToken(t.Context(), "t", now); err != nil {
		t.Fatal(err)
	}
	was := pastOf(t, s, web)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	done, s := restored(t, dsn, backup)
	if want := (sqlitestore.Replayed{Redactions: 1, Retirements: 2, Erasures: 1, Revocations: 1}); done.Replayed != want || done.Unread != nil {
		t.Errorf("done again: %+v, want %+v; %v", done.Replayed, want, done.Unread)
	}
	head, err := s.Head(t.Context(), web)
	if err != nil {
		t.Fatal(err)
	}
	bodies := make(map[string]string)
	for _, item := range head.Items {
		found, err := s.Bodies(t.Context(), web, []api.Checksum{item.Sum})
		if err != nil {
			t.Fatal(err)
		}
		bodies[item.Key.String()] = found[item.Sum]
	}
	if diff := cmp.Diff(map[string]string{"a.md": "kept", "d.md": "back again", "e.md": "clean"}, bodies); diff != "" {
		t.Errorf("what lives (-want +got):\n%s", diff)
	}
	if left := rows(t, dsn, "SELECT convert_from(content, 'UTF8') FROM bodies WHERE content = 'leaked'"); len(left) > 0 {
		t.Error("what was redacted is back")
	}
	if token, err := s.TokenByHash(t.Context(), [32]byte{5}); err != nil || token.RevokedAt.IsZero() {
		t.Errorf("the token %+v, %v", token, err)
	}
	if left := rows(t, dsn, "SELECT repo FROM join_codes"); len(left) > 0 {
		t.Error("a join code still counts")
	}
	if history, err := s.History(t.Context(), web, mustKey("a.md"), 0); err != nil || len(history) != 1 || history[0].Actor != (api.Actor{}) {
		t.Errorf("who was erased: %+v, %v", history, err)
	}

	own, other, _ := strings.Cut(dsn, " search_path=")
	if done.Kept != other+"_before_restore_1" {
		t.Fatalf("kept %q", done.Kept)
	}
	if diff := cmp.Diff(was, pastOf(t, serve(t, own+" search_path="+done.Kept), web), cmpopts.EquateComparable(api.Key{}, api.Repo{})); diff != "" {
		t.Errorf("what was kept is not what was there (-want +got):\n%s", diff)
	}
}

// pastOf is all that a store says of a repo.
func pastOf(t *testing.T, s *pgstore.Store, repo api.Repo) []any {
	t.Helper()
	head, noHead := s.Head(t.Context(), repo)
	history, noHistory := s.History(t.Context(), repo, api.Key{}, 0)
	trail, noTrail := s.Trail(t.Context(), repo, 0, 0)
	if err := errors.Join(noHead, noHistory, noTrail); err != nil {
		t.Fatal(err)
	}
	return []any{head, history, trail}
}

// TestReplaceRefuses: a replacement that fails, at whatever step, changes nothing and
// leaves nothing, and so does one beside a server.
func TestReplaceRefuses(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	s := serve(t, dsn)
	put(t, s, "a.md", "unmistakable")
	backup := backedUp(t, s)
	put(t, s, "a.md", "two")
	was := pastOf(t, s, acme)
	raw, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	spoiled := t.TempDir() + "/spoiled.db"
	if err := os.WriteFile(spoiled, []byte(strings.ReplaceAll(string(raw), "unmistakable", "untouchable.")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t.Context(), t, dsn, spoiled); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("a broken backup: %v", err)
	}
	failure := errors.New("it fails afterwards")
	lite, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Replace(t.Context(), func(ctx context.Context, _ bool, take func(pgstore.Tables) error) error {
		late, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		if err := s.AddToken(late, store.Token{ID: "late", Name: "n", Hash: [32]byte{5}, Repos: "*", CreatedAt: time.Now()}); err == nil {
			t.Error("a token was made that the replacement would have lost")
		}
		return errors.Join(lite.Dump(ctx, take), failure)
	})
	if err := lite.Close(); err != nil {
		t.Error(err)
	}
	if !errors.Is(err, failure) {
		t.Errorf("a failure after the tables were taken: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	following, ended := make(chan struct{}, 1), make(chan error)
	go func() {
		ended <- s.Follow(ctx, func(repo api.Repo, _ uint64) {
			if repo.IsZero() {
				following <- struct{}{}
			}
		})
	}()
	<-following
	if _, err := restore(t.Context(), t, dsn, backup); !errors.Is(err, store.ErrLocked) {
		t.Errorf("beside a server: %v, want ErrLocked", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(was, pastOf(t, s, acme), cmpopts.EquateComparable(api.Key{}, api.Repo{})); diff != "" {
		t.Errorf("what was refused changed something (-want +got):\n%s", diff)
	}
	if said := problems(t, s); said != "" {
		t.Error(said)
	}
	// And then it is done, twice: each keeps what it replaced.
	for _, kept := range []string{"_before_restore_1", "_before_restore_2"} {
		if done, _ := restored(t, dsn, backup); !strings.HasSuffix(done.Kept, kept) {
			t.Errorf("kept %q, want %q", done.Kept, kept)
		}
	}
}
