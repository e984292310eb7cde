package store_test

import (
	"errors"
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

func keyOf(t rapid.TB, s string) api.Key {
	t.Helper()
	key, err := api.ParseKey(s)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func repoOf(t rapid.TB, s string) api.Repo {
	t.Helper()
	repo, err := api.ParseRepo(s)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func put(t rapid.TB, key, content string) store.Put {
	t.Helper()
	return store.Put{Key: keyOf(t, key), Content: content, Sum: api.SumString(content)}
}

func keysOf(t rapid.TB, names ...string) []api.Key {
	t.Helper()
	keys := make([]api.Key, len(names))
	for i, name := range names {
		keys[i] = keyOf(t, name)
	}
	return keys
}

var byValue = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b api.Key) bool { return a == b }),
	cmp.Comparer(func(a, b api.Repo) bool { return a == b }),
}

var when = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)

func TestNext(t *testing.T) {
	h := &store.Head{Repo: repoOf(t, "acme/api"), Epoch: "e", Redacted: []api.Checksum{api.SumString("gone")}}
	h.Seal()
	first := h.Next(store.Change{At: when, Puts: []store.Put{put(t, "c.md", "3"), put(t, "a.md", "1"), put(t, "b.md", "22")}})
	second := first.Next(store.Change{
		At: when.Add(time.Second), Puts: []store.Put{put(t, "b.md", "new"), put(t, "0.md", "0")}, Retire: keysOf(t, "x.md", "a.md"),
	})
	third := second.Next(store.Change{At: when, Puts: []store.Put{put(t, "a.md", "1")}, Retire: keysOf(t, "0.md", "x.md")})

	item := func(key, content string, version uint64, at time.Time) store.Item {
		return store.Item{Key: keyOf(t, key), Sum: api.SumString(content), Bytes: len(content), Version: version, Modified: at}
	}
	tomb := func(key string, version uint64) store.Tomb { return store.Tomb{Key: keyOf(t, key), Version: version} }
	for i, tt := range []struct {
		head  *store.Head
		at    time.Time
		items []store.Item
		tombs []store.Tomb
	}{
		{first, when, []store.Item{item("a.md", "1", 1, when), item("b.md", "22", 1, when), item("c.md", "3", 1, when)}, nil},
		{
			second, when.Add(time.Second),
			[]store.Item{item("0.md", "0", 2, when.Add(time.Second)), item("b.md", "new", 2, when.Add(time.Second)), item("c.md", "3", 1, when)},
			[]store.Tomb{tomb("a.md", 2), tomb("x.md", 2)},
		},
		{
			third, when,
			[]store.Item{item("a.md", "1", 3, when), item("b.md", "new", 2, when.Add(time.Second)), item("c.md", "3", 1, when)},
			[]store.Tomb{tomb("0.md", 3), tomb("x.md", 3)},
		},
	} {
		want := &store.Head{
			Repo: h.Repo, Epoch: "e", Version: uint64(i + 1), Modified: tt.at, Items: tt.items, Tombs: tt.tombs, Redacted: h.Redacted,
		}
		want.Seal()
		if diff := cmp.Diff(want, tt.head, byValue); diff != "" {
			t.Errorf("head %d (-want +got):\n%s", i+1, diff)
		}
	}
}

func TestNextWithoutEffectsIsTheHeadItself(t *testing.T) {
	h := (&store.Head{}).Next(store.Change{At: when, Puts: []store.Put{put(t, "a.md", "1")}})
	if next := h.Next(store.Change{At: when, Rules: "r", Actor: api.Actor{Person: "p"}}); next != h {
		t.Error("a change without effects made a head")
	}
}

func TestLookups(t *testing.T) {
	h := (&store.Head{}).Next(store.Change{Puts: []store.Put{put(t, "a.md", "1"), put(t, "c.md", "2")}, Retire: keysOf(t, "b.md", "d.md")})
	for _, name := range []string{"0.md", "a.md", "b.md", "b0.md", "c.md", "d.md", "z.md"} {
		it, live := h.Item(keyOf(t, name))
		if want := name == "a.md" || name == "c.md"; live != want || (live && it.Key.String() != name) {
			t.Errorf("Item(%s) = %v, %v", name, it.Key, live)
		}
		tomb, dead := h.Tomb(keyOf(t, name))
		if want := name == "b.md" || name == "d.md"; dead != want || (dead && tomb.Key.String() != name) {
			t.Errorf("Tomb(%s) = %v, %v", name, tomb.Key, dead)
		}
	}
}

// TestSealTellsStatesApart has states that a careless encoding would confuse.
func TestSealTellsStatesApart(t *testing.T) {
	text := func(key, content string) store.Item {
		return store.Item{Key: keyOf(t, key), Sum: api.SumString(content)}
	}
	tomb := func(key string, version uint64) store.Tomb { return store.Tomb{Key: keyOf(t, key), Version: version} }
	seen := map[api.Checksum]string{}
	for name, h := range map[string]store.Head{
		"empty":             {},
		"one entry":         {Items: []store.Item{text("a", "1")}},
		"renamed":           {Items: []store.Item{text("b", "1")}},
		"other content":     {Items: []store.Item{text("a", "2")}},
		"tombstone":         {Tombs: []store.Tomb{tomb("a", 1)}},
		"later tombstone":   {Tombs: []store.Tomb{tomb("a", 2)}},
		"entry, tombstone":  {Items: []store.Item{text("a", "1")}, Tombs: []store.Tomb{tomb("b", 1)}},
		"redaction":         {Redacted: []api.Checksum{api.SumString("1")}},
		"entry, redaction":  {Items: []store.Item{text("a", "1")}, Redacted: []api.Checksum{api.SumString("2")}},
		"two entries":       {Items: []store.Item{text("a", "1"), text("b", "1")}},
		"one longer key":    {Items: []store.Item{text("ab", "1")}},
		"contents swapped":  {Items: []store.Item{text("a", "2"), text("b", "1")}},
		"contents in place": {Items: []store.Item{text("a", "1"), text("b", "2")}},
	} {
		h.Seal()
		if other, ok := seen[h.Checksum]; ok {
			t.Errorf("%q and %q have one checksum", name, other)
		}
		seen[h.Checksum] = name
	}
}

// TestSealDependsOnTheStateAlone: a restored server is the same server when it
// holds the same.
func TestSealDependsOnTheStateAlone(t *testing.T) {
	a := store.Head{
		Repo: repoOf(t, "acme/api"), Epoch: "one", Version: 7, Modified: when,
		Items: []store.Item{{Key: keyOf(t, "a.md"), Sum: api.SumString("x"), Bytes: 1, Version: 7, Modified: when}},
	}
	b := store.Head{Repo: repoOf(t, "acme/web"), Epoch: "two", Version: 9, Items: []store.Item{{Key: keyOf(t, "a.md"), Sum: api.SumString("x")}}}
	a.Seal()
	b.Seal()
	if a.Checksum != b.Checksum || a.Checksum.IsZero() {
		t.Errorf("%v and %v", a.Checksum, b.Checksum)
	}
}

// TestSealFlushes covers states larger than the hash's buffer: every row counts.
func TestSealFlushes(t *testing.T) {
	h := store.Head{}
	for i := range 3000 {
		key := keyOf(t, fmt.Sprintf("%04d.md", i))
		h.Items = append(h.Items, store.Item{Key: key})
		h.Tombs = append(h.Tombs, store.Tomb{Key: key})
	}
	seen := map[api.Checksum]bool{}
	for _, i := range []int{0, 1, 700, 1500, 2998, 2999} {
		h.Items[i].Sum[0]++
		h.Seal()
		seen[h.Checksum] = true
		h.Tombs[i].Version++
		h.Seal()
		seen[h.Checksum] = true
	}
	if len(seen) != 12 {
		t.Errorf("12 states have %d checksums", len(seen))
	}
}

// TestNextAgreesWithAModel builds random chains of heads, compares each with
// maps, and every earlier one with what it was.
func TestNextAgreesWithAModel(t *testing.T) {
	names := []string{"a.md", "a/b.md", "b.md", "é.md", "m.md", "z.md"}
	rapid.Check(t, func(rt *rapid.T) {
		live, tombs := map[string]string{}, map[string]uint64{}
		head := &store.Head{Repo: repoOf(rt, "acme/api"), Epoch: "e"}
		head.Seal()
		var heads, copies []*store.Head
		for step := range rapid.IntRange(1, 10).Draw(rt, "steps") {
			c := store.Change{At: when.Add(time.Duration(step) * time.Second)}
			for _, name := range rapid.Permutation(names).Draw(rt, "order") {
				switch rapid.IntRange(0, 3).Draw(rt, "do") {
				case 0:
					live[name] = rapid.SampledFrom([]string{"", "x", "yy"}).Draw(rt, "text")
					delete(tombs, name)
					c.Puts = append(c.Puts, put(rt, name, live[name]))
				case 1:
					delete(live, name)
					tombs[name] = head.Version + 1
					c.Retire = append(c.Retire, keyOf(rt, name))
				}
			}
			head = head.Next(c)
			checkModel(rt, head, live, tombs)
			heads, copies = append(heads, head), append(copies, clone(head))
		}
		if diff := cmp.Diff(copies, heads, byValue); diff != "" {
			rt.Errorf("an older head was changed (-want +got):\n%s", diff)
		}
	})
}

func clone(h *store.Head) *store.Head {
	copied := *h
	copied.Items, copied.Tombs = slices.Clone(h.Items), slices.Clone(h.Tombs)
	return &copied
}

func checkModel(t rapid.TB, h *store.Head, live map[string]string, tombs map[string]uint64) {
	t.Helper()
	if got, want := len(h.Items)+len(h.Tombs), len(live)+len(tombs); got != want {
		t.Errorf("%d rows, not %d", got, want)
	}
	for i, name := range slices.Sorted(maps.Keys(live)) {
		if it := h.Items[i]; it.Key.String() != name || it.Sum != api.SumString(live[name]) || it.Bytes != len(live[name]) {
			t.Errorf("item %d is %+v instead of %s", i, it, name)
		}
	}
	for i, name := range slices.Sorted(maps.Keys(tombs)) {
		if tomb := h.Tombs[i]; tomb.Key.String() != name || tomb.Version != tombs[name] {
			t.Errorf("tombstone %d is %+v instead of %s", i, tomb, name)
		}
	}
	sealed := clone(h)
	if sealed.Seal(); sealed.Checksum != h.Checksum {
		t.Error("the head is not sealed")
	}
}

func TestValidate(t *testing.T) {
	a, b := put(t, "a.md", "1"), put(t, "b.md", "2")
	for _, tt := range []struct {
		name string
		c    store.Change
		ok   bool
	}{
		{"nothing", store.Change{}, true},
		{"apart", store.Change{Puts: []store.Put{a, b}, Retire: keysOf(t, "c.md", "d.md")}, true},
		{"put twice", store.Change{Puts: []store.Put{a, b, a}}, false},
		{"retired twice", store.Change{Retire: keysOf(t, "c.md", "c.md")}, false},
		{"put and retired", store.Change{Puts: []store.Put{a}, Retire: keysOf(t, "a.md")}, false},
		{"no key put", store.Change{Puts: []store.Put{{}}}, false},
		{"no key retired", store.Change{Retire: []api.Key{{}}}, false},
	} {
		if err := tt.c.Validate(); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestErrorsAreApart(t *testing.T) {
	all := []error{store.ErrNoRepo, store.ErrNoVersion, store.ErrNoCredential, store.ErrLocked, store.ErrNewerSchema, store.ErrFull}
	for i, a := range all {
		for j, b := range all {
			if errors.Is(a, b) != (i == j) {
				t.Errorf("%v is %v", a, b)
			}
		}
	}
}

func BenchmarkNext(b *testing.B) {
	c := store.Change{At: when}
	for i := range 5000 {
		c.Puts = append(c.Puts, put(b, fmt.Sprintf("notes/%04d.md", i), "x"))
	}
	h := (&store.Head{}).Next(c)
	one := store.Change{At: when, Puts: []store.Put{put(b, "notes/2500.md", "y")}}
	for b.Loop() {
		h = h.Next(one)
	}
}
