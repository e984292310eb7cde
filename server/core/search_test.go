package core_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

// watched is a store that counts the contents that are read, and can hold reading
// back.
type watched struct {
	store.Store
	read  atomic.Int64  // contents asked for
	begun chan struct{} // nil, or told of each reading of contents
	goOn  chan struct{} // nil, or awaited by each
	fail  atomic.Bool
}

func (w *watched) Bodies(ctx context.Context, repo api.Repo, sums []api.Checksum) (map[api.Checksum]string, error) {
	w.read.Add(int64(len(sums)))
	if w.begun != nil {
		w.begun <- struct{}{}
		<-w.goOn
	}
	if w.fail.Load() {
		return nil, errors.New("the disk is gone")
	}
	return w.Store.Bodies(ctx, repo, sums)
}

func newWatched(tb testing.TB) *watched {
	tb.Helper()
	return &watched{Store: sqlitetest.Serve(tb, tb.TempDir())}
}

func found(t *testing.T, c *core.Core, query string) []string {
	t.Helper()
	answer, err := c.Search(t.Context(), repoOf(t, "a/b"), query, 100, 0)
	if err != nil {
		t.Fatalf("searching %q: %v", query, err)
	}
	list := []string{}
	for _, r := range answer.Results {
		list = append(list, r.Key)
	}
	return list
}

func wantFound(t *testing.T, c *core.Core, query string, want ...string) {
	t.Helper()
	if got := found(t, c, query); !slices.Equal(got, want) {
		t.Errorf("%q finds %q, want %q", query, got, want)
	}
}

// retire takes a key away.
func retire(t *testing.T, c *core.Core, key string) {
	t.Helper()
	_, err := c.Push(t.Context(), core.Push{Repo: repoOf(t, "a/b"), Role: api.Maintainer, Request: api.PushRequest{SoftDeleteKeys: []string{key}}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSearchFollows: every answer shows the last write before it.
func TestSearchFollows(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	c := newCore(t, core.Options{Store: w})
	if _, err := c.Search(t.Context(), repoOf(t, "a/b"), "x", 1, 0); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("searching a repo that was never written: %v", err)
	}
	if _, err := c.Search(t.Context(), repoOf(t, "a/b"), "-x", 1, 0); !errors.Is(err, api.ErrBadRequest) {
		t.Errorf("searching by a query that is none: %v", err)
	}
	repo := repoOf(t, "a/b")
	many := entries{}
	for i := range 300 {
		many[fmt.Sprintf("n/%03d.md", i)] = fmt.Sprintf("note number%d about harbours", i)
	}
	put(t, c, repo, many)
	put(t, c, repo, entries{"one.md": "the zebra"})
	wantFound(t, c, "zebra", "one.md")
	if got := len(found(t, c, "harbours")); got != 100 {
		t.Errorf("%d results, want the 100 asked for", got)
	}
	before := w.read.Load()
	pushed := put(t, c, repo, entries{"two.md": "the zebra and the okapi"})
	answer, err := c.Search(t.Context(), repo, "zebra", 10, 0)
	if err != nil || answer.Version != pushed.Version || answer.Total != 2 || answer.Searched != 302 || answer.Match != "all" || answer.Cut != 0 {
		t.Errorf("after a write the answer is %+v, %v", answer, err)
	}
	if got := w.read.Load() - before; got != 1 {
		t.Errorf("after a write of one entry %d contents were read, want 1", got)
	}
	put(t, c, repo, entries{"one.md": "the gnu"})
	wantFound(t, c, "zebra", "two.md")
	wantFound(t, c, "gnu", "one.md")
	retire(t, c, "two.md")
	wantFound(t, c, "zebra")
	wantFound(t, c, "okapi")
	empty := entries{}
	for key := range many {
		empty[key] = ""
	}
	put(t, c, repo, empty)
	wantFound(t, c, "harbours")
}

// TestSearchOfManyAtOnce: one makes the index, the others wait; who gives up does
// not stop it.
func TestSearchOfManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	c := newCore(t, core.Options{Store: w})
	put(t, c, repoOf(t, "a/b"), entries{"a.md": "zebra", "b.md": "gnu"})
	w.begun, w.goOn = make(chan struct{}), make(chan struct{})
	impatient, giveUp := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() {
		_, err := c.Search(impatient, repoOf(t, "a/b"), "zebra", 1, 0)
		gaveUp <- err
	}()
	<-w.begun
	giveUp()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up got %v", err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			answer, err := c.Search(context.WithoutCancel(t.Context()), repoOf(t, "a/b"), "zebra", 1, 0)
			if err != nil || answer.Total != 1 {
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}
	close(w.goOn)
	all.Wait()
	if got := w.read.Load(); got != 2 {
		t.Errorf("%d contents were read for 21 searches, want 2", got)
	}
}

// TestSearchSurvivesTheStore: a failure is told, and forgotten.
func TestSearchSurvivesTheStore(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	c := newCore(t, core.Options{Store: w})
	put(t, c, repoOf(t, "a/b"), entries{"a.md": "zebra"})
	w.fail.Store(true)
	if _, err := c.Search(t.Context(), repoOf(t, "a/b"), "zebra", 1, 0); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("while the store fails: %v", err)
	}
	w.fail.Store(false)
	wantFound(t, c, "zebra", "a.md")
}

// TestSearchForgetsRedacted: once the core has seen a head with a redaction,
// nothing that was redacted is in memory, whether somebody searches or not.
func TestSearchForgetsRedacted(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"by a view", "by a search", "while the index is made"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWatched(t)
			c := newCore(t, core.Options{Store: w})
			repo := repoOf(t, "a/b")
			put(t, c, repo, entries{"a.md": "the zebra", "b.md": "the gnu"})
			redact := func() { // behind the core's back, as another server would
				_, err := w.Update(t.Context(), repo, func(store.Tx) (store.Change, error) {
					return store.Change{At: time.Now(), Retire: []api.Key{key(t, "a.md")}, Redact: []api.Checksum{api.SumString("the zebra")}}, nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			switch how {
			case "by a view":
				wantFound(t, c, "zebra", "a.md")
				gone := core.IndexGone(c, repo)
				redact()
				if _, err := c.View(t.Context(), repo); err != nil {
					t.Fatal(err)
				}
				if bytes := core.IndexBytes(c); bytes != 0 {
					t.Errorf("indexes take %d bytes after the redaction", bytes)
				}
				runtime.GC()
				if !gone() {
					t.Error("something still holds the index of before the redaction")
				}
			case "by a search":
				wantFound(t, c, "zebra", "a.md")
				gone := core.IndexGone(c, repo)
				redact()
				wantFound(t, c, "zebra")
				runtime.GC()
				if !gone() {
					t.Error("something still holds the index of before the redaction")
				}
			case "while the index is made":
				w.begun, w.goOn = make(chan struct{}), make(chan struct{})
				ended := make(chan api.SearchAnswer)
				go func() {
					answer, err := c.Search(context.WithoutCancel(t.Context()), repo, "zebra", 1, 0)
					if err != nil {
						t.Error(err)
					}
					ended <- answer
				}()
				<-w.begun
				redact()
				if _, err := c.View(t.Context(), repo); err != nil {
					t.Fatal(err)
				}
				w.goOn <- struct{}{}
				<-w.begun // it is thrown away, and made anew
				w.goOn <- struct{}{}
				if answer := <-ended; answer.Total != 0 || answer.Searched != 1 {
					t.Errorf("the answer is %+v", answer)
				}
				w.begun = nil
			}
			wantFound(t, c, "zebra")
			wantFound(t, c, "gnu", "b.md")
		})
	}
}

// TestSearchMemory: indexes stay within their budget, and a repo that is too large
// for it is searched by the beginnings of its entries.
func TestSearchMemory(t *testing.T) {
	t.Parallel()
	const budget = 200_000
	c := newCore(t, core.Options{SearchBytes: budget})
	for i := range 10 {
		repo := repoOf(t, fmt.Sprintf("a/r%d", i))
		put(t, c, repo, entries{"a.md": strings.Repeat("some words and more ", 1500)})
		if answer, err := c.Search(t.Context(), repo, "words", 1, 0); err != nil || answer.Total != 1 || answer.Cut != 0 {
			t.Fatalf("%+v, %v", answer, err)
		}
		if bytes := core.IndexBytes(c); bytes > budget {
			t.Errorf("after repo %d indexes take %d bytes of %d", i, bytes, budget)
		}
	}
	large := entries{"small.md": "okapi"}
	for i := range 5 {
		large[fmt.Sprintf("%d.md", i)] = "okapi " + strings.Repeat("日本語のテキスト、", 8000) + " zebra"
	}
	put(t, c, repoOf(t, "a/large"), large)
	answer, err := c.Search(t.Context(), repoOf(t, "a/large"), "okapi", 10, 0)
	if err != nil || answer.Total != 6 || answer.Cut != 5 {
		t.Errorf("a repo that is too large: %d results, %d cut, %v", answer.Total, answer.Cut, err)
	}
	if bytes := core.IndexBytes(c); bytes > budget {
		t.Errorf("indexes take %d bytes of %d", bytes, budget)
	}
}

// TestSearchWhileWriting searches and writes at once: no answer is older than the
// write that was completed before it was asked for.
func TestSearchWhileWriting(t *testing.T) {
	t.Parallel()
	c := newCore(t, core.Options{})
	repo := repoOf(t, "a/b")
	put(t, c, repo, entries{"0.md": "zebra"})
	var last atomic.Uint64
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	var all sync.WaitGroup
	all.Go(func() {
		for i := 1; ctx.Err() == nil; i++ {
			pushed, err := c.Push(context.WithoutCancel(ctx), core.Push{
				Repo: repo, Role: api.Maintainer,
				Request: api.PushRequest{Entries: entries{fmt.Sprintf("%d.md", i%50): fmt.Sprintf("zebra number %d", i)}},
			})
			if err != nil {
				t.Error(err)
				return
			}
			last.Store(pushed.Version)
		}
	})
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				least := last.Load()
				answer, err := c.Search(context.WithoutCancel(ctx), repo, "zebra", 5, 0)
				if err != nil || answer.Version < least || answer.Total == 0 {
					t.Errorf("after version %d: %+v, %v", least, answer, err)
					return
				}
			}
		})
	}
	all.Wait()
}

func key(t fataler, s string) api.Key {
	t.Helper()
	k, err := api.ParseKey(s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestIndexIsMadeOnce: whoever comes while an index is made waits for it.
func TestIndexIsMadeOnce(t *testing.T) {
	t.Parallel()
	c := newCore(t, core.Options{})
	for range 2 { // the end of one lets the next begin
		if first, second, same := core.BeginTwice(c, repoOf(t, "a/b")); !first || second || !same {
			t.Errorf("the first makes it: %v, the second as well: %v, both wait for the same: %v", first, second, same)
		}
	}
}
