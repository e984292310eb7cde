package storetest

import (
	"errors"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var updateTests = []test{
	{"a repo begins with its first change", testFirstChange},
	{"a change without effects changes nothing", testEmptyChange},
	{"versions grow by one", testVersionsGrow},
	{"a decide error changes nothing", testDecideError},
	{"a decide panic is an error", testDecidePanic},
	{"a change that breaks the contract is refused", testInvalidChange},
	{"puts and retirements go together", testMixedChange},
	{"a retired key can come back", testRevival},
	{"a retired key may never have lived", testRetireUnseen},
	{"a rename is a put and a retirement", testRename},
	{"had knows every content of a key", testHad},
	{"repos are apart", testReposApart},
	{"the head that Update returns is the head", testReturnedHead},
}

func testFirstChange(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	if _, err := f.Backend.Head(t.Context(), repo); !errors.Is(err, store.ErrNoRepo) {
		t.Errorf("Head before the first change: %v", err)
	}
	head, err := f.Backend.Update(t.Context(), repo, func(tx store.Tx) (store.Change, error) {
		zero := tx.Head()
		if zero == nil || zero.Version != 0 || zero.Repo != repo || zero.Epoch == "" || !zero.Modified.IsZero() || len(zero.Items) != 0 {
			t.Errorf("decide got %+v for a repo that was never written", zero)
		}
		return puts(t, at(1), "a.md", "one"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := store.Item{Key: keyOf(t, "a.md"), Sum: api.SumString("one"), Bytes: 3, Version: 1, Modified: at(1)}
	equal(t, "items", []store.Item{want}, head.Items)
	if head.Version != 1 || !head.Modified.Equal(at(1)) || head.Repo != repo {
		t.Errorf("the first head is %+v", head)
	}
}

func testEmptyChange(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	head, err := f.Backend.Update(t.Context(), repo, always(store.Change{At: at(1)}))
	if err != nil || head == nil || head.Version != 0 {
		t.Errorf("an empty change of a repo that was never written: %+v, %v", head, err)
	}
	if _, err := f.Backend.Head(t.Context(), repo); !errors.Is(err, store.ErrNoRepo) {
		t.Errorf("an empty change made the repo: %v", err)
	}
	before := commit(t, f.Backend, repo, puts(t, at(2), "a.md", "one"))
	head, err = f.Backend.Update(t.Context(), repo, always(store.Change{At: at(3), Rules: "r"}))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "head after an empty change", before, head)
	if got := len(history(t, f.Backend, repo, api.Key{}, 0)); got != 1 {
		t.Errorf("%d versions after one effect", got)
	}
}

func testVersionsGrow(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	seen := map[api.Checksum]bool{}
	for i := range 20 {
		c := puts(t, at(i), "a.md", string(rune('a'+i)), "b.md", string(rune('A'+i)))
		head := commit(t, f.Backend, repo, c)
		if head.Version != uint64(i+1) {
			t.Fatalf("version %d after %d changes", head.Version, i+1)
		}
		if seen[head.Checksum] {
			t.Errorf("version %d has the checksum of another", head.Version)
		}
		seen[head.Checksum] = true
	}
}

func testDecideError(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	refused := errors.New("refused")
	before := commit(t, f.Backend, repo, puts(t, at(1), "a.md", "one"))
	head, err := f.Backend.Update(t.Context(), repo, func(store.Tx) (store.Change, error) {
		return puts(t, at(2), "a.md", "two", "b.md", "three"), refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("Update returned %v instead of decide's error", err)
	}
	equal(t, "head beside decide's error", before, head)
	equal(t, "head after decide's error", before, headOf(t, f.Backend, repo))
	equal(t, "contents", map[string]string{"a.md": "one"}, contents(t, f.Backend, repo))
	bodies, err := f.Backend.Bodies(t.Context(), repo, []api.Checksum{api.SumString("two")})
	if err != nil || len(bodies) != 0 {
		t.Errorf("a refused content was stored: %v, %v", bodies, err)
	}
}

func testDecidePanic(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	before := commit(t, f.Backend, repo, puts(t, at(1), "a.md", "one"))
	_, err := f.Backend.Update(t.Context(), repo, func(store.Tx) (store.Change, error) { panic("a content") })
	if err == nil {
		t.Error("a panic of decide was a success")
	}
	equal(t, "head after a panic", before, headOf(t, f.Backend, repo))
	commit(t, f.Backend, repo, puts(t, at(2), "a.md", "two"))
}

func testInvalidChange(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	before := commit(t, f.Backend, repo, puts(t, at(1), "a.md", "one"))
	twice := puts(t, at(2), "b.md", "two", "b.md", "three")
	both := puts(t, at(2), "b.md", "two")
	both.Retire = retires(t, at(2), "b.md").Retire
	for name, c := range map[string]store.Change{
		"put twice":       twice,
		"put and retired": both,
		"retired twice":   retires(t, at(2), "a.md", "a.md"),
		"no key":          {At: at(2), Puts: []store.Put{{Content: "x", Sum: api.SumString("x")}}},
		"no retired key":  {At: at(2), Retire: []api.Key{{}}},
	} {
		if _, err := f.Backend.Update(t.Context(), repo, always(c)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	equal(t, "head", before, headOf(t, f.Backend, repo))
	commit(t, f.Backend, repo, puts(t, at(3), "a.md", "two"))
}

func testMixedChange(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	commit(t, f.Backend, repo, puts(t, at(1), "a.md", "1", "b.md", "2", "c.md", "3"))
	c := puts(t, at(2), "d.md", "4", "a.md", "5")
	c.Retire = retires(t, at(2), "c.md", "b.md").Retire
	head := commit(t, f.Backend, repo, c)
	equal(t, "contents", map[string]string{"a.md": "5", "d.md": "4"}, contents(t, f.Backend, repo))
	equal(t, "tombstones", []store.Tomb{{Key: keyOf(t, "b.md"), Version: 2}, {Key: keyOf(t, "c.md"), Version: 2}}, head.Tombs)
	if _, live := head.Item(keyOf(t, "b.md")); live {
		t.Error("a retired key is live")
	}
	if _, dead := head.Tomb(keyOf(t, "a.md")); dead {
		t.Error("a live key has a tombstone")
	}
}

func testRevival(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	commit(t, f.Backend, repo, puts(t, at(1), "a.md", "one", "b.md", "x"))
	commit(t, f.Backend, repo, retires(t, at(2), "a.md"))
	again := commit(t, f.Backend, repo, retires(t, at(3), "a.md"))
	equal(t, "a tombstone retired again", []store.Tomb{{Key: keyOf(t, "a.md"), Version: 3}}, again.Tombs)
	head := commit(t, f.Backend, repo, puts(t, at(4), "a.md", "one"))
	if len(head.Tombs) != 0 || len(head.Items) != 2 {
		t.Errorf("after a revival: %d tombstones, %d items", len(head.Tombs), len(head.Items))
	}
	equal(t, "head after reopening", head, headOf(t, f.Reopen(), repo))
}

func testRetireUnseen(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	head := commit(t, f.Backend, repo, retires(t, at(1), "never.md"))
	equal(t, "tombstones", []store.Tomb{{Key: keyOf(t, "never.md"), Version: 1}}, head.Tombs)
	versions := history(t, f.Backend, repo, keyOf(t, "never.md"), 0)
	if len(versions) != 1 || versions[0].Op != store.OpRetire || !versions[0].Sum.IsZero() {
		t.Errorf("history of a key that never lived: %+v", versions)
	}
}

func testRename(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	before := commit(t, f.Backend, repo, puts(t, at(1), "old.md", "same text"))
	c := puts(t, at(2), "new.md", "same text")
	c.Retire = retires(t, at(2), "old.md").Retire
	head := commit(t, f.Backend, repo, c)
	if head.Checksum == before.Checksum {
		t.Error("a rename left the checksum as it was")
	}
	equal(t, "contents", map[string]string{"new.md": "same text"}, contents(t, f.Backend, repo))
}

func testHad(t *testing.T, f Fixture) {
	repo, other := repoOf(t, "acme/api"), repoOf(t, "acme/web")
	commit(t, f.Backend, repo, puts(t, at(1), "a.md", "one", "b.md", "two"))
	commit(t, f.Backend, repo, puts(t, at(2), "a.md", "three"))
	commit(t, f.Backend, repo, retires(t, at(3), "a.md"))
	check := func(b store.Store, repo api.Repo, key, content string, want bool) {
		t.Helper()
		_, err := b.Update(t.Context(), repo, func(tx store.Tx) (store.Change, error) {
			got, err := tx.Had(keyOf(t, key), api.SumString(content))
			if got != want {
				t.Errorf("%s: Had(%s, %q) = %v", repo, key, content, got)
			}
			return store.Change{}, err
		})
		if err != nil {
			t.Error(err)
		}
	}
	checkAll := func(b store.Store) {
		t.Helper()
		check(b, repo, "a.md", "one", true)
		check(b, repo, "a.md", "three", true)
		check(b, repo, "a.md", "two", false)
		check(b, repo, "b.md", "two", true)
		check(b, repo, "c.md", "one", false)
		check(b, other, "a.md", "one", false)
	}
	checkAll(f.Backend)
	checkAll(f.Reopen())
}

func testReposApart(t *testing.T, f Fixture) {
	names := []string{"acme/api", "acme/web", "acme/api2", "gitlab.example.com/acme/sub/api"}
	for i, name := range names {
		for j := range i + 1 {
			commit(t, f.Backend, repoOf(t, name), puts(t, at(j), "a.md", name, "b.md", string(rune('0'+j))))
		}
	}
	b := f.Reopen()
	epoch := headOf(t, b, repoOf(t, names[0])).Epoch
	for i, name := range names {
		repo := repoOf(t, name)
		head := headOf(t, b, repo)
		if head.Version != uint64(i+1) || head.Epoch != epoch {
			t.Errorf("%s has version %d of %d, epoch %q", name, head.Version, i+1, head.Epoch)
		}
		equal(t, name, map[string]string{"a.md": name, "b.md": string(rune('0' + i))}, contents(t, b, repo))
	}
	bodies, err := b.Bodies(t.Context(), repoOf(t, names[0]), []api.Checksum{api.SumString(names[1])})
	if err != nil || len(bodies) != 0 {
		t.Errorf("a repo answers another's content: %v, %v", bodies, err)
	}
}

func testReturnedHead(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	for i := range 5 {
		head := commit(t, f.Backend, repo, puts(t, at(i), "a.md", string(rune('a'+i))))
		equal(t, "Head after Update", head, headOf(t, f.Backend, repo))
		sealed := *head
		sealed.Seal()
		if sealed.Checksum != head.Checksum {
			t.Error("the head is not sealed")
		}
	}
	equal(t, "Head after reopening", commit(t, f.Backend, repo, retires(t, at(9), "a.md")), headOf(t, f.Reopen(), repo))
}
