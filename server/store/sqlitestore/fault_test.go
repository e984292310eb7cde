package sqlitestore_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// TestDatabaseErrorFailsTheGroup lets the database refuse one write of a group,
// with and without rolling back by itself, as it does when the disk is full.
func TestDatabaseErrorFailsTheGroup(t *testing.T) {
	refused := errors.New("refused")
	for _, how := range []string{"ABORT", "ROLLBACK"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, true)
			before := update(t, s, "acme/api", "a.md", "1")
			sql(t, dir, `CREATE TRIGGER poison BEFORE INSERT ON entries WHEN NEW.key = 'poison.md'
				BEGIN SELECT RAISE(`+how+`, 'injected'); END`)
			put := func(pairs ...string) func() error {
				return func() error {
					_, err := s.Update(t.Context(), repoOf(t, "acme/api"), always(puts(t, pairs...)))
					return err
				}
			}
			errs := group(t, s, put("b.md", "2"), func() error {
				_, err := s.Update(t.Context(), repoOf(t, "acme/api"), func(tx store.Tx) (store.Change, error) {
					if tx.Head().Version != 2 {
						t.Errorf("this is no group: decide got version %d", tx.Head().Version)
					}
					return store.Change{}, refused
				})
				return err
			}, put("c.md", "3", "poison.md", "4", "d.md", "5"), put("e.md", "6"))
			for i, err := range errs[:3] {
				if err == nil || errors.Is(err, refused) || !strings.Contains(err.Error(), "injected") {
					t.Errorf("update %d: %v", i, err)
				}
			}
			if errs[3] != nil {
				t.Errorf("the update after the group: %v", errs[3])
			}
			head := headOf(t, s, "acme/api")
			if head.Version != before.Version+1 || len(head.Items) != 2 {
				t.Errorf("version %d with %d items", head.Version, len(head.Items))
			}
			bodies, err := s.Bodies(t.Context(), repoOf(t, "acme/api"), []api.Checksum{api.SumString("2"), api.SumString("3"), api.SumString("5")})
			if err != nil || len(bodies) != 0 {
				t.Errorf("half a group is stored: %v, %v", bodies, err)
			}
			update(t, s, "acme/api", "b.md", "2")
		})
	}
}

// TestDamagedRowsConcernTheirRepo spoils the rows of one of two repos.
func TestDamagedRowsConcernTheirRepo(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, true)
	update(t, s, "acme/bad", "a.md", "1")
	update(t, s, "acme/good", "a.md", "1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []string{
		"UPDATE entries SET key = '../up.md' WHERE repo = 1",
		"UPDATE entries SET key = 'a.md', sum = x'00' WHERE repo = 1",
	} {
		sql(t, dir, damage)
		s = open(t, dir, true)
		to := func(repo string) func() error {
			return func() error {
				_, err := s.Update(t.Context(), repoOf(t, repo), always(puts(t, "b.md", "2")))
				return err
			}
		}
		errs := group(t, s, to("acme/good"), to("acme/bad"), to("acme/good"))
		if errs[0] != nil || errs[2] != nil {
			t.Errorf("the sound repo: %v, %v", errs[0], errs[2])
		}
		if errs[1] == nil || !strings.Contains(errs[1].Error(), "damaged") || !strings.Contains(errs[1].Error(), "acme/bad") {
			t.Errorf("the damaged repo: %v", errs[1])
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, true)
	before := update(t, s, "acme/api", "a.md", "1")
	if err := s.LimitPages(60); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("0123456789abcdef", 1<<14)
	for range 3 {
		_, err := s.Update(t.Context(), repoOf(t, "acme/api"), always(puts(t, "b.md", "2", "large.md", large, "c.md", "3")))
		if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("Update: %v", err)
		}
	}
	if head := headOf(t, s, "acme/api"); head.Checksum != before.Checksum || head.Version != before.Version {
		t.Errorf("the refused write left version %d", head.Version)
	}
	update(t, s, "acme/api", "a.md", "small things still fit")
	if err := s.LimitPages(0); err != nil {
		t.Fatal(err)
	}
	head := update(t, s, "acme/api", "large.md", large)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	checkIntegrity(t, dir)
	if again := headOf(t, open(t, dir, true), "acme/api"); again.Checksum != head.Checksum || again.Version != 3 {
		t.Errorf("version %d after reopening", again.Version)
	}
}

// TestHeadNeedsNoDatabase takes the tables away: heads that were loaded stay.
func TestHeadNeedsNoDatabase(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, true)
	update(t, s, "acme/api", "a.md", "1")
	update(t, s, "acme/web", "a.md", "1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, true)
	want := headOf(t, s, "acme/api")
	sql(t, dir, "ALTER TABLE repos RENAME TO gone")
	if got := headOf(t, s, "acme/api"); got != want {
		t.Error("a loaded head was read again")
	}
	if _, err := s.Head(t.Context(), repoOf(t, "acme/web")); err == nil {
		t.Error("a head that was never loaded came from nowhere")
	}
	sql(t, dir, "ALTER TABLE gone RENAME TO repos")
	headOf(t, s, "acme/web")
}

// TestWaitsForAnotherWriter has another process in the middle of a write.
func TestWaitsForAnotherWriter(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, true)
	other := connect(t, dir)
	defer other.Close()
	if err := sqlitex.ExecuteTransient(other, "BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.Update(t.Context(), repoOf(t, "acme/api"), always(puts(t, "a.md", "1")))
		done <- err
	}()
	for range 1000 {
		runtime.Gosched()
	}
	select {
	case err := <-done:
		t.Errorf("Update did not wait: %v", err)
		done <- nil
	default:
	}
	if err := sqlitex.ExecuteTransient(other, "ROLLBACK", nil); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestDecideEndsItsGoroutine is what a failing test does inside decide.
func TestDecideEndsItsGoroutine(t *testing.T) {
	s := open(t, t.TempDir(), true)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = s.Update(t.Context(), repoOf(t, "acme/api"), func(store.Tx) (store.Change, error) {
			runtime.Goexit()
			return store.Change{}, nil
		})
	}()
	<-gone
	if head := update(t, s, "acme/api", "a.md", "1"); head.Version != 1 {
		t.Errorf("version %d", head.Version)
	}
}

// TestGroupIsBounded queues more than a transaction takes.
func TestGroupIsBounded(t *testing.T) {
	s := open(t, t.TempDir(), true)
	large := strings.Repeat("x", 1<<20)
	updates := make([]func() error, 300)
	for i := range updates {
		content := large[:1+i%3] // most are small
		if i%20 == 0 {
			content = large[:len(large)-i]
		}
		updates[i] = func() error {
			_, err := s.Update(t.Context(), repoOf(t, "acme/api"), always(puts(t, "a.md", content)))
			return err
		}
	}
	for i, err := range group(t, s, updates...) {
		if err != nil {
			t.Errorf("update %d: %v", i, err)
		}
	}
	if head := headOf(t, s, "acme/api"); head.Version != 300 {
		t.Errorf("version %d", head.Version)
	}
}
