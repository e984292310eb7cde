package storetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

const (
	writers = 32
	rounds  = 8
)

var concurrencyTests = []test{
	{"updates of one repo are ordered", testOrdered},
	{"an error concerns its own caller", testErrorsApart},
	{"reads see whole changes", testWholeChanges},
	{"a write is seen by whoever comes after it", testReadYourWrite},
	{"heads do not change", testHeadsImmutable},
	{"many repos at once", testManyRepos},
}

// together runs n goroutines and waits for them.
func together(n int, run func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { run(i) })
	}
	wg.Wait()
}

// testOrdered counts in the content: a lost or doubled update shows.
func testOrdered(t *testing.T, f Fixture) {
	repo, key := repoOf(t, "acme/api"), keyOf(t, "count.md")
	var mu sync.Mutex
	versions := map[uint64]bool{}
	together(writers, func(int) {
		for range rounds {
			head, err := f.Backend.Update(t.Context(), repo, func(tx store.Tx) (store.Change, error) {
				content := strconv.FormatUint(tx.Head().Version+1, 10)
				if item, ok := tx.Head().Item(key); ok && item.Sum != api.SumString(strconv.FormatUint(tx.Head().Version, 10)) {
					t.Error("decide does not see the change before it")
				}
				return store.Change{Puts: []store.Put{{Key: key, Content: content, Sum: api.SumString(content)}}, At: at(0)}, nil
			})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			if versions[head.Version] {
				t.Errorf("version %d was answered twice", head.Version)
			}
			versions[head.Version] = true
			mu.Unlock()
		}
	})
	b := f.Reopen()
	total := writers * rounds
	if head := headOf(t, b, repo); head.Version != uint64(total) || len(versions) != total {
		t.Errorf("version %d and %d answers after %d updates", head.Version, len(versions), total)
	}
	for i, v := range history(t, b, repo, key, 0) {
		want := uint64(total - i)
		if v.Version != want || v.Sum != api.SumString(strconv.FormatUint(want, 10)) {
			t.Fatalf("history has version %d where %d belongs, or another's content", v.Version, want)
		}
	}
}

func testErrorsApart(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	refused := errors.New("refused")
	together(writers, func(i int) {
		c := puts(t, at(i), fmt.Sprintf("%d.md", i), "x")
		for range rounds {
			_, err := f.Backend.Update(t.Context(), repo, func(store.Tx) (store.Change, error) {
				switch i % 4 {
				case 1:
					return c, refused
				case 2:
					panic("bug")
				case 3:
					c.Retire = []api.Key{c.Puts[0].Key}
				}
				return c, nil
			})
			if (err == nil) != (i%4 == 0) || errors.Is(err, refused) != (i%4 == 1) {
				t.Errorf("writer %d got %v", i, err)
			}
		}
	})
	if head := headOf(t, f.Backend, repo); head.Version != writers/4*rounds || len(head.Items) != writers/4 {
		t.Errorf("version %d with %d items", head.Version, len(head.Items))
	}
}

// testWholeChanges moves one text between keys: a reader that sees none or two
// of it saw half a change.
func testWholeChanges(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	commit(t, f.Backend, repo, puts(t, at(0), "0.md", "0"))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			var last uint64
			for ctx.Err() == nil {
				head := headOf(t, f.Backend, repo)
				if len(head.Items) != 1 || head.Items[0].Version != head.Version || head.Version < last {
					t.Errorf("version %d after %d has %d items", head.Version, last, len(head.Items))
					return
				}
				last = head.Version
				bodies, err := f.Backend.Bodies(t.Context(), repo, []api.Checksum{head.Items[0].Sum})
				if err != nil || len(bodies) != 1 {
					t.Errorf("a live content is missing: %v", err)
					return
				}
			}
		})
	}
	for i := range 60 {
		c := puts(t, at(i), fmt.Sprintf("%d.md", i+1), strconv.Itoa(i+1))
		c.Retire = []api.Key{keyOf(t, fmt.Sprintf("%d.md", i))}
		commit(t, f.Backend, repo, c)
	}
	stop()
	readers.Wait()
}

func testReadYourWrite(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	together(8, func(i int) {
		for j := range 10 {
			content := fmt.Sprintf("%d/%d", i, j)
			key := keyOf(t, fmt.Sprintf("%d.md", i))
			head, err := f.Backend.Update(t.Context(), repo, always(store.Change{
				Puts: []store.Put{{Key: key, Content: content, Sum: api.SumString(content)}}, At: at(j),
			}))
			if err != nil {
				t.Error(err)
				return
			}
			now, err := f.Backend.Head(t.Context(), repo)
			if err != nil || now.Version < head.Version {
				t.Errorf("Head is older than the update before it: %v", err)
				return
			}
			if item, _ := now.Item(key); item.Sum != api.SumString(content) {
				t.Error("Head lacks the update before it")
			}
		}
	})
}

// testHeadsImmutable keeps every head and compares it with a copy made when it
// was new.
func testHeadsImmutable(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	var heads, copies []*store.Head
	for i := range 20 {
		c := puts(t, at(i), fmt.Sprintf("%c.md", 'z'-rune(i)), "x", fmt.Sprintf("m%d.md", i%3), strconv.Itoa(i))
		if i > 0 {
			c.Retire = []api.Key{keyOf(t, fmt.Sprintf("%c.md", 'z'-rune(i-1)))}
		}
		head := commit(t, f.Backend, repo, c)
		kept := *head
		kept.Items = append([]store.Item(nil), head.Items...)
		kept.Tombs = append([]store.Tomb(nil), head.Tombs...)
		heads, copies = append(heads, head), append(copies, &kept)
	}
	equal(t, "heads", copies, heads)
}

func testManyRepos(t *testing.T, f Fixture) {
	together(writers, func(i int) {
		repo := repoOf(t, fmt.Sprintf("acme/r%d", i%16))
		for j := range rounds {
			if _, err := f.Backend.Update(t.Context(), repo, always(puts(t, at(j), fmt.Sprintf("%d.md", i), strconv.Itoa(j)))); err != nil {
				t.Error(err)
				return
			}
		}
	})
	b := f.Reopen()
	for i := range 16 {
		repo := repoOf(t, fmt.Sprintf("acme/r%d", i))
		if head := headOf(t, b, repo); head.Version != 2*rounds || len(head.Items) != 2 {
			t.Errorf("%s has version %d and %d items", repo, head.Version, len(head.Items))
		}
	}
}
