package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// hold keeps the writer busy until release is called.
func hold(t *testing.T, s *sqlitestore.Store) (release func() error) {
	t.Helper()
	begun, gate, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := s.Update(context.Background(), mustRepo("acme/holder"), func(store.Tx) (store.Change, error) {
			close(begun)
			<-gate
			return store.Change{}, nil
		})
		ended <- err
	}()
	<-begun
	return func() error {
		close(gate)
		return <-ended
	}
}

func waitForQueue(s *sqlitestore.Store, n int) {
	for s.QueueLength() < n {
		runtime.Gosched()
	}
}

func TestNobodyIsStrandedBeyondOneGroup(t *testing.T) {
	const callers = 2*sqlitestore.MaxGroup + 17
	s := serve(t, t.TempDir())
	release := hold(t, s)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			if _, err := s.Update(t.Context(), mustRepo(fmt.Sprintf("acme/r%d", i%5)), putting(fmt.Sprintf("%d.md", i), "x")); err != nil {
				t.Errorf("updating: %v", err)
			}
		})
	}
	waitForQueue(s, callers)
	if err := release(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	total := 0
	for i := range 5 {
		head, err := s.Head(t.Context(), mustRepo(fmt.Sprintf("acme/r%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		total += len(head.Items)
	}
	if total != callers {
		t.Errorf("%d entries, want %d", total, callers)
	}
}

// Several updates share one transaction; one that the database refuses must not
// fail the others, nor leave them a head that was rolled back.
func TestOneUpdateOfAGroupCannotFailTheOthers(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	rawDatabase(t, dir, "CREATE TRIGGER refuse BEFORE INSERT ON entries WHEN NEW.key = 'poison.md' BEGIN SELECT RAISE(ABORT, 'refused'); END")
	release := hold(t, s)
	twice := change("same.md", "1")
	twice.Puts = append(twice.Puts, twice.Puts...)
	poison := change("poison.md", "1")
	poison.Actor = api.Actor{Person: "who first comes with a change that is refused"}
	kinds := []struct {
		name   string
		decide func(store.Tx) (store.Change, error)
		fails  bool
	}{
		{"good", putting("good.md", "1"), false},
		{"refused", func(tx store.Tx) (store.Change, error) { return store.Change{}, errRefused }, true},
		{"a key twice", func(store.Tx) (store.Change, error) { return twice, nil }, true},
		{"one that the database refuses", func(store.Tx) (store.Change, error) { return poison, nil }, true},
		{"no key", func(store.Tx) (store.Change, error) { return store.Change{Retire: []api.Key{{}}}, nil }, true},
		{"panic", func(store.Tx) (store.Change, error) { panic("x") }, true},
		{"another good one", putting("better.md", "2"), false},
	}
	heads := make([]*store.Head, 3*len(kinds))
	var all sync.WaitGroup
	for i := range heads {
		kind := kinds[i%len(kinds)]
		all.Go(func() {
			head, err := s.Update(t.Context(), acme, kind.decide)
			if (err != nil) != kind.fails {
				t.Errorf("%s: error %v", kind.name, err)
			}
			heads[i] = head
		})
		waitForQueue(s, i+1)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	defer func() { // the refused actor is entered now
		after := change("after.md", "1")
		after.Actor = poison.Actor
		update(t, s, acme, after)
		wantSound(t, dir)
	}()
	versions, err := s.History(t.Context(), acme, api.Key{}, 0)
	if err != nil || len(versions) != 6 {
		t.Errorf("%d versions, %v; want 6", len(versions), err)
	}
	for i, head := range heads {
		if head == nil {
			continue
		}
		for _, item := range head.Items {
			if item.Version > 6 || item.Key == mustKey("same.md") {
				t.Errorf("update %d returned a head with %+v", i, item)
			}
		}
	}
	wantSound(t, dir)
}

var errRefused = errors.New("refused by the test")

func TestADecideThatEndsItsGoroutine(t *testing.T) {
	s := serve(t, t.TempDir())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = s.Update(context.Background(), acme, func(store.Tx) (store.Change, error) { runtime.Goexit(); return store.Change{}, nil })
	}()
	<-gone
	head, err := s.Update(t.Context(), acme, putting("a.md", "one"))
	if err != nil || head.Version != 1 {
		t.Errorf("the next update: %+v, %v", head, err)
	}
}

// A decide that ends the goroutine which leads a group (a test's Fatal does)
// takes nobody with it.
func TestALeaderThatEndsAnswersItsGroup(t *testing.T) {
	s := serve(t, t.TempDir())
	release := hold(t, s)
	var all sync.WaitGroup
	var answered atomic.Int64
	for i := range 9 {
		all.Go(func() {
			_, _ = s.Update(context.Background(), acme, func(store.Tx) (store.Change, error) {
				if i == 4 {
					runtime.Goexit()
				}
				return change(fmt.Sprintf("%d.md", i), "x"), nil
			})
			answered.Add(1)
		})
		waitForQueue(s, i+1)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if got := answered.Load(); got != 8 {
		t.Errorf("%d calls returned, want all but the one that led", got)
	}
	if _, err := s.Update(t.Context(), acme, putting("after.md", "x")); err != nil {
		t.Errorf("the next update: %v", err)
	}
}

func TestAWithdrawnUpdateLeavesTheQueue(t *testing.T) {
	s := serve(t, t.TempDir())
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if _, err := s.Update(ctx, acme, putting("a.md", "x")); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want context.Canceled", err)
			}
		})
	}
	waitForQueue(s, 10)
	cancel()
	all.Wait() // while the writer is still held
	if got := s.QueueLength(); got != 0 {
		t.Errorf("%d updates are still in the queue", got)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Head(t.Context(), acme); !errors.Is(err, store.ErrNoRepo) {
		t.Errorf("head: %v, want ErrNoRepo", err)
	}
}

func TestARepoMustBeNamed(t *testing.T) {
	s := serve(t, t.TempDir())
	if _, err := s.Update(t.Context(), api.Repo{}, putting("a.md", "x")); err == nil {
		t.Error("a repo without a name was written")
	}
}

// Another process that holds the database's write lock makes writes fail after
// the busy timeout, all at once and not one by one, and nothing else.
func TestBusy(t *testing.T) {
	dir := t.TempDir()
	s := open(t, sqlitestore.Options{Dir: dir, Serve: true, BusyTimeout: 100 * time.Millisecond})
	if _, err := s.Update(t.Context(), acme, putting("a.md", "one")); err != nil {
		t.Fatal(err)
	}
	unlock := lockOutside(t, dir)
	begun := time.Now()
	var all sync.WaitGroup
	const writers = 100
	for range writers {
		all.Go(func() {
			_, err := s.Update(t.Context(), acme, putting("late.md", "x"))
			if err == nil || !strings.Contains(err.Error(), "acme/api") || sqlite.ErrCode(errors.Unwrap(err)).ToPrimary() != sqlite.ResultBusy {
				t.Errorf("an update beside a held lock: %v", err)
			}
		})
	}
	if _, err := s.Head(t.Context(), acme); err != nil {
		t.Errorf("reading beside a held lock: %v", err)
	}
	all.Wait()
	if took := time.Since(begun); took > writers*100*time.Millisecond {
		t.Errorf("they waited one after another: %v", took)
	}
	unlock()
	if head, err := s.Update(t.Context(), acme, putting("b.md", "x")); err != nil || head.Version != 2 {
		t.Errorf("after the lock: %+v, %v", head, err)
	}
	wantSound(t, dir)
}
