package storetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var readTests = []test{
	{"a repo that was never written", testNoRepo},
	{"bodies by content", testBodies},
	{"every text comes back byte for byte", testTexts},
	{"keys of every script", testKeys},
	{"history is newest first", testHistory},
	{"history keeps who and under which rules", testActor},
	{"times have milliseconds", testTimes},
}

func testNoRepo(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/none")
	if _, err := f.Backend.Head(t.Context(), repo); !errors.Is(err, store.ErrNoRepo) {
		t.Errorf("Head: %v", err)
	}
	if _, err := f.Backend.History(t.Context(), repo, api.Key{}, 0); !errors.Is(err, store.ErrNoRepo) {
		t.Errorf("History: %v", err)
	}
	bodies, err := f.Backend.Bodies(t.Context(), repo, []api.Checksum{api.SumString("x")})
	if len(bodies) != 0 || (err != nil && !errors.Is(err, store.ErrNoRepo)) {
		t.Errorf("Bodies: %v, %v", bodies, err)
	}
}

func testBodies(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	commit(t, f.Backend, repo, puts(t, at(1), "a.md", "shared", "b.md", "shared", "c.md", "own"))
	commit(t, f.Backend, repo, puts(t, at(2), "c.md", "newer"))
	commit(t, f.Backend, repo, retires(t, at(3), "a.md"))
	shared, own, newer, never := api.SumString("shared"), api.SumString("own"), api.SumString("newer"), api.SumString("never")
	want := map[api.Checksum]string{shared: "shared", own: "own", newer: "newer"}
	for _, sums := range [][]api.Checksum{{shared, own, newer, never}, {never, newer, shared, shared, own, newer, {}}} {
		got, err := f.Backend.Bodies(t.Context(), repo, sums)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "bodies", want, got)
	}
	if got, err := f.Backend.Bodies(t.Context(), repo, nil); err != nil || len(got) != 0 {
		t.Errorf("no sums: %v, %v", got, err)
	}
}

func testTexts(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	texts := map[string]string{
		"empty.md":   "",
		"crlf.md":    "a\r\nb\r\n",
		"zero.md":    "a\x00b\x00",
		"bom.md":     "\ufeffa",
		"script.md":  "日本語 e\u0301 \U0001f9e0 \u202e \u2028",
		"quotes.md":  `it's "quoted" \ ? :a $1 %s`,
		"large.md":   strings.Repeat("0123456789abcde\n", 250_000/16),
		"newline.md": "\n",
	}
	c := store.Change{At: at(1)}
	for key, content := range texts {
		c.Puts = append(c.Puts, putOf(t, key, content))
	}
	commit(t, f.Backend, repo, c)
	equal(t, "contents", texts, contents(t, f.Backend, repo))
	equal(t, "contents after reopening", texts, contents(t, f.Reopen(), repo))
}

// testKeys has names that differ in case or script only, in an order that a
// locale would change.
func testKeys(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	names := []string{
		"A.md", "B.md", "a b.md", "a.md", "a/b.md", "a0.md", "b.md", "z.md", "à.md", "ß.md", "ı.md", "日本/語.md",
		"%41.md", "_.md", "\U0001f9e0.md", strings.Repeat("k", 190) + "/" + strings.Repeat("é", 90),
	}
	c := store.Change{At: at(1)}
	want := map[string]string{}
	for _, name := range names {
		c.Puts = append(c.Puts, putOf(t, name, "of "+name))
		want[name] = "of " + name
	}
	head := commit(t, f.Backend, repo, c)
	for i := 1; i < len(head.Items); i++ {
		if head.Items[i-1].Key.String() >= head.Items[i].Key.String() {
			t.Errorf("%q stands before %q", head.Items[i-1].Key, head.Items[i].Key)
		}
	}
	equal(t, "contents", want, contents(t, f.Backend, repo))
	b := f.Reopen()
	equal(t, "head after reopening", head, headOf(t, b, repo))
	for _, name := range names {
		if versions := history(t, b, repo, keyOf(t, name), 0); len(versions) != 1 || versions[0].Key.String() != name {
			t.Errorf("history of %q: %+v", name, versions)
		}
	}
}

func testHistory(t *testing.T, f Fixture) {
	repo, a, b := repoOf(t, "acme/api"), keyOf(t, "a.md"), keyOf(t, "b.md")
	commit(t, f.Backend, repo, puts(t, at(1), "b.md", "1", "a.md", "22"))
	commit(t, f.Backend, repo, puts(t, at(2), "a.md", "333"))
	commit(t, f.Backend, repo, retires(t, at(3), "a.md"))
	commit(t, f.Backend, repo, puts(t, at(4), "a.md", "22"))
	of := func(key api.Key, version uint64, content string) store.Version {
		return store.Version{Key: key, Version: version, Op: store.OpPut, Sum: api.SumString(content), Bytes: len(content), At: at(int(version))}
	}
	ofA := []store.Version{of(a, 4, "22"), {Key: a, Version: 3, Op: store.OpRetire, At: at(3)}, of(a, 2, "333"), of(a, 1, "22")}
	all := append(append([]store.Version(nil), ofA...), of(b, 1, "1"))
	check := func(s store.Store) {
		t.Helper()
		equal(t, "history of a key", ofA, history(t, s, repo, a, 0))
		equal(t, "history of a key, limited", ofA[:2], history(t, s, repo, a, 2))
		equal(t, "history of all keys", all, history(t, s, repo, api.Key{}, 0))
		equal(t, "history of all keys, limited", all[:4], history(t, s, repo, api.Key{}, 4))
		equal(t, "a limit beyond the end", all, history(t, s, repo, api.Key{}, 100))
		if got := history(t, s, repo, keyOf(t, "unknown.md"), 0); len(got) != 0 {
			t.Errorf("an unknown key has the history %+v", got)
		}
	}
	check(f.Backend)
	check(f.Reopen())
}

func testActor(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	c := puts(t, at(1), "a.md", "one")
	c.Retire = retires(t, at(1), "b.md").Retire
	c.Actor = api.Actor{Token: "ci", Person: "Zoë O'Hara", Device: "büro", Agent: "claude-code", Session: "s-1"}
	c.Rules = "v1 0123"
	commit(t, f.Backend, repo, c)
	commit(t, f.Backend, repo, puts(t, at(2), "a.md", "two"))
	versions := history(t, f.Reopen(), repo, api.Key{}, 0)
	if len(versions) != 3 {
		t.Fatalf("%d versions", len(versions))
	}
	equal(t, "nobody in particular", api.Actor{}, versions[0].Actor)
	for _, v := range versions[1:] {
		equal(t, "actor", c.Actor, v.Actor)
		equal(t, "rules", c.Rules, v.Rules)
	}
}

func testTimes(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	zone := time.FixedZone("east", 3*60*60)
	head := commit(t, f.Backend, repo, puts(t, epochStart.In(zone), "a.md", "one"))
	want := epochStart.Truncate(time.Millisecond)
	check := func(what string, got time.Time) {
		t.Helper()
		if got != want { //nolint:revive // the location counts: a stored time is UTC
			t.Errorf("%s is %v, not %v", what, got, want)
		}
	}
	check("Modified", head.Modified)
	check("an item's Modified", head.Items[0].Modified)
	check("At", history(t, f.Backend, repo, api.Key{}, 0)[0].At)
	b := f.Reopen()
	head = headOf(t, b, repo)
	check("Modified after reopening", head.Modified)
	check("an item's Modified after reopening", head.Items[0].Modified)

	odd := []time.Time{time.UnixMilli(0), time.UnixMilli(-1), {}}
	for _, when := range odd {
		commit(t, b, repo, puts(t, when, "a.md", when.String()))
	}
	for i, v := range history(t, f.Reopen(), repo, api.Key{}, len(odd)) {
		if want := odd[len(odd)-1-i]; !v.At.Equal(want) {
			t.Errorf("At is %v, not %v", v.At, want)
		}
	}
}
