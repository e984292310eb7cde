package storetest

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Harness gives one test the stores on one storage, which nobody else uses.
type Harness struct {
	// Open opens the store for serving: the first time an empty one, after it
	// was closed the same again. The suite closes it.
	Open func() (store.Backend, error)
	// Beside opens another handle on the same storage, as `server token` does
	// while a server runs, for credentials only. The suite closes it.
	Beside func() (store.Backend, error)
	// Crash opens, for serving, what the storage would hold if the machine went
	// down at this moment; the store that is open goes on unaware. The suite
	// closes it. Without Crash, the tests that need it are skipped.
	Crash func() (store.Backend, error)
}

// Run runs the whole suite. fresh is called once for every test.
func Run(t *testing.T, fresh func(t *testing.T) Harness) {
	t.Helper()
	for _, group := range []map[string]func(*suite){writing, reading, concurrency, lifecycle, crashes, tokens, joinCodes, policies, redactions, audits, names, devices, care} {
		for _, name := range slices.Sorted(maps.Keys(group)) {
			run := group[name]
			t.Run(name, func(t *testing.T) {
				s := &suite{T: t, harness: fresh(t)}
				s.open()
				defer func() { s.close() }()
				run(s)
			})
		}
	}
}

// suite is one test with its store.
type suite struct {
	*testing.T

	harness Harness
	store   store.Backend
}

func (s *suite) open() {
	s.Helper()
	opened, err := s.harness.Open()
	if err != nil {
		s.Fatalf("opening: %v", err)
	}
	s.store = opened
}

func (s *suite) close() {
	s.Helper()
	if s.store == nil {
		return
	}
	s.wantSound(s.store)
	if err := s.store.Close(); err != nil {
		s.Errorf("closing: %v", err)
	}
	s.store = nil
}

// wantSound checks that a store finds nothing wrong with itself.
func (s *suite) wantSound(b store.Backend) {
	s.Helper()
	err := b.Check(s.Context(), func(p store.Problem) { s.Errorf("%q %q: %s", p.Repo, p.Key, p.What) })
	if err != nil && s.Context().Err() == nil {
		s.Errorf("checking the store: %v", err)
	}
}

func (s *suite) reopen() {
	s.Helper()
	s.close()
	s.open()
}

func (s *suite) beside() store.Backend {
	s.Helper()
	other, err := s.harness.Beside()
	if err != nil {
		s.Fatalf("opening beside: %v", err)
	}
	s.Cleanup(func() {
		if err := other.Close(); err != nil {
			s.Errorf("closing the handle beside: %v", err)
		}
	})
	return other
}

// apply makes one change that must succeed.
func (s *suite) apply(repo api.Repo, edits ...edit) *store.Head {
	s.Helper()
	head, err := s.store.Update(s.Context(), repo, deciding(changeOf(edits...)))
	if err != nil {
		s.Fatalf("updating %q: %v", repo, err)
	}
	return head
}

func (s *suite) head(repo api.Repo) *store.Head {
	s.Helper()
	head, err := s.store.Head(s.Context(), repo)
	if err != nil {
		s.Fatalf("head of %q: %v", repo, err)
	}
	return head
}

func (s *suite) history(repo api.Repo, k api.Key, limit int) []store.Version {
	s.Helper()
	versions, err := s.store.History(s.Context(), repo, k, limit)
	if err != nil {
		s.Fatalf("history of %q: %v", repo, err)
	}
	return versions
}

func (s *suite) bodies(repo api.Repo, contents ...string) map[api.Checksum]string {
	s.Helper()
	sums := make([]api.Checksum, len(contents))
	for i, content := range contents {
		sums[i] = api.SumString(content)
	}
	bodies, err := s.store.Bodies(s.Context(), repo, sums)
	if err != nil {
		s.Fatalf("bodies of %q: %v", repo, err)
	}
	return bodies
}

// wantNoRepo checks that repo was never written.
func (s *suite) wantNoRepo(repo api.Repo) {
	s.Helper()
	if _, err := s.store.Head(s.Context(), repo); !errors.Is(err, store.ErrNoRepo) {
		s.Errorf("head of %q: error %v, want ErrNoRepo", repo, err)
	}
	if _, err := s.store.History(s.Context(), repo, api.Key{}, 0); !errors.Is(err, store.ErrNoRepo) {
		s.Errorf("history of %q: error %v, want ErrNoRepo", repo, err)
	}
	if _, err := s.store.Bodies(s.Context(), repo, nil); !errors.Is(err, store.ErrNoRepo) {
		s.Errorf("bodies of %q: error %v, want ErrNoRepo", repo, err)
	}
}

func (s *suite) wantEqual(what string, got, want any) {
	s.Helper()
	if diff := diffOf(want, got); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func diffOf(want, got any) string {
	return cmp.Diff(want, got, cmpopts.EquateComparable(api.Key{}, api.Repo{}), cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(store.Version{}, "ActorID", "Salt")) // random; tests of the chains look at them
}

// edit is one part of a change.
type edit func(*store.Change)

func put(k, content string) edit {
	return func(c *store.Change) {
		c.Puts = append(c.Puts, store.Put{Key: key(k), Content: content, Sum: api.SumString(content)})
	}
}

func retire(k string) edit {
	return func(c *store.Change) { c.Retire = append(c.Retire, key(k)) }
}

func at(t time.Time) edit { return func(c *store.Change) { c.At = t } }

// someTime is when changes happen that do not say when.
var someTime = time.Date(2026, 5, 4, 3, 2, 1, 123e6, time.UTC)

func changeOf(edits ...edit) store.Change {
	c := store.Change{At: someTime, Actor: api.Actor{Person: "ada"}, Rules: "rules-1"}
	for _, e := range edits {
		e(&c)
	}
	return c
}

func deciding(c store.Change) func(store.Tx) (store.Change, error) {
	return func(store.Tx) (store.Change, error) { return c, nil }
}

// Key parses a name that a test wrote itself, and panics where it is none.
func Key(s string) api.Key {
	k, err := api.ParseKey(s)
	if err != nil {
		panic(err)
	}
	return k
}

// Repo parses a name as [Key] does.
func Repo(s string) api.Repo {
	r, err := api.ParseRepo(s)
	if err != nil {
		panic(err)
	}
	return r
}

var (
	key, repo = Key, Repo

	acme  = repo("acme/api")
	other = repo("git.example.com/group/sub/other")
)
