package store_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var (
	noon   = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	equate = cmp.Options{cmpopts.EquateComparable(api.Key{}, api.Repo{}), cmpopts.EquateEmpty()}
)

func key(s string) api.Key {
	k, err := api.ParseKey(s)
	if err != nil {
		panic(err)
	}
	return k
}

func put(k, content string) store.Put {
	return store.Put{Key: key(k), Content: content, Sum: api.SumString(content)}
}

func puts(pairs ...string) store.Change {
	c := store.Change{At: noon}
	for i := 0; i < len(pairs); i += 2 {
		c.Puts = append(c.Puts, put(pairs[i], pairs[i+1]))
	}
	return c
}

func retire(names ...string) store.Change {
	c := store.Change{At: noon}
	for _, name := range names {
		c.Retire = append(c.Retire, key(name))
	}
	return c
}

func headOf(changes ...store.Change) *store.Head {
	h := &store.Head{Epoch: "e"}
	h.Seal()
	for _, c := range changes {
		h = h.Next(c)
	}
	return h
}

func TestNext(t *testing.T) {
	both := retire("old.md")
	both.Puts = puts("new.md", "text").Puts
	for _, c := range []struct {
		name    string
		changes []store.Change
		items   []string // key and version
		tombs   []string
	}{
		{"nothing", nil, nil, nil},
		{"an empty change", []store.Change{{At: noon}}, nil, nil},
		{"puts in any order", []store.Change{puts("b.md", "2", "a.md", "1", "c.md", "3")}, []string{"a.md 1", "b.md 1", "c.md 1"}, nil},
		{"a put before, between, over and after", []store.Change{puts("b.md", "1", "d.md", "1"), puts("e.md", "2", "c.md", "2", "a.md", "2", "b.md", "2")}, []string{"a.md 2", "b.md 2", "c.md 2", "d.md 1", "e.md 2"}, nil},
		{"retire the only", []store.Change{puts("a.md", "1"), retire("a.md")}, nil, []string{"a.md 2"}},
		{"retire the unseen", []store.Change{retire("b.md", "a.md")}, nil, []string{"a.md 1", "b.md 1"}},
		{"retire twice", []store.Change{retire("a.md"), retire("a.md")}, nil, []string{"a.md 2"}},
		{"revive", []store.Change{retire("a.md", "b.md"), puts("a.md", "1")}, []string{"a.md 2"}, []string{"b.md 1"}},
		{"rename", []store.Change{puts("old.md", "text"), both}, []string{"new.md 2"}, []string{"old.md 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := headOf(c.changes...)
			var items, tombs []string
			for _, it := range h.Items {
				items = append(items, fmt.Sprint(it.Key, " ", it.Version))
				if found, ok := h.Item(it.Key); !ok || found != it {
					t.Errorf("Item(%q) = %+v, %v", it.Key, found, ok)
				}
			}
			for _, tomb := range h.Tombs {
				tombs = append(tombs, fmt.Sprint(tomb.Key, " ", tomb.Version))
				if found, ok := h.Tomb(tomb.Key); !ok || found != tomb {
					t.Errorf("Tomb(%q) = %+v, %v", tomb.Key, found, ok)
				}
			}
			if diff := cmp.Diff(c.items, items); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.tombs, tombs); diff != "" {
				t.Errorf("tombstones (-want +got):\n%s", diff)
			}
			if _, ok := h.Item(key("absent.md")); ok {
				t.Error("an absent key has an item")
			}
			if _, ok := h.Tomb(key("absent.md")); ok {
				t.Error("an absent key has a tombstone")
			}
		})
	}
}

func TestNextKeepsWhatIsNotTheChange(t *testing.T) {
	h := headOf(puts("a.md", "1"))
	h.Redacted = []api.Checksum{api.SumString("gone")}
	next := h.Next(puts("b.md", "22"))
	item, _ := next.Item(key("b.md"))
	want := store.Item{Key: key("b.md"), Sum: api.SumString("22"), Bytes: 2, Version: 2, Modified: noon}
	if item != want || next.Epoch != h.Epoch || next.Modified != noon || len(next.Redacted) != 1 {
		t.Errorf("next head: %+v", next)
	}
	if same := h.Next(store.Change{At: noon.Add(time.Hour)}); same != h {
		t.Error("an empty change made another head")
	}
}

func TestChecksumDependsOnState(t *testing.T) {
	redacted := headOf(puts("a.md", "1"))
	redacted.Redacted = []api.Checksum{api.SumString("1")}
	redacted.Seal()
	seen := make(map[api.Checksum]string)
	for name, h := range map[string]*store.Head{
		"nothing":            headOf(),
		"one":                headOf(puts("a.md", "1")),
		"other content":      headOf(puts("a.md", "2")),
		"other key":          headOf(puts("b.md", "1")),
		"two keys":           headOf(puts("a.md", "1", "b.md", "1")),
		"swapped contents":   headOf(puts("a.md", "2", "b.md", "1")),
		"swapped back":       headOf(puts("a.md", "1", "b.md", "2")),
		"a tombstone":        headOf(retire("a.md")),
		"a later tombstone":  headOf(retire("b.md"), puts("b.md", "1"), retire("a.md")),
		"tombstone and live": headOf(puts("a.md", "1"), retire("b.md")),
		"keys glued":         headOf(puts("a.mdb.md", "1")),
		"redacted":           redacted,
	} {
		if twin, ok := seen[h.Checksum]; ok {
			t.Errorf("%q and %q have the same checksum", name, twin)
		}
		seen[h.Checksum] = name
	}
}

// The checksum says what is there, not how it came about: servers that hold the
// same agree, whatever their clocks, epochs and names for the repo.
func TestChecksumDependsOnNothingElse(t *testing.T) {
	one, other := headOf(puts("a.md", "1", "b.md", "2")), headOf(puts("b.md", "0"), puts("b.md", "2"), puts("a.md", "1"))
	other.Epoch, other.Modified = "another", noon.Add(time.Hour)
	other.Seal()
	if one.Checksum != other.Checksum {
		t.Error("equal entries have different checksums")
	}
}

// The flush inside Seal must not show: a head larger than its buffer has the
// checksum of the rows, one after another.
func TestChecksumOfALargeHead(t *testing.T) {
	var c store.Change
	for i := range 3000 {
		c.Puts = append(c.Puts, put(fmt.Sprintf("some/longer/directory/%05d.md", i), "x"))
	}
	whole := headOf(c)
	step := headOf(store.Change{Puts: c.Puts[:1500]}, store.Change{Puts: c.Puts[1500:]})
	if whole.Checksum != step.Checksum {
		t.Error("two ways to one state have different checksums")
	}
	last := store.Change{Puts: []store.Put{put("some/longer/directory/02999.md", "y")}}
	if whole.Next(last).Checksum == whole.Checksum {
		t.Error("the last row does not count")
	}
}

func drawChange(t *rapid.T) store.Change {
	names := []string{"a.md", "a/b.md", "B.md", "é.md", "日本.md", "z.md", "zz.md"}
	c := store.Change{At: noon.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "s")) * time.Second)}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 5, rapid.ID[string]).Draw(t, "keys") {
		if rapid.Bool().Draw(t, "retire") {
			c.Retire = append(c.Retire, key(name))
		} else {
			c.Puts = append(c.Puts, put(name, rapid.StringN(0, 3, -1).Draw(t, "content")))
		}
	}
	return c
}

func clone(h *store.Head) *store.Head {
	c := *h
	c.Items, c.Tombs, c.Redacted = slices.Clone(h.Items), slices.Clone(h.Tombs), slices.Clone(h.Redacted)
	return &c
}

// Every history gives the head that two maps give, leaves the heads before it
// as they were, and does not care about the order inside a change.
func TestNextAgainstMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, tombs := map[api.Key]store.Item{}, map[api.Key]store.Tomb{}
		h := headOf()
		version := uint64(0)
		var before, copies []*store.Head
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			before, copies = append(before, h), append(copies, clone(h))
			c := drawChange(t)
			next := h.Next(c)
			shuffled := c
			shuffled.Puts = rapid.Permutation(c.Puts).Draw(t, "puts")
			shuffled.Retire = rapid.Permutation(c.Retire).Draw(t, "retirements")
			if diff := cmp.Diff(next, h.Next(shuffled), equate); diff != "" {
				t.Fatalf("another order, another head:\n%s", diff)
			}
			if len(c.Puts)+len(c.Retire) > 0 {
				version++
			}
			for _, p := range c.Puts {
				delete(tombs, p.Key)
				items[p.Key] = store.Item{Key: p.Key, Sum: p.Sum, Bytes: len(p.Content), Version: version, Modified: c.At}
			}
			for _, k := range c.Retire {
				delete(items, k)
				tombs[k] = store.Tomb{Key: k, Version: version}
			}
			h = next
		}
		want := &store.Head{
			Epoch: "e", Version: version, Modified: h.Modified,
			Items: slices.SortedFunc(maps.Values(items), func(a, b store.Item) int { return a.Key.Compare(b.Key) }),
			Tombs: slices.SortedFunc(maps.Values(tombs), func(a, b store.Tomb) int { return a.Key.Compare(b.Key) }),
		}
		want.Seal()
		if diff := cmp.Diff(want, h, equate); diff != "" {
			t.Fatalf("head (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(copies, before, equate); diff != "" {
			t.Fatalf("an earlier head changed:\n%s", diff)
		}
	})
}

// A rename always shows.
func TestRenameChangesTheChecksum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := headOf(drawChange(t), drawChange(t), puts("old name.md", "text"))
		c := retire("old name.md")
		c.Puts = puts("new name.md", "text").Puts
		if h.Next(c).Checksum == h.Checksum {
			t.Error("the checksum did not change")
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for _, n := range []int{200, 5000, 20_000} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			var c store.Change
			for i := range n {
				c.Puts = append(c.Puts, put(fmt.Sprintf("notes/%05d.md", i), "x"))
			}
			h := headOf(c)
			one := puts("notes/00100.md", "y")
			b.ReportAllocs()
			for b.Loop() {
				h = h.Next(one)
			}
		})
	}
}

func redacting(c store.Change, contents ...string) store.Change {
	for _, content := range contents {
		c.Redact = append(c.Redact, api.SumString(content))
	}
	return c
}

func TestNextKeepsTheLedger(t *testing.T) {
	h := headOf(puts("a.md", "1"), redacting(store.Change{At: noon}, "x", "y", "x"))
	if h.Version != 2 || len(h.Redacted) != 2 || !h.IsRedacted(api.SumString("x")) || h.IsRedacted(api.SumString("1")) {
		t.Errorf("head %+v", h)
	}
	if same := h.Next(redacting(store.Change{At: noon.Add(time.Hour)}, "y")); same != h {
		t.Error("what the ledger has already made another head")
	}
	other := headOf(puts("a.md", "1"), redacting(store.Change{At: noon}, "y"), redacting(puts("a.md", "1"), "x"))
	if other.Checksum != h.Checksum {
		t.Error("the order of redactions shows in the checksum")
	}
	if before := headOf(puts("a.md", "1")); before.Checksum == h.Checksum {
		t.Error("the ledger does not show in the checksum")
	}
}

func TestCheckOfChanges(t *testing.T) {
	h := headOf(puts("a.md", "1", "b.md", "1", "c.md", "2"), redacting(store.Change{At: noon}, "gone"))
	both := puts("a.md", "3")
	both.Retire = []api.Key{key("b.md")}
	clash := puts("a.md", "3")
	clash.Retire = []api.Key{key("a.md")}
	for _, c := range []struct {
		name   string
		change store.Change
		ok     bool
	}{
		{"nothing", store.Change{}, true},
		{"a put and a retirement", both, true},
		{"a redaction of what nobody has", redacting(store.Change{}, "never"), true},
		{"a redaction once more", redacting(store.Change{}, "gone"), true},
		{"a redaction that replaces and retires", redacting(both, "1"), true},
		{"a redaction that leaves one", redacting(puts("a.md", "3"), "1"), false},
		{"a redaction that puts the same", redacting(puts("a.md", "1", "b.md", "3"), "1"), false},
		{"a redaction of nothing", store.Change{Redact: []api.Checksum{{}}}, false},
		{"a put of the ledger's", puts("d.md", "gone"), false},
		{"a key put twice", puts("d.md", "3", "d.md", "4"), false},
		{"a key put and retired", clash, false},
		{"a key retired twice", retire("d.md", "d.md"), false},
		{"a put of no key", store.Change{Puts: []store.Put{{Content: "x", Sum: api.SumString("x")}}}, false},
		{"a retirement of no key", store.Change{Retire: []api.Key{{}}}, false},
	} {
		if err := c.change.Check(h); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
