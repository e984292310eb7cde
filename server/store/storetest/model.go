package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// modelKeys are few, so that histories collide.
var modelKeys = []string{"a.md", "a/b.md", "a/B.md", "é.md", "日本.md", "z z.md"}

// model is what a repo must look like, kept in maps.
type model struct {
	version  uint64
	modified time.Time
	live     map[string]store.Item
	tombs    map[string]uint64
	bodies   map[api.Checksum]string
	history  []store.Version // oldest first
	ledger   []api.Checksum  // sorted
}

func (m *model) apply(c store.Change) {
	more := slices.DeleteFunc(slices.Clone(c.Redact), func(sum api.Checksum) bool { return slices.Contains(m.ledger, sum) })
	if len(c.Puts)+len(c.Retire)+len(more) == 0 {
		return
	}
	m.redact(more)
	m.version++
	m.modified = c.At
	begun := len(m.history)
	for _, p := range c.Puts {
		k := p.Key.String()
		delete(m.tombs, k)
		m.live[k] = store.Item{Key: p.Key, Sum: p.Sum, Bytes: len(p.Content), Version: m.version, Modified: c.At}
		m.bodies[p.Sum] = p.Content
		m.history = append(m.history, store.Version{Key: p.Key, Version: m.version, Op: store.OpPut, Sum: p.Sum, Bytes: len(p.Content), At: c.At, Actor: c.Actor, Rules: c.Rules})
	}
	for _, k := range c.Retire {
		delete(m.live, k.String())
		m.tombs[k.String()] = m.version
		m.history = append(m.history, store.Version{Key: k, Version: m.version, Op: store.OpRetire, At: c.At, Actor: c.Actor, Rules: c.Rules})
	}
	slices.SortFunc(m.history[begun:], func(a, b store.Version) int { return a.Key.Compare(b.Key) })
}

// redact is what happens to history and bodies.
func (m *model) redact(sums []api.Checksum) {
	for _, sum := range sums {
		if !slices.Contains(m.ledger, sum) {
			m.ledger = append(m.ledger, sum)
		}
		delete(m.bodies, sum)
		for i, v := range m.history {
			if v.Op == store.OpPut && v.Sum == sum {
				m.history[i] = store.Version{Version: v.Version, Op: v.Op, At: v.At, Actor: v.Actor, Rules: v.Rules, Redacted: true}
			}
		}
	}
	slices.SortFunc(m.ledger, func(a, b api.Checksum) int { return slices.Compare(a[:], b[:]) })
}

// allows reports whether the contract allows a change: no content of the ledger
// is left or comes.
func (m *model) allows(c store.Change) bool {
	out := append(slices.Clone(m.ledger), c.Redact...)
	live := make(map[string]api.Checksum)
	for k, item := range m.live {
		live[k] = item.Sum
	}
	for _, p := range c.Puts {
		live[p.Key.String()] = p.Sum
	}
	for _, k := range c.Retire {
		delete(live, k.String())
	}
	for _, sum := range live {
		if slices.Contains(out, sum) {
			return false
		}
	}
	return true
}

func (m *model) head(r api.Repo, epoch string) *store.Head {
	h := &store.Head{Repo: r, Epoch: epoch, Version: m.version, Modified: m.modified, Redacted: m.ledger}
	for _, item := range m.live {
		h.Items = append(h.Items, item)
	}
	for k, version := range m.tombs {
		h.Tombs = append(h.Tombs, store.Tomb{Key: key(k), Version: version})
	}
	slices.SortFunc(h.Items, func(a, b store.Item) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(h.Tombs, func(a, b store.Tomb) int { return a.Key.Compare(b.Key) })
	h.Seal()
	return h
}

func (m *model) had(k string, sum api.Checksum) bool {
	return slices.ContainsFunc(m.history, func(v store.Version) bool { return v.Key.String() == k && v.Sum == sum })
}

// versions returns a key's history, newest first; the zero key means all.
func (m *model) versions(k api.Key) (out []store.Version) {
	for _, v := range m.history { // those of one change are in the order of their keys
		if k.IsZero() || v.Key == k {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b store.Version) int { return int(b.Version) - int(a.Version) })
	return out
}

// checkModel lets random histories run against the store and the model.
func checkModel(s *suite) {
	run, failed := 0, false
	rapid.Check(s.T, func(t *rapid.T) {
		if run++; run > modelRuns && !failed {
			return
		}
		passed := false
		defer func() { failed = failed || !passed }() // a failure is run again, to make it small
		r := repo(fmt.Sprintf("model/run-%d", run))
		m := &model{live: map[string]store.Item{}, tombs: map[string]uint64{}, bodies: map[api.Checksum]string{}}
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) { s.modelChange(t, r, m) },
			"refuse": func(t *rapid.T) { s.modelRefusal(t, r, drawChange(t)) },
			"reopen": func(t *rapid.T) {
				if rapid.IntRange(0, 19).Draw(t, "reopen") == 0 {
					s.reopen()
				}
			},
			"": func(t *rapid.T) { s.compare(t, r, m) },
		})
		passed = true
	})
}

func drawChange(t *rapid.T) store.Change {
	c := store.Change{
		At:    someTime.Add(time.Duration(rapid.IntRange(-1e6, 1e6).Draw(t, "ms")) * time.Millisecond),
		Actor: api.Actor{Person: rapid.SampledFrom([]string{"", "ada", "bob"}).Draw(t, "person"), Session: rapid.StringN(0, 5, 20).Draw(t, "session")},
		Rules: rapid.SampledFrom([]string{"", "r1"}).Draw(t, "rules"),
	}
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(modelKeys), 0, 4, rapid.ID[string]).Draw(t, "keys") {
		if rapid.Bool().Draw(t, "retire") {
			retire(k)(&c)
			continue
		}
		put(k, rapid.SampledFrom([]string{"", "one", "two", "three", "four", "five"}).Draw(t, "content"))(&c)
	}
	if rapid.IntRange(0, 7).Draw(t, "redact") == 0 {
		redact(rapid.SampledFrom([]string{"one", "two", "three", "never"}).Draw(t, "redacted"))(&c)
	}
	return c
}

func (s *suite) modelChange(t *rapid.T, r api.Repo, m *model) {
	c := drawChange(t)
	k := rapid.SampledFrom(modelKeys).Draw(t, "asked")
	sum := api.SumString(rapid.SampledFrom([]string{"", "one", "four"}).Draw(t, "sum"))
	head, err := s.store.Update(s.Context(), r, func(tx store.Tx) (store.Change, error) {
		had, err := tx.Had(key(k), sum)
		if err == nil && had != m.had(k, sum) {
			err = fmt.Errorf("Had(%q) = %v", k, had)
		}
		if diff := diffOf(m.head(r, tx.Head().Epoch), tx.Head()); diff != "" {
			err = fmt.Errorf("head that decide sees (-want +got):\n%s", diff)
		}
		return c, err
	})
	if !m.allows(c) {
		if err == nil {
			t.Fatal("a change that leaves a redacted content was accepted")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.apply(c)
	if diff := diffOf(m.head(r, head.Epoch), head); diff != "" {
		t.Fatalf("head that Update returned (-want +got):\n%s", diff)
	}
}

func (s *suite) modelRefusal(t *rapid.T, r api.Repo, c store.Change) {
	_, err := s.store.Update(s.Context(), r, func(store.Tx) (store.Change, error) { return c, errRefused })
	if !errors.Is(err, errRefused) {
		t.Fatalf("error %v, want decide's own", err)
	}
}

func (s *suite) compare(t *rapid.T, r api.Repo, m *model) {
	head, err := s.store.Head(s.Context(), r)
	if m.version == 0 {
		if !errors.Is(err, store.ErrNoRepo) {
			t.Fatalf("head of a repo without changes: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := diffOf(m.head(r, head.Epoch), head); diff != "" {
		t.Fatalf("head (-want +got):\n%s", diff)
	}
	if rapid.IntRange(0, 3).Draw(t, "look closer") > 0 {
		return
	}
	sums := []api.Checksum{api.SumString("never")}
	for sum := range m.bodies {
		sums = append(sums, sum)
	}
	bodies, err := s.store.Bodies(s.Context(), r, sums)
	if err != nil {
		t.Fatal(err)
	}
	k := rapid.SampledFrom([]api.Key{{}, key("a.md"), key("日本.md")}).Draw(t, "history of")
	history, err := s.store.History(s.Context(), r, k, 0)
	if err != nil {
		t.Fatal(err)
	}
	if rapid.IntRange(0, 15).Draw(t, "look at the chain") == 0 {
		s.wantChain(r)
	}
	for what, diff := range map[string]string{
		"bodies": diffOf(m.bodies, bodies), "history": diffOf(m.versions(k), history),
	} {
		if diff != "" {
			t.Fatalf("%s (-want +got):\n%s", what, diff)
		}
	}
}
