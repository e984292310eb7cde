package storetest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var modelTests = []test{{"random histories", testModel}}

// model is what a repo should be, kept the simplest way.
type model struct {
	version uint64
	live    map[string]string
	tombs   map[string]uint64
	had     map[string]map[string]bool
	changes int // rows of history
}

// testModel makes random changes of a few keys in a few repos, and compares
// every answer with a model. All runs share one store: each takes new repos.
func testModel(t *testing.T, f Fixture) {
	b, run := f.Backend, 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		models := map[string]*model{}
		for step := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			name := fmt.Sprintf("run%d/%s", run, rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "repo"))
			m := models[name]
			if m == nil {
				m = &model{live: map[string]string{}, tombs: map[string]uint64{}, had: map[string]map[string]bool{}}
				models[name] = m
			}
			m.change(rt, t, b, repoOf(t, name), step)
			m.check(rt, t, b, repoOf(t, name))
		}
		if rapid.IntRange(0, 9).Draw(rt, "reopen") == 0 {
			b = f.Reopen()
		}
		for name, m := range models {
			m.check(rt, t, b, repoOf(t, name))
		}
	})
}

var (
	someKeys  = []string{"a.md", "a/b.md", "é.md", "z.md"}
	someTexts = []string{"", "x", "y", "long text"}
)

// change draws a change and makes it on both sides.
func (m *model) change(rt *rapid.T, t *testing.T, b store.Store, repo api.Repo, step int) {
	c := store.Change{At: at(step)}
	for _, key := range someKeys {
		switch rapid.IntRange(0, 3).Draw(rt, "do "+key) {
		case 0:
			c.Puts = append(c.Puts, putOf(t, key, rapid.SampledFrom(someTexts).Draw(rt, "text")))
		case 1:
			c.Retire = append(c.Retire, keyOf(t, key))
		}
	}
	_, err := b.Update(t.Context(), repo, func(tx store.Tx) (store.Change, error) {
		for _, key := range someKeys {
			for _, text := range someTexts {
				got, err := tx.Had(keyOf(t, key), api.SumString(text))
				if err != nil || got != m.had[key][text] {
					rt.Errorf("Had(%s, %q) = %v, %v", key, text, got, err)
				}
			}
		}
		return c, nil
	})
	if err != nil {
		rt.Fatal(err)
	}
	if len(c.Puts)+len(c.Retire) > 0 {
		m.apply(c)
	}
}

func (m *model) apply(c store.Change) {
	m.version++
	m.changes += len(c.Puts) + len(c.Retire)
	for _, p := range c.Puts {
		key := p.Key.String()
		m.live[key] = p.Content
		delete(m.tombs, key)
		if m.had[key] == nil {
			m.had[key] = map[string]bool{}
		}
		m.had[key][p.Content] = true
	}
	for _, key := range c.Retire {
		delete(m.live, key.String())
		m.tombs[key.String()] = m.version
	}
}

func (m *model) check(rt *rapid.T, t *testing.T, b store.Store, repo api.Repo) {
	if m.version == 0 {
		return
	}
	head := headOf(t, b, repo)
	tombs := map[string]uint64{}
	for _, tomb := range head.Tombs {
		tombs[tomb.Key.String()] = tomb.Version
	}
	if head.Version != m.version || !maps.Equal(tombs, m.tombs) || !maps.Equal(contents(t, b, repo), m.live) {
		rt.Errorf("%s is %+v, not %+v", repo, head, m)
	}
	if !slices.IsSortedFunc(head.Items, func(a, b store.Item) int { return a.Key.Compare(b.Key) }) {
		rt.Error("items are not sorted")
	}
	if got := len(history(t, b, repo, api.Key{}, 0)); got != m.changes {
		rt.Errorf("%d rows of history, not %d", got, m.changes)
	}
}
