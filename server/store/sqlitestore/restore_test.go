package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// backedUp writes a backup beside the data and returns its path.
func backedUp(t *testing.T, s *sqlitestore.Store) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup.db")
	if err := s.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

func restored(t *testing.T, dir, backup string) (sqlitestore.Restored, *sqlitestore.Store) {
	t.Helper()
	done, err := sqlitestore.Restore(t.Context(), dir, backup, api.Actor{Token: "operator"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".restore-*")); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	if found := problems(t, dir); len(found) != 0 {
		t.Errorf("the restored store: %+v", found)
	}
	return done, serve(t, dir)
}

func update(t *testing.T, s *sqlitestore.Store, repo api.Repo, c store.Change) *store.Head {
	t.Helper()
	head, err := s.Update(t.Context(), repo, func(store.Tx) (store.Change, error) { return c, nil })
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// TestBackupAmongWrites: each backup holds whole changes, all that were
// acknowledged when it began.
func TestBackupAmongWrites(t *testing.T) {
	s := serve(t, t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	last := make(map[api.Repo]uint64)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			repo := mustRepo(fmt.Sprintf("acme/r%d", w))
			for i := 0; ctx.Err() == nil; i++ {
				head, err := s.Update(context.WithoutCancel(ctx), repo, putting(fmt.Sprintf("%d.md", i%40), strings.Repeat(fmt.Sprint(i, " "), i%900)))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				last[repo] = head.Version
				mu.Unlock()
			}
		})
	}
	defer all.Wait()
	defer stop()
	for range 4 {
		mu.Lock()
		before := maps.Clone(last)
		mu.Unlock()
		backup := backedUp(t, s)
		_, again := restored(t, t.TempDir(), backup)
		for repo, version := range before {
			head, err := again.Head(t.Context(), repo)
			if err != nil || head.Version < version {
				t.Errorf("%q: version %d was acknowledged, the backup has %+v, %v", repo, version, head, err)
			}
		}
	}
}

func TestBackupIsOneClosedFile(t *testing.T) {
	s := serve(t, t.TempDir())
	update(t, s, acme, change("a.md", "one"))
	backup := backedUp(t, s)
	for range 2 { // it takes the place of an earlier one
		if err := s.Backup(t.Context(), backup); err != nil {
			t.Fatal(err)
		}
	}
	names, err := os.ReadDir(filepath.Dir(backup))
	if err != nil || len(names) != 1 {
		t.Errorf("%v beside the backup, %v", names, err)
	}
	if runtime.GOOS != "windows" && modeOf(t, backup) != 0o600 {
		t.Errorf("mode %v", modeOf(t, backup))
	}
	if err := s.Backup(t.Context(), filepath.Join(t.TempDir(), "none", "x.db")); err == nil {
		t.Error("a backup was written into a directory that is not there")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Backup(ctx, backup); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestBackupRefusesItsOwnDatabase(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	update(t, s, acme, change("a.md", "one"))
	if err := s.Backup(t.Context(), filepath.Join(dir, "teammemd.db")); err == nil {
		t.Error("the database was backed up over itself")
	}
}

// TestBackupHoldsNothingRedacted: what was redacted before is in no backup, also
// where nobody has scrubbed.
func TestBackupHoldsNothingRedacted(t *testing.T) {
	s := serve(t, t.TempDir())
	marked, plain := leave(t, s)
	for _, texts := range [][]string{plain[:300], marked} {
		if _, err := s.Update(t.Context(), acme, purge(texts...)); err != nil {
			t.Fatal(err)
		}
	}
	if files := findBytes(t, filepath.Dir(backedUp(t, s)), mark); len(files) != 0 {
		t.Errorf("%v holds a redacted text", files)
	}
}

func TestRestoreIntoANewDirectory(t *testing.T) {
	s := serve(t, t.TempDir())
	before := update(t, s, acme, change("a.md", "one"))
	trail, err := s.Trail(t.Context(), acme, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	done, again := restored(t, filepath.Join(t.TempDir(), "new", "data"), backedUp(t, s))
	head, err := again.Head(t.Context(), acme)
	if err != nil || head.Version != 1 || head.Checksum != before.Checksum || head.Epoch == before.Epoch || head.Epoch != done.Epoch {
		t.Errorf("head %+v, %v, done %+v", head, err, done)
	}
	if rows, err := again.Trail(t.Context(), acme, 0, 0); err != nil || len(rows) != 1 || rows[0].Hash != trail[0].Hash {
		t.Errorf("chain %+v, %v", rows, err)
	}
	rows, err := again.Trail(t.Context(), api.Repo{}, 0, 0)
	if err != nil || len(rows) != 1 || rows[0].Action != store.ActionServerChange || rows[0].Actor.Token != "operator" {
		t.Errorf("the server's chain %+v, %v", rows, err)
	}
	if done.Kept != "" || done.Unread != nil || done.Replayed != (sqlitestore.Replayed{}) {
		t.Errorf("done %+v", done)
	}
}

// TestRestoreRepeatsWhatWasDone: after the backup a text was redacted and
// replaced, one redacted and retired, a key retired, one created and retired, a
// person erased, a token revoked, a repo renamed and one created.
func TestRestoreRepeatsWhatWasDone(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	ctx := t.Context()
	by := func(person string, c store.Change) store.Change { c.Actor = api.Actor{Person: person}; return c }
	for _, c := range []store.Change{
		by("ada", change("replaced.md", mark+"1")), change("redacted.md", mark+"2"), change("retired.md", "three"), change("kept.md", "four"), change("later.md", "five"),
	} {
		update(t, s, acme, c)
	}
	if err := errors.Join(
		s.AddToken(ctx, store.Token{ID: "lost", Role: api.Reader, Hash: api.SumString("lost")}),
		s.AddToken(ctx, store.Token{ID: "kept", Role: api.Reader, Hash: api.SumString("kept")}),
		s.AddJoinCode(ctx, store.JoinCode{Hash: api.SumString("code"), Repo: acme, Role: api.Writer, ExpiresAt: time.Now().Add(time.Hour)}),
	); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Bind(ctx, mustRepo("acme/old"), "github.com#1"); err != nil {
		t.Fatal(err)
	}
	update(t, s, mustRepo("acme/old"), change("a.md", mark+"2"))
	backup := backedUp(t, s)

	replacing := change("replaced.md", "clean")
	replacing.Redact = []api.Checksum{api.SumString(mark + "1"), api.SumString(mark + "2")}
	replacing.Retire = []api.Key{mustKey("redacted.md"), mustKey("retired.md")}
	update(t, s, acme, replacing)
	update(t, s, acme, change("new.md", "six"))
	update(t, s, acme, store.Change{At: time.Now(), Retire: []api.Key{mustKey("new.md")}})
	update(t, s, acme, change("later.md", "seven")) // is lost: it is no retirement
	update(t, s, mustRepo("acme/fresh"), store.Change{At: time.Now(), Redact: []api.Checksum{api.SumString("x")}})
	if _, err := s.Bind(ctx, mustRepo("acme/renamed"), "github.com#1"); err != nil {
		t.Fatal(err)
	}
	update(t, s, mustRepo("acme/renamed"), store.Change{At: time.Now(), Retire: []api.Key{mustKey("a.md")}})
	if err := s.RevokeToken(ctx, "lost", time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Erase(ctx, func(a api.Actor) bool { return a.Person == "ada" }, api.Actor{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Scrub(ctx), s.Close()); err != nil {
		t.Fatal(err)
	}

	done, s := restored(t, dir, backup)
	if want := (sqlitestore.Replayed{Redactions: 3, Retirements: 4, Erasures: 1, Revocations: 1}); done.Replayed != want || done.Unread != nil {
		t.Errorf("done %+v, want %+v", done, want)
	}
	head, err := s.Head(ctx, acme)
	if err != nil {
		t.Fatal(err)
	}
	var live, dead []string
	for _, item := range head.Items {
		live = append(live, item.Key.String())
	}
	for _, tomb := range head.Tombs {
		dead = append(dead, tomb.Key.String())
	}
	if got := fmt.Sprint(live, dead); got != "[kept.md later.md replaced.md] [new.md redacted.md retired.md]" {
		t.Errorf("head %s", got)
	}
	if item, _ := head.Item(mustKey("replaced.md")); item.Sum != api.SumString("clean") {
		t.Error("a redacted text was not replaced by what took its place")
	}
	wantRenamed(t, s)
	wantForgotten(t, s)
	if files := findBytes(t, dir, mark+"1"); len(files) != 0 {
		t.Errorf("%v hold a redacted text", files)
	}
	if !strings.HasSuffix(done.Kept, "teammemd.db.before-restore-1") {
		t.Errorf("kept as %q", done.Kept)
	}
	if _, err := os.Stat(done.Kept); err != nil {
		t.Error(err)
	}
}

func wantRenamed(t *testing.T, s *sqlitestore.Store) {
	t.Helper()
	if head, err := s.Head(t.Context(), mustRepo("acme/renamed")); err != nil || len(head.Items) != 0 || len(head.Tombs) != 1 {
		t.Errorf("the renamed repo: %+v, %v", head, err)
	}
	if name, err := s.Resolve(t.Context(), mustRepo("acme/old")); err != nil || name != mustRepo("acme/renamed") {
		t.Errorf("the old name stands for %q, %v", name, err)
	}
	if head, err := s.Head(t.Context(), mustRepo("acme/fresh")); err != nil || len(head.Redacted) != 1 {
		t.Errorf("the repo that is younger than the backup: %+v, %v", head, err)
	}
}

// wantForgotten checks that the person has no name, one token is dead and the
// join code is gone.
func wantForgotten(t *testing.T, s *sqlitestore.Store) {
	t.Helper()
	rows, err := s.Trail(t.Context(), acme, 0, 1)
	if err != nil || rows[0].Actor != (api.Actor{}) {
		t.Errorf("the erased person: %+v, %v", rows, err)
	}
	for id, live := range map[string]bool{"lost": false, "kept": true} {
		if token, err := s.TokenByHash(t.Context(), api.SumString(id)); err != nil || token.RevokedAt.IsZero() != live {
			t.Errorf("token %+v, %v", token, err)
		}
	}
	mint := func(store.JoinCode) (store.Token, error) { return store.Token{}, errRefused }
	if err := s.RedeemJoinCode(t.Context(), api.SumString("code"), time.Now(), 5, mint); !errors.Is(err, store.ErrNoCredential) {
		t.Errorf("the join code: %v", err)
	}
}

func signIn(t *testing.T, s *sqlitestore.Store, id string) {
	t.Helper()
	now := time.Now()
	_, saved := s.SaveUser(t.Context(), store.User{ID: id, Issuer: "local", Subject: id, CreatedAt: now, SeenAt: now})
	err := errors.Join(saved, s.AddFamily(t.Context(), store.Issue{
		Family:  store.Family{ID: "f-" + id, User: id, Client: "c", Generation: 1, CreatedAt: now, RotatedAt: now, ExpiresAt: now.Add(time.Hour)},
		Refresh: api.SumString("refresh " + id),
		Access:  store.Token{ID: "a-" + id, Hash: api.SumString("access " + id), CreatedAt: now, ExpiresAt: now.Add(time.Hour)},
	}))
	if err != nil {
		t.Fatal(err)
	}
}

// wantSignIns checks who has an account and whose access token lives.
func wantSignIns(t *testing.T, s *sqlitestore.Store, users string, live map[string]bool) {
	t.Helper()
	all, err := s.Users(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, u := range all {
		ids = append(ids, u.ID)
	}
	if got := strings.Join(ids, " "); got != users {
		t.Errorf("users %q, want %q", got, users)
	}
	for id, want := range live {
		token, err := s.TokenByHash(t.Context(), api.SumString("access "+id))
		if got := err == nil && token.RevokedAt.IsZero(); got != want {
			t.Errorf("the sign-in of %s lives: %v, %v; want %v", id, got, err, want)
		}
	}
}

// TestRestoreKeepsSignInsAsTheyAre: one was revoked since the backup, one made,
// and one person dropped.
func TestRestoreKeepsSignInsAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	for _, id := range []string{"ada", "ben", "cy"} {
		signIn(t, s, id)
	}
	backup := backedUp(t, s)
	signIn(t, s, "dee")
	if err := errors.Join(s.RevokeFamily(t.Context(), "f-ben", "lost", time.Now()), s.DropUser(t.Context(), "cy", time.Now()), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, s = restored(t, dir, backup)
	wantSignIns(t, s, "ada ben dee", map[string]bool{"ada": true, "ben": false, "cy": false, "dee": true})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "teammemd.db"), strings.Repeat("garbage ", 1000))
	none := map[string]bool{"ada": false, "ben": false, "cy": false, "dee": false}
	_, s = restored(t, dir, backup)
	wantSignIns(t, s, "ada ben cy", none)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rawDatabase(t, dir, "ALTER TABLE users RENAME TO people")
	done, s := restored(t, dir, backup)
	wantSignIns(t, s, "ada ben cy", none)
	if done.Unread == nil {
		t.Error("nothing is said of what could not be read")
	}
}

// A key that was written after the backup's own retirement stays.
func TestRestoreOfANewerBackup(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	update(t, s, acme, store.Change{At: time.UnixMilli(1000), Retire: []api.Key{mustKey("a.md")}})
	older := backedUp(t, s)
	revived := change("a.md", "back")
	revived.At = time.UnixMilli(2000)
	update(t, s, acme, revived)
	newer := backedUp(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i, backup := range []string{older, newer} {
		done, s := restored(t, dir, backup)
		head, err := s.Head(t.Context(), acme)
		if err != nil || len(head.Items) != i || done.Retirements != 0 {
			t.Errorf("restore %d: %+v, %v, %+v", i, head, err, done)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	source := t.TempDir()
	richStore(t, source)
	s := serve(t, source)
	backup := read(t, backedUp(t, s))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flipped := []byte(backup)
	at := strings.LastIndex(backup, "three")
	flipped[at] ^= 1
	for _, c := range []struct {
		name, content string
		damage        string // SQL
		says          string
	}{
		{"nothing", "", "", "not a backup"},
		{"a text", strings.Repeat("no backup\n", 100), "", "not a backup"},
		{"its beginning", backup[:2000], "", "broken"},
		{"its first half", backup[:len(backup)/2/4096*4096], "", "broken"},
		{"a letter of a content", string(flipped), "", "broken"},
		{"a lost audit row", backup, "DELETE FROM audit WHERE repo = 1 AND number = 3", "audit row 4 follows row 2"},
		{"a newer schema", backup, "PRAGMA user_version = 1000", "newer release"},
		{"another program's", backup, "PRAGMA application_id = 77", "not a backup"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := serve(t, dir)
			before := update(t, s, acme, change("a.md", "mine"))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			elsewhere := t.TempDir()
			path := filepath.Join(elsewhere, "teammemd.db")
			write(t, path, c.content)
			if c.damage != "" {
				rawDatabase(t, elsewhere, c.damage)
			}
			done, err := sqlitestore.Restore(t.Context(), dir, path, api.Actor{}, time.Now())
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "three") {
				t.Errorf("restored %+v, %v; want %q", done, err, c.says)
			}
			names, err := filepath.Glob(filepath.Join(dir, "*restore*"))
			hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
			if err != nil || len(names)+len(hidden) != 0 {
				t.Errorf("%v %v are left, %v", names, hidden, err)
			}
			if head, err := serve(t, dir).Head(t.Context(), acme); err != nil || head.Checksum != before.Checksum || head.Epoch != before.Epoch {
				t.Errorf("head after a refusal: %+v, %v", head, err)
			}
		})
	}
}

func TestRestoreBesideAServer(t *testing.T) {
	t.Parallel() // it waits for a busy database
	dir := t.TempDir()
	s := serve(t, dir)
	update(t, s, acme, change("a.md", "one"))
	backup := backedUp(t, s)
	if _, err := sqlitestore.Restore(t.Context(), dir, backup, api.Actor{}, time.Now()); !errors.Is(err, store.ErrLocked) {
		t.Errorf("error %v, want ErrLocked", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "teammemd.db")
	if _, err := sqlitestore.Restore(t.Context(), dir, own, api.Actor{}, time.Now()); err == nil {
		t.Error("a database was restored from itself")
	}
	// Whoever reads it has the last word about its log.
	release := readOutside(t, dir)
	rawDatabase(t, dir, "UPDATE meta SET value = value + 1 WHERE name = 'credential_generation'")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := sqlitestore.Restore(ctx, dir, backup, api.Actor{}, time.Now()); err == nil {
		t.Error("a database was replaced while its log was being read")
	}
	release()
	restored(t, dir, backup)
}

// TestRestoreOverAnUnreadableDatabase: its bytes are kept, and that nothing could be
// repeated is said.
func TestRestoreOverAnUnreadableDatabase(t *testing.T) {
	source := serve(t, t.TempDir())
	update(t, source, acme, change("a.md", "one"))
	backup := backedUp(t, source)
	dir := t.TempDir()
	for i := 1; i <= 2; i++ {
		garbage := strings.Repeat("garbage ", 1000*i)
		write(t, filepath.Join(dir, "teammemd.db"), garbage)
		done, s := restored(t, dir, backup)
		if done.Unread == nil || done.Kept != filepath.Join(dir, fmt.Sprintf("teammemd.db.before-restore-%d", i)) {
			t.Errorf("done %+v", done)
		}
		if read(t, done.Kept) != garbage {
			t.Error("the old database is not what it was")
		}
		if head, err := s.Head(t.Context(), acme); err != nil || head.Version != 1 {
			t.Errorf("head %+v, %v", head, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
