package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

// Keys makes a key file with one key and loads it.
func Keys(tb testing.TB) *seal.Keys {
	tb.Helper()
	return LoadKeys(tb, KeyFile(tb))
}

// KeyFile makes a key file with one key.
func KeyFile(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "keys")
	if _, err := seal.NewFile(path); err != nil {
		tb.Fatal(err)
	}
	return path
}

// LoadKeys loads a key file.
func LoadKeys(tb testing.TB, path string) *seal.Keys {
	tb.Helper()
	keys, err := seal.Load(path)
	if err != nil {
		tb.Fatal(err)
	}
	return keys
}

// SealedHarness opens one storage with keys, nil for none, for serving. The suite
// closes each store before it opens the next.
type SealedHarness struct {
	Open func(keys *seal.Keys) (store.Backend, error)
}

// RunSealed runs the suite of stores that can encrypt. fresh is called once for
// every test. That an encrypted store keeps the contract is for [Run] to show.
func RunSealed(t *testing.T, fresh func(t *testing.T) SealedHarness) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(sealing)) {
		run := sealing[name]
		t.Run(name, func(t *testing.T) {
			s := &sealedSuite{suite: suite{T: t}, fresh: fresh(t)}
			run(s)
			s.close()
		})
	}
}

// sealedSuite is one test with its store.
type sealedSuite struct {
	suite

	fresh SealedHarness
}

// with closes the store and opens it with other keys.
func (s *sealedSuite) with(keys *seal.Keys) {
	s.Helper()
	s.close()
	opened, err := s.fresh.Open(keys)
	if err != nil {
		s.Fatalf("opening: %v", err)
	}
	s.store = opened
}

// refuses checks that the store does not open with these keys.
func (s *sealedSuite) refuses(what string, keys *seal.Keys, want error) {
	s.Helper()
	s.close()
	opened, err := s.fresh.Open(keys)
	if err == nil {
		s.Errorf("%s: the store opens", what)
		_ = opened.Close()
		return
	}
	if !errors.Is(err, want) {
		s.Errorf("%s: %v, want %v", what, err, want)
	}
	if strings.ContainsAny(err.Error(), "\n") {
		s.Errorf("%s: more than a line: %q", what, err)
	}
}

func (s *sealedSuite) sealed() store.Sealed {
	s.Helper()
	sealed, ok := s.store.(store.Sealed)
	if !ok {
		s.Fatal("the store cannot encrypt")
	}
	return sealed
}

// wantSealing checks how contents are kept.
func (s *sealedSuite) wantSealing(what string, want store.Sealing) {
	s.Helper()
	got, err := s.sealed().Sealing(s.Context())
	if err != nil || got != want {
		s.Errorf("%s: %+v, %v, want %+v", what, got, err, want)
	}
}

// rotate changes keys, to its end.
func (s *sealedSuite) rotate(data bool) store.Rotation {
	s.Helper()
	done, err := s.sealed().RotateKeys(s.Context(), data, nil)
	if err != nil {
		s.Fatalf("changing keys: %v", err)
	}
	return done
}

// many puts contents "0 text" and so on, more than one step of a rotation takes.
func many(n int) edit {
	return func(c *store.Change) {
		for i := range n {
			put(fmt.Sprintf("%d.md", i), fmt.Sprint(i, " text"))(c)
		}
	}
}

// wantMany checks that they are there.
func (s *sealedSuite) wantMany(n int) {
	s.Helper()
	var c store.Change
	many(n)(&c)
	sums := make([]api.Checksum, n)
	want := make(map[api.Checksum]string, n)
	for i, p := range c.Puts {
		sums[i], want[p.Sum] = p.Sum, p.Content
	}
	got, err := s.store.Bodies(s.Context(), acme, sums)
	if err != nil || !maps.Equal(got, want) {
		s.Errorf("%d of %d texts read well, %v", len(got), n, err)
	}
}

var sealing = map[string]func(*sealedSuite){
	"plain and sealed stand side by side until keys are changed": func(s *sealedSuite) {
		s.with(nil)
		s.apply(acme, put("a.md", "one"), put("b.md", "two"))
		s.apply(acme, put("a.md", "three"))
		s.apply(other, put("a.md", "one"))
		s.wantSealing("without keys", store.Sealing{Plain: 4})
		keys := Keys(s)
		s.with(keys)
		s.apply(acme, put("c.md", "four"), put("d.md", "two")) // "two" is there, and stays as it is
		s.wantSealing("in between", store.Sealing{Plain: 4, Sealed: 1, Keys: 1})
		before, history := s.head(acme), s.history(acme, api.Key{}, 0)
		wantTexts := func(what string) {
			s.Helper()
			s.wantEqual(what, len(s.bodies(acme, "one", "two", "three", "four")), 4)
			s.wantEqual(what+", other", s.bodies(other, "one", "two"), map[api.Checksum]string{api.SumString("one"): "one"})
		}
		wantTexts("in between")
		done := s.rotate(true)
		s.wantEqual("what was done", done, store.Rotation{Made: 2, Contents: 5})
		s.wantSealing("afterwards", store.Sealing{Sealed: 5, Keys: 2})
		wantTexts("afterwards")
		s.with(keys)
		wantTexts("reopened")
		s.wantEqual("head", s.head(acme), before)
		s.wantEqual("history", s.history(acme, api.Key{}, 0), history)
		s.apply(acme, put("e.md", "five"), redact("one"))
		s.wantSealing("after a redaction", store.Sealing{Sealed: 5, Keys: 2})
		s.wantEqual("what pruning took", s.prune(acme, store.Retention{Keep: 1}), store.Pruned{})
	},
	"pruning counts bytes of texts": func(s *sealedSuite) {
		s.with(Keys(s))
		s.written()
		s.wantEqual("what went", s.prune(acme, store.Retention{Keep: 2}), store.Pruned{Versions: 3, Bodies: 3, Bytes: 3})
	},
	"without its keys it does not open": func(s *sealedSuite) {
		path := KeyFile(s)
		keys := LoadKeys(s, path)
		s.with(keys)
		s.apply(acme, put("a.md", "one"))
		s.refuses("without keys", nil, seal.ErrNoKey)
		s.refuses("with the keys of another", Keys(s), seal.ErrNoKey)
		s.refuses("with another key of that name", LoadKeys(s, renamed(s, keys.First())), seal.ErrDamaged)
		s.with(keys)
		s.wantEqual("texts", len(s.bodies(acme, "one")), 1)
	},
	"a new master key": func(s *sealedSuite) {
		path := KeyFile(s)
		s.with(LoadKeys(s, path))
		s.apply(acme, many(3))
		s.apply(other, put("a.md", "one"))
		if _, err := seal.AddToFile(path); err != nil {
			s.Fatal(err)
		}
		both := LoadKeys(s, path)
		s.with(both)
		s.wantMany(3)
		s.apply(repo("acme/new"), put("a.md", "under the new one"))
		s.wantEqual("what was done", s.rotate(false), store.Rotation{Wrapped: 2})
		s.wantEqual("again", s.rotate(false), store.Rotation{})
		s.wantSealing("afterwards", store.Sealing{Sealed: 5, Keys: 3})
		s.with(LoadKeys(s, onlyFirst(s, path)))
		s.wantMany(3)
		s.wantEqual("of the other", len(s.bodies(other, "one")), 1)
	},
	"new data keys": func(s *sealedSuite) {
		s.with(Keys(s))
		s.apply(acme, many(250))
		s.apply(other, put("a.md", "one"))
		for range 2 {
			s.wantEqual("what was done", s.rotate(true), store.Rotation{Made: 2, Contents: 251})
			s.wantSealing("afterwards", store.Sealing{Sealed: 251, Keys: 2})
			s.wantMany(250)
		}
		s.apply(acme, put("b.md", "written after"))
		s.wantEqual("texts", len(s.bodies(acme, "written after")), 1)
	},
	"what was interrupted goes on": func(s *sealedSuite) {
		s.with(nil)
		s.apply(acme, many(450))
		s.apply(other, put("a.md", "one"))
		keys := Keys(s)
		var all store.Rotation
		for allowed := 2; allowed < 50; allowed++ {
			s.with(keys)
			ctx, cancel := context.WithCancel(s.Context())
			steps := 0
			done, err := s.sealed().RotateKeys(ctx, true, func(store.Rotation) {
				if steps++; steps == allowed {
					cancel()
				}
			})
			cancel()
			s.wantMany(450)
			all.Made, all.Contents = all.Made+done.Made, all.Contents+done.Contents
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				s.Fatal(err)
			}
		}
		s.wantEqual("in all", all, store.Rotation{Made: 2, Contents: 451})
		s.wantSealing("afterwards", store.Sealing{Sealed: 451, Keys: 2})
	},
	"writes and reads go on": func(s *sealedSuite) {
		s.with(Keys(s))
		s.apply(acme, many(250))
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				text := fmt.Sprint("written meanwhile ", i)
				if _, err := s.store.Update(s.Context(), acme, deciding(changeOf(put("more.md", text)))); err != nil {
					s.Errorf("writing: %v", err)
					return
				}
				got, err := s.store.Bodies(s.Context(), acme, []api.Checksum{api.SumString(text), api.SumString("7 text")})
				if err != nil || len(got) != 2 {
					s.Errorf("reading: %d texts, %v", len(got), err)
					return
				}
			}
		})
		for range 3 {
			s.rotate(true)
		}
		close(stop)
		wg.Wait()
		s.wantMany(250)
		n, err := s.sealed().Sealing(s.Context())
		if err != nil || n.Plain != 0 || n.Keys != 1 {
			s.Errorf("%+v, %v", n, err)
		}
	},
	"a handle without keys keeps its credentials": func(s *sealedSuite) {
		s.with(nil)
		if _, err := s.sealed().RotateKeys(s.Context(), true, nil); !errors.Is(err, seal.ErrNoKey) {
			s.Errorf("changing keys without any: %v", err)
		}
		if err := s.sealed().KeysReady(s.Context()); err != nil {
			s.Errorf("not ready: %v", err)
		}
	},
}
