package storetest

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

func (s *suite) prune(r api.Repo, keep store.Retention) store.Pruned {
	s.Helper()
	done, err := s.store.Prune(s.Context(), r, keep, api.Actor{Token: "operator"}, someTime)
	if err != nil {
		s.Fatalf("pruning %q: %v", r, err)
	}
	return done
}

// erase forgets everybody with this name.
func (s *suite) erase(person string) int {
	s.Helper()
	n, err := s.store.Erase(s.Context(), func(a api.Actor) bool { return a.Person == person }, api.Actor{Token: "operator"}, someTime)
	if err != nil {
		s.Fatalf("erasing: %v", err)
	}
	return n
}

// minute is a change's time, so many minutes after the beginning.
func minute(n int) edit { return at(someTime.Add(time.Duration(n) * time.Minute)) }

// prunedVersions lists what of a key's history lost its content, newest first.
func (s *suite) prunedVersions(r api.Repo, k string) (versions []uint64) {
	s.Helper()
	for _, v := range s.history(r, key(k), 0) {
		if v.Pruned {
			versions = append(versions, v.Version)
			if v.Sum.IsZero() || len(s.bodiesOf(r, v.Sum)) != 0 {
				s.Errorf("version %d is pruned and has a content, or lost its checksum", v.Version)
			}
		} else if v.Op == store.OpPut && len(s.bodiesOf(r, v.Sum)) != 1 {
			s.Errorf("version %d is not pruned and has no content", v.Version)
		}
	}
	return versions
}

func (s *suite) bodiesOf(r api.Repo, sums ...api.Checksum) map[api.Checksum]string {
	s.Helper()
	bodies, err := s.store.Bodies(s.Context(), r, sums)
	if err != nil {
		s.Fatal(err)
	}
	return bodies
}

// written makes versions 1 to 5 of a.md, a minute apart, of contents "1" to "5".
func (s *suite) written() {
	s.Helper()
	for i := 1; i <= 5; i++ {
		s.apply(acme, put("a.md", strconv.Itoa(i)), minute(i))
	}
}

var care = map[string]func(*suite){
	"retention by age and by number": func(s *suite) {
		s.written()
		before := s.head(acme)
		chain := len(s.trail(acme))
		cut := someTime.Add(4 * time.Minute) // 1 was replaced at 2, 2 at 3, 3 at 4
		for _, c := range []struct {
			name string
			r    store.Retention
			want []uint64
			n    store.Pruned
		}{
			{"nothing asked", store.Retention{}, nil, store.Pruned{}},
			{"nothing so old", store.Retention{Before: someTime}, nil, store.Pruned{}},
			{"both ask, number forbids", store.Retention{Before: cut, Keep: 5}, nil, store.Pruned{}},
			{"both let one go", store.Retention{Before: cut, Keep: 4}, []uint64{1}, store.Pruned{Versions: 1, Bodies: 1, Bytes: 1}},
			{"age", store.Retention{Before: cut}, []uint64{2, 1}, store.Pruned{Versions: 1, Bodies: 1, Bytes: 1}},
			{"number", store.Retention{Keep: 2}, []uint64{3, 2, 1}, store.Pruned{Versions: 1, Bodies: 1, Bytes: 1}},
			{"again", store.Retention{Keep: 2}, []uint64{3, 2, 1}, store.Pruned{}},
			{"all but the live one", store.Retention{Before: someTime.Add(time.Hour)}, []uint64{4, 3, 2, 1}, store.Pruned{Versions: 1, Bodies: 1, Bytes: 1}},
		} {
			s.wantEqual(c.name+": what went", s.prune(acme, c.r), c.n)
			s.wantEqual(c.name, s.prunedVersions(acme, "a.md"), c.want)
			if c.n.Versions > 0 {
				chain++
			}
			s.wantEqual(c.name+": rows", len(s.wantChain(acme)), chain)
		}
		s.wantEqual("head", s.head(acme), before)
		s.reopen()
		s.wantEqual("head", s.head(acme), before)
		s.wantEqual("after reopening", s.prunedVersions(acme, "a.md"), []uint64{4, 3, 2, 1})
		if rows := s.trail(acme); rows[len(rows)-1].Action != store.ActionPrune || rows[len(rows)-1].Actor.Token != "operator" {
			s.Errorf("the last row: %+v", rows[len(rows)-1])
		}
	},
	"a content stays while one version needs it": func(s *suite) {
		s.apply(acme, put("a.md", "same"), put("b.md", "old"), put("c.md", "twice"), minute(1))
		s.apply(acme, put("a.md", "new"), put("b.md", "same"), put("c.md", "x"), minute(2))
		s.apply(acme, retire("c.md"), put("d.md", "twice"), minute(3))
		s.apply(acme, retire("d.md"), minute(9))
		done := s.prune(acme, store.Retention{Before: someTime.Add(5 * time.Minute)})
		s.wantEqual("what went", done, store.Pruned{Versions: 2, Bodies: 2, Bytes: int64(len("old") + len("x"))})
		s.wantEqual("of a.md, whose content b.md has", len(s.prunedVersions(acme, "a.md")), 0)
		s.wantEqual("of b.md", s.prunedVersions(acme, "b.md"), []uint64{1})
		s.wantEqual("of c.md, whose first content d.md had till later", s.prunedVersions(acme, "c.md"), []uint64{2})
		done = s.prune(acme, store.Retention{Before: someTime.Add(10 * time.Minute)})
		s.wantEqual("what went later", done, store.Pruned{Versions: 2, Bodies: 1, Bytes: int64(len("twice"))})
		s.wantEqual("tombstones", len(s.head(acme).Tombs), 2)
	},
	"what was pruned can be had and redacted": func(s *suite) {
		s.written()
		s.prune(acme, store.Retention{Keep: 2})
		if !s.had(acme, "a.md", "1") {
			s.Error("a pruned content is not known any more: it would come back")
		}
		s.apply(acme, redact("1"))
		rows := s.history(acme, api.Key{}, 0)
		if v := rows[len(rows)-1]; !v.Redacted || !v.Sum.IsZero() {
			s.Errorf("a pruned and redacted version: %+v", v)
		}
		s.apply(acme, put("a.md", "2")) // what is pruned may be written again
		s.wantEqual("bodies", len(s.bodies(acme, "2")), 1)
		s.wantChain(acme)
	},
	"pruning what is not there": func(s *suite) {
		if _, err := s.store.Prune(s.Context(), acme, store.Retention{Keep: 1}, api.Actor{}, someTime); !errors.Is(err, store.ErrNoRepo) {
			s.Errorf("error %v, want ErrNoRepo", err)
		}
		s.apply(other, put("a.md", "one"))
		s.apply(other, put("a.md", "two"))
		s.apply(acme, put("a.md", "one"))
		s.apply(acme, put("a.md", "two"))
		s.prune(acme, store.Retention{Keep: 1})
		s.wantEqual("another repo's", len(s.bodies(other, "one")), 1)
	},
	"a person is erased and the chain is whole": func(s *suite) {
		by := func(person, session string) edit {
			return func(c *store.Change) { c.Actor = api.Actor{Person: person, Session: session} }
		}
		detailed := func(c *store.Change) { c.Detail = `{"login":"ada"}` }
		for _, r := range []api.Repo{acme, other} {
			s.apply(r, put("a.md", "one"), by("ada", "1"))
			s.apply(r, put("a.md", "two"), by("ada", "2"), detailed)
			s.apply(r, put("a.md", "three"), by("ben", "1"), func(c *store.Change) { c.Detail = `{"kept":1}` })
		}
		s.audit(api.Repo{}, store.Event{Action: store.ActionSignIn, Actor: api.Actor{Person: "ada"}, At: someTime, Detail: `{"login":"ada"}`})
		s.allowRule(acme, policyEntry("p", "r", "")) // by ada
		before := s.wantChain(acme)
		s.wantEqual("actors", s.erase("ada"), 2+2+1+1)
		s.wantEqual("actors, once more", s.erase("ada"), 0)
		for range 2 {
			rows := s.trail(acme)
			for i, row := range rows {
				if row.Hash != before[i].Hash || row.ActorID != before[i].ActorID || row.Digest != before[i].Digest {
					s.Errorf("row %d changed", row.Number)
				}
			}
			s.wantEqual("actor", rows[1].Actor, api.Actor{})
			s.wantEqual("detail", rows[1].Detail+rows[2].Detail, `{"kept":1}`)
			s.wantEqual("the other's name", rows[2].Actor.Person, "ben")
			s.wantEqual("actor in the history", s.history(acme, key("a.md"), 0)[2].Actor, api.Actor{})
			s.wantEqual("actor in the policy", s.policy(acme).Entries[0].Actor, api.Actor{})
			s.wantEqual("texts", len(s.bodies(acme, "one", "two", "three")), 3)
			s.reopen()
		}
		server := s.trail(api.Repo{})
		actions := make([]string, len(server))
		for i, row := range server {
			actions[i] = row.Action + " " + row.Actor.Person + row.Actor.Token
		}
		s.wantEqual("the server's chain", actions, []string{"sign-in ", "erase operator", "erase operator"})
		s.apply(acme, put("a.md", "back"), by("ada", "1"))
		if rows := s.trail(acme); rows[3].ActorID == rows[0].ActorID || rows[3].Actor.Person != "ada" {
			s.Errorf("who comes back: %+v", rows[3])
		}
	},
	"who erases themselves is forgotten": func(s *suite) {
		n, err := s.store.Erase(s.Context(), func(a api.Actor) bool { return a.Person == "ada" }, api.Actor{Person: "ada"}, someTime)
		if err != nil || n != 0 {
			s.Errorf("%d actors, %v", n, err)
		}
		rows := s.trail(api.Repo{})
		if len(rows) != 1 || rows[0].Actor != (api.Actor{}) {
			s.Errorf("the server's chain: %+v", rows)
		}
	},
	"a new epoch shows everywhere": func(s *suite) {
		head := s.apply(acme, put("a.md", "one"))
		s.apply(other, put("a.md", "one"))
		epochs := []string{head.Epoch}
		for range 3 {
			if err := s.store.NewEpoch(s.Context()); err != nil {
				s.Fatal(err)
			}
			now := s.head(acme)
			if slices.Contains(epochs, now.Epoch) || now.Epoch == "" || now.Version != head.Version || now.Checksum != head.Checksum {
				s.Errorf("head after %v: %+v", epochs, now)
			}
			if elsewhere := s.head(other).Epoch; elsewhere != now.Epoch {
				s.Errorf("the other repo has epoch %q, want %q", elsewhere, now.Epoch)
			}
			head = s.apply(acme, put("a.md", now.Epoch))
			s.wantEqual("epoch of the next change", head.Epoch, now.Epoch)
			epochs = append(epochs, now.Epoch)
			s.reopen()
			s.wantEqual("epoch after reopening", s.head(acme).Epoch, now.Epoch)
		}
	},
	"a scrub changes nothing that can be seen": func(s *suite) {
		s.written()
		s.apply(acme, put("b.md", "value"))
		s.apply(acme, retire("b.md"), redact("value"))
		s.prune(acme, store.Retention{Keep: 2})
		head, history := s.head(acme), s.history(acme, api.Key{}, 0)
		if err := s.store.Scrub(s.Context()); err != nil {
			s.Fatal(err)
		}
		for range 2 {
			s.wantEqual("head", s.head(acme), head)
			s.wantEqual("history", s.history(acme, api.Key{}, 0), history)
			s.reopen()
		}
		if next := s.apply(acme, put("c.md", "on")); next.Version != head.Version+1 {
			s.Errorf("version %d after %d", next.Version, head.Version)
		}
	},
}
