package storetest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// crash returns a store on what a crash at this moment would leave.
func (s *suite) crash() store.Backend {
	s.Helper()
	if s.harness.Crash == nil {
		s.Skip("the harness has no way to crash")
	}
	left, err := s.harness.Crash()
	if err != nil {
		s.Fatalf("opening after a crash: %v", err)
	}
	s.wantSound(left)
	s.Cleanup(func() {
		if err := left.Close(); err != nil {
			s.Errorf("closing the store of a crash: %v", err)
		}
	})
	return left
}

// contentsOf returns what is live in b, as text.
func (s *suite) contentsOf(b store.Store, r api.Repo) map[string]string {
	s.Helper()
	head, err := b.Head(s.Context(), r)
	if err != nil {
		s.Fatalf("head of %q: %v", r, err)
	}
	sums := make([]api.Checksum, len(head.Items))
	for i, item := range head.Items {
		sums[i] = item.Sum
	}
	bodies, err := b.Bodies(s.Context(), r, sums)
	if err != nil {
		s.Fatalf("bodies of %q: %v", r, err)
	}
	live := make(map[string]string, len(head.Items))
	for _, item := range head.Items {
		body, ok := bodies[item.Sum]
		if !ok || api.SumString(body) != item.Sum {
			s.Errorf("the body of %q is missing or not what was put", item.Key)
		}
		live[item.Key.String()] = body
	}
	return live
}

var crashes = map[string]func(*suite){
	"all that was acknowledged is there after a crash": func(s *suite) {
		s.apply(acme, put("a.md", "one"), put("b.md", "two"))
		head := s.apply(acme, put("a.md", "three"), retire("b.md"))
		want := s.history(acme, api.Key{}, 0)
		s.addToken(token("kept"))
		left := s.crash()
		got, err := left.Head(s.Context(), acme)
		if err != nil {
			s.Fatal(err)
		}
		s.wantEqual("head", got, head)
		s.wantEqual("contents", s.contentsOf(left, acme), map[string]string{"a.md": "three"})
		history, err := left.History(s.Context(), acme, api.Key{}, 0)
		if err != nil {
			s.Fatal(err)
		}
		s.wantEqual("history", history, want)
		if _, err := left.TokenByHash(s.Context(), token("kept").Hash); err != nil {
			s.Errorf("the token: %v", err)
		}
	},
	"a crash among writes leaves whole changes": func(s *suite) {
		ctx, stop := context.WithCancel(s.Context())
		defer stop()
		const writers = 4
		var acknowledged atomic.Uint64
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					text := fmt.Sprintf("%d of %d", i, w)
					c := changeOf(put(fmt.Sprintf("%d-left.md", w), text), put(fmt.Sprintf("%d-right.md", w), text))
					head, err := s.store.Update(context.WithoutCancel(ctx), acme, deciding(c))
					if err != nil {
						s.Errorf("updating: %v", err)
						stop()
						return
					}
					for old := acknowledged.Load(); old < head.Version && !acknowledged.CompareAndSwap(old, head.Version); {
						old = acknowledged.Load()
					}
				}
			})
		}
		defer all.Wait()
		defer stop()
		for round := range uint64(4) {
			for acknowledged.Load() < 25*(round+1) && ctx.Err() == nil {
				runtime.Gosched()
			}
			before := acknowledged.Load()
			left := s.crash()
			head, err := left.Head(s.Context(), acme)
			if err != nil {
				s.Fatal(err)
			}
			if head.Version < before {
				s.Errorf("version %d was acknowledged, %d is there", before, head.Version)
			}
			live := s.contentsOf(left, acme)
			for w := range writers {
				if l, r := live[fmt.Sprintf("%d-left.md", w)], live[fmt.Sprintf("%d-right.md", w)]; l != r {
					s.Errorf("half a change is there: %q and %q", l, r)
				}
			}
			if _, err := left.Update(s.Context(), acme, deciding(changeOf(put("after.md", "on")))); err != nil {
				s.Errorf("writing after a crash: %v", err)
			}
		}
	},
}
