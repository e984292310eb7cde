package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// writers is how many goroutines write at once.
const writers = 32

var concurrency = map[string]func(*suite){
	"updates of one repo are ordered": func(s *suite) {
		const each = 8
		var mu sync.Mutex
		var seen []uint64 // version that the change built on
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range each {
					var on *store.Head
					head, err := s.store.Update(s.Context(), acme, func(tx store.Tx) (store.Change, error) {
						on = tx.Head()
						return changeOf(put(fmt.Sprintf("%d/%d.md", w, i), fmt.Sprint(w, i))), nil
					})
					if err != nil {
						s.Errorf("writer %d: %v", w, err)
						return
					}
					if head.Version != on.Version+1 || len(head.Items) != len(on.Items)+1 || len(on.Items) != int(on.Version) {
						s.Errorf("built %d (%d items) on %d (%d items)", head.Version, len(head.Items), on.Version, len(on.Items))
					}
					if now := s.head(acme).Version; now < head.Version {
						s.Errorf("read version %d after writing %d", now, head.Version)
					}
					mu.Lock()
					seen = append(seen, on.Version)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		slices.Sort(seen)
		for i, version := range seen {
			if version != uint64(i) {
				s.Fatalf("the %dth change built on version %d", i, version)
			}
		}
		want := s.head(acme)
		if want.Version != writers*each {
			s.Errorf("version %d, want %d", want.Version, writers*each)
		}
		s.reopen()
		s.wantEqual("head after reopening", s.head(acme), want)
	},
	"writers of many repos do not disturb each other": func(s *suite) {
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				own := repo(fmt.Sprintf("acme/repo-%d", w%8))
				for i := range 8 {
					_, err := s.store.Update(s.Context(), own, func(store.Tx) (store.Change, error) {
						if i == 3 {
							return store.Change{}, errRefused
						}
						return changeOf(put(fmt.Sprintf("%d.md", w), strconv.Itoa(i))), nil
					})
					if (err != nil) != (i == 3) || (i == 3 && !errors.Is(err, errRefused)) {
						s.Errorf("writer %d, change %d: %v", w, i, err)
					}
				}
			})
		}
		all.Wait()
		for n := range 8 {
			head := s.head(repo(fmt.Sprintf("acme/repo-%d", n)))
			if head.Version != 7*writers/8 || len(head.Items) != writers/8 {
				s.Errorf("repo %d: version %d with %d items", n, head.Version, len(head.Items))
			}
		}
	},
	"reads see whole changes, and never go back": func(s *suite) {
		const changes = 60
		var returned atomic.Uint64
		var all sync.WaitGroup
		done := make(chan struct{})
		s.apply(acme, put("a.md", "0"), put("b.md", "0"))
		returned.Store(1)
		for range 4 {
			all.Go(func() {
				last := uint64(0)
				for {
					least := max(last, returned.Load())
					head := s.head(acme)
					a, _ := head.Item(key("a.md"))
					b, _ := head.Item(key("b.md"))
					if a.Sum != b.Sum || head.Version < least {
						s.Errorf("version %d (at least %d expected) with %v and %v", head.Version, least, a.Sum, b.Sum)
						return
					}
					bodies, err := s.store.Bodies(s.Context(), acme, []api.Checksum{a.Sum})
					if err != nil || len(bodies) != 1 {
						s.Errorf("body of version %d: %d found, %v", head.Version, len(bodies), err)
						return
					}
					last = head.Version
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		for i := range changes {
			content := strconv.Itoa(i)
			returned.Store(s.apply(acme, put("a.md", content), put("b.md", content)).Version)
		}
		close(done)
		all.Wait()
	},
	"a context that ends while the update waits": func(s *suite) {
		s.apply(acme, put("a.md", "one"))
		release, first := s.occupy(put("a.md", "two"))
		ctx, cancel := context.WithCancel(s.Context())
		second := make(chan error, 1)
		go func() {
			_, err := s.store.Update(ctx, acme, func(store.Tx) (store.Change, error) {
				s.Error("decide was called after its context ended")
				return store.Change{}, nil
			})
			second <- err
		}()
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) { // while the first still holds the repo
			s.Errorf("error %v, want context.Canceled", err)
		}
		release()
		if err := <-first; err != nil {
			s.Errorf("the update that was under way: %v", err)
		}
		if got := s.head(acme).Version; got != 2 {
			s.Errorf("version %d, want 2", got)
		}
	},
}

var lifecycle = map[string]func(*suite){
	"closing ends the updates that wait": func(s *suite) {
		release, first := s.occupy(put("first.md", "one"))
		var all sync.WaitGroup
		var mu sync.Mutex
		var written []api.Key
		for w := range writers {
			all.Go(func() {
				name := fmt.Sprintf("%d.md", w)
				if _, err := s.store.Update(context.Background(), acme, deciding(changeOf(put(name, "two")))); err == nil {
					mu.Lock()
					defer mu.Unlock()
					written = append(written, key(name))
				}
			})
		}
		closed := make(chan error, 1)
		go func() { closed <- s.store.Close() }()
		release()
		if err := <-closed; err != nil {
			s.Errorf("closing: %v", err)
		}
		all.Wait()
		if err := <-first; err == nil {
			written = append(written, key("first.md"))
		}
		gone := s.store
		s.store = nil
		if _, err := gone.Update(s.Context(), acme, deciding(changeOf(put("late.md", "x")))); err == nil {
			s.Error("an update after Close succeeded")
		}
		if _, err := gone.Head(s.Context(), acme); err == nil {
			s.Error("a head after Close")
		}
		if _, err := gone.Tokens(s.Context()); err == nil {
			s.Error("tokens after Close")
		}
		if err := gone.AddToken(s.Context(), token("late")); err == nil {
			s.Error("a token was added after Close")
		}
		s.open()
		for _, k := range written {
			if _, ok := s.head(acme).Item(k); !ok {
				s.Errorf("%q was acknowledged and is not there", k)
			}
		}
	},
	"the epoch is the store's own": func(s *suite) {
		head := s.apply(acme, put("a.md", "one"))
		if head.Epoch == "" || head.Epoch != s.apply(other, put("a.md", "one")).Epoch {
			s.Errorf("epoch %q differs between repos", head.Epoch)
		}
		s.reopen()
		if got := s.head(acme).Epoch; got != head.Epoch {
			s.Errorf("epoch %q after reopening, was %q", got, head.Epoch)
		}
	},
	"a store behaves like its model": checkModel,
}

// occupy begins an update that nothing else of the repo can pass until release is
// called. Its error comes then.
func (s *suite) occupy(edits ...edit) (release func(), done <-chan error) {
	s.Helper()
	begun, released := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		var once sync.Once
		_, err := s.store.Update(context.WithoutCancel(s.Context()), acme, func(store.Tx) (store.Change, error) {
			once.Do(func() { close(begun) })
			<-released
			return changeOf(edits...), nil
		})
		ended <- err
	}()
	<-begun
	return func() { close(released) }, ended
}
