package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// epochStart is a time with more digits than a store keeps.
var epochStart = time.Date(2026, 3, 4, 5, 6, 7, 123_456_789, time.UTC)

// at returns the n-th time of a test, as it is stored.
func at(n int) time.Time {
	return epochStart.Add(time.Duration(n) * time.Second).Truncate(time.Millisecond)
}

func repoOf(t testing.TB, name string) api.Repo {
	t.Helper()
	repo, err := api.ParseRepo(name)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func keyOf(t testing.TB, name string) api.Key {
	t.Helper()
	key, err := api.ParseKey(name)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func putOf(t testing.TB, key, content string) store.Put {
	t.Helper()
	return store.Put{Key: keyOf(t, key), Content: content, Sum: api.SumString(content)}
}

// puts returns a change that puts pairs of key and content.
func puts(t testing.TB, when time.Time, pairs ...string) store.Change {
	t.Helper()
	c := store.Change{At: when}
	for i := 0; i < len(pairs); i += 2 {
		c.Puts = append(c.Puts, putOf(t, pairs[i], pairs[i+1]))
	}
	return c
}

func retires(t testing.TB, when time.Time, keys ...string) store.Change {
	t.Helper()
	c := store.Change{At: when}
	for _, key := range keys {
		c.Retire = append(c.Retire, keyOf(t, key))
	}
	return c
}

// always decides for c whatever the head is.
func always(c store.Change) func(store.Tx) (store.Change, error) {
	return func(store.Tx) (store.Change, error) { return c, nil }
}

// commit makes a change and checks that it is one more version.
func commit(t testing.TB, b store.Store, repo api.Repo, c store.Change) *store.Head {
	t.Helper()
	var before uint64
	head, err := b.Update(t.Context(), repo, func(tx store.Tx) (store.Change, error) {
		before = tx.Head().Version
		return c, nil
	})
	if err != nil {
		t.Fatalf("Update of %s: %v", repo, err)
	}
	if head.Version != before+1 {
		t.Fatalf("Update of %s made version %d of version %d", repo, head.Version, before)
	}
	return head
}

func headOf(t testing.TB, b store.Store, repo api.Repo) *store.Head {
	t.Helper()
	head, err := b.Head(t.Context(), repo)
	if err != nil {
		t.Fatalf("Head of %s: %v", repo, err)
	}
	return head
}

// contents returns what is live, as text.
func contents(t testing.TB, b store.Store, repo api.Repo) map[string]string {
	t.Helper()
	head := headOf(t, b, repo)
	sums := make([]api.Checksum, 0, len(head.Items))
	for _, it := range head.Items {
		sums = append(sums, it.Sum)
	}
	bodies, err := b.Bodies(t.Context(), repo, sums)
	if err != nil {
		t.Fatalf("Bodies of %s: %v", repo, err)
	}
	live := make(map[string]string, len(head.Items))
	for _, it := range head.Items {
		body, ok := bodies[it.Sum]
		if !ok || api.SumString(body) != it.Sum || len(body) != it.Bytes {
			t.Errorf("the body of %s is missing or is not what was put", it.Key)
		}
		live[it.Key.String()] = body
	}
	return live
}

func history(t testing.TB, b store.Store, repo api.Repo, key api.Key, limit int) []store.Version {
	t.Helper()
	versions, err := b.History(t.Context(), repo, key, limit)
	if err != nil {
		t.Fatalf("History of %s: %v", repo, err)
	}
	return versions
}

// byValue compares the nouns, whose fields are their own; no rows are no rows.
var byValue = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b api.Key) bool { return a == b }),
	cmp.Comparer(func(a, b api.Repo) bool { return a == b }),
}

// equal compares a result with what was promised.
func equal(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, byValue); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
