package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/teammem/teammemd/server/store"
)

// loaded returns a head with so many rows, its own included.
func loaded(version uint64, rows int) store.Loaded {
	return store.Loaded{Head: &store.Head{Version: version, Items: make([]store.Item, rows-1)}, ID: 1}
}

// reading returns a read that counts and answers l.
func reading(count *atomic.Int32, l store.Loaded, err error) func(context.Context) (store.Loaded, error) {
	return func(context.Context) (store.Loaded, error) {
		count.Add(1)
		return l, err
	}
}

func TestCacheReadsOnce(t *testing.T) {
	c, repo := store.NewCache(10), repoOf(t, "acme/api")
	var reads atomic.Int32
	for range 3 {
		l, err := c.Load(t.Context(), repo, reading(&reads, loaded(4, 2), nil))
		if err != nil || l.Head.Version != 4 || l.ID != 1 {
			t.Errorf("%+v, %v", l, err)
		}
	}
	if reads.Load() != 1 {
		t.Errorf("%d reads", reads.Load())
	}
	c.Put(repo, loaded(5, 2))
	if l, ok := c.Get(repo); !ok || l.Head.Version != 5 {
		t.Errorf("after Put: %+v, %v", l, ok)
	}
	c.Drop(repo)
	if _, ok := c.Get(repo); ok {
		t.Error("a dropped head is there")
	}
}

func TestCacheKeepsNoErrors(t *testing.T) {
	c, repo := store.NewCache(10), repoOf(t, "acme/api")
	var reads atomic.Int32
	broken := errors.New("broken")
	for range 2 {
		if _, err := c.Load(t.Context(), repo, reading(&reads, store.Loaded{}, broken)); !errors.Is(err, broken) {
			t.Errorf("Load: %v", err)
		}
	}
	if reads.Load() != 2 {
		t.Errorf("%d reads", reads.Load())
	}
}

func TestCacheDropsTheLeastRecentlyUsed(t *testing.T) {
	c := store.NewCache(9)
	name := func(i int) string { return fmt.Sprintf("acme/r%d", i) }
	for i := range 3 {
		c.Put(repoOf(t, name(i)), loaded(1, 3))
	}
	c.Get(repoOf(t, name(0)))
	c.Put(repoOf(t, name(3)), loaded(1, 4)) // one too many even without the oldest
	for i, want := range []bool{true, false, false, true} {
		if _, ok := c.Get(repoOf(t, name(i))); ok != want {
			t.Errorf("%s: %v", name(i), ok)
		}
	}
	c.Put(repoOf(t, name(4)), loaded(1, 100))
	for i, want := range []bool{false, false, false, false, true} {
		if _, ok := c.Get(repoOf(t, name(i))); ok != want {
			t.Errorf("beside a head beyond the bound, %s: %v", name(i), ok)
		}
	}
	c.Put(repoOf(t, name(4)), loaded(2, 1)) // it shrank: there is room again
	c.Put(repoOf(t, name(5)), loaded(1, 8))
	for _, i := range []int{4, 5} {
		if _, ok := c.Get(repoOf(t, name(i))); !ok {
			t.Errorf("%s is gone although there is room", name(i))
		}
	}
}

// slowRead is a read that stands until it is told what it found.
type slowRead struct {
	begun  chan struct{}
	answer chan store.Loaded
}

func (s slowRead) read(ctx context.Context) (store.Loaded, error) {
	s.begun <- struct{}{}
	select {
	case l := <-s.answer:
		return l, nil
	case <-ctx.Done():
		return store.Loaded{}, ctx.Err()
	}
}

// TestCacheForgetsAnOvertakenRead: what was read before a write and finished
// after it is never kept, even when the write's own head has gone.
func TestCacheForgetsAnOvertakenRead(t *testing.T) {
	repo, other := repoOf(t, "acme/api"), repoOf(t, "acme/web")
	for name, overtake := range map[string]func(*store.Cache){
		"put":         func(c *store.Cache) { c.Put(repo, loaded(2, 1)) },
		"drop":        func(c *store.Cache) { c.Drop(repo) },
		"put, evict":  func(c *store.Cache) { c.Put(repo, loaded(2, 1)); c.Put(other, loaded(1, 100)) },
		"put, put":    func(c *store.Cache) { c.Put(repo, loaded(2, 1)); c.Put(repo, loaded(3, 1)) },
		"evict alone": func(c *store.Cache) { c.Drop(repo); c.Put(other, loaded(1, 100)) },
	} {
		t.Run(name, func(t *testing.T) {
			c := store.NewCache(5)
			slow := slowRead{make(chan struct{}), make(chan store.Loaded)}
			done := make(chan struct{})
			go func() {
				defer close(done)
				if l, err := c.Load(t.Context(), repo, slow.read); err != nil || l.Head.Version != 1 {
					t.Errorf("the slow read answered %+v, %v", l, err)
				}
			}()
			<-slow.begun
			overtake(c)
			slow.answer <- loaded(1, 1)
			<-done
			if l, ok := c.Get(repo); ok && l.Head.Version == 1 {
				t.Error("an old head was kept")
			}
			var reads atomic.Int32
			if l, err := c.Load(t.Context(), repo, reading(&reads, loaded(9, 1), nil)); err != nil || l.Head.Version == 1 {
				t.Errorf("an old head was answered: %+v, %v", l, err)
			}
		})
	}
}

func TestCacheSharesReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, repo := store.NewCache(10), repoOf(t, "acme/api")
		slow := slowRead{make(chan struct{}, 10), make(chan store.Loaded)}
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { _, err := c.Load(ctx, repo, slow.read); first <- err }()
		synctest.Wait()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if l, err := c.Load(t.Context(), repo, slow.read); err != nil || l.Head.Version != 7 {
					t.Errorf("%+v, %v", l, err)
				}
			})
		}
		gone, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { _, err := c.Load(gone, repo, slow.read); left <- err }()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("one who waits and leaves: %v", err)
		}
		if len(slow.begun) != 1 {
			t.Errorf("%d reads at once", len(slow.begun))
		}
		// The first one's context ends: another reads in its place.
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the first: %v", err)
		}
		slow.answer <- loaded(7, 1)
		wg.Wait()
		if len(slow.begun) != 2 {
			t.Errorf("%d reads after the first gave up", len(slow.begun))
		}
	})
}

func TestCacheSurvivesAPanickingRead(t *testing.T) {
	c, repo := store.NewCache(10), repoOf(t, "acme/api")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = c.Load(t.Context(), repo, func(context.Context) (store.Loaded, error) { panic("bug") })
	}()
	var reads atomic.Int32
	if l, err := c.Load(t.Context(), repo, reading(&reads, loaded(1, 1), nil)); err != nil || l.Head.Version != 1 {
		t.Errorf("after a panic: %+v, %v", l, err)
	}
}
