package storetest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

func (s *suite) audit(r api.Repo, e store.Event) {
	s.Helper()
	if err := s.store.Audit(s.Context(), r, e); err != nil {
		s.Fatalf("auditing %q: %v", r, err)
	}
}

func (s *suite) trail(r api.Repo) []store.AuditRow {
	s.Helper()
	rows, err := s.store.Trail(s.Context(), r, 0, 0)
	if err != nil {
		s.Fatalf("trail of %q: %v", r, err)
	}
	return rows
}

var pseudonym = regexp.MustCompile(`^[0-9a-f]{32}$`)

// wantChain checks that the rows are a whole chain and that each seals the
// versions that are in the history.
func (s *suite) wantChain(r api.Repo) []store.AuditRow {
	s.Helper()
	rows := s.trail(r)
	var before [32]byte
	for i, row := range rows {
		if row.Number != uint64(i+1) || row.Chain(before) != row.Hash {
			s.Errorf("row %d of %q: number %d, or its hash is not that of the chain", i+1, r, row.Number)
		}
		if row.Digest != store.DigestDetail(row.Salt, row.Detail) {
			s.Errorf("row %d of %q: its digest is not that of its detail", i+1, r)
		}
		if !pseudonym.MatchString(row.ActorID) {
			s.Errorf("row %d of %q: pseudonym %q", i+1, r, row.ActorID)
		}
		before = row.Hash
	}
	s.wantSeals(r, rows)
	return rows
}

func (s *suite) wantSeals(r api.Repo, rows []store.AuditRow) {
	s.Helper()
	history, err := s.store.History(s.Context(), r, api.Key{}, 0)
	if err != nil && !errors.Is(err, store.ErrNoRepo) {
		s.Fatal(err)
	}
	made := make(map[uint64][]store.Version)
	for _, v := range history {
		made[v.Version] = append(made[v.Version], v)
	}
	last := uint64(0)
	for _, row := range rows {
		if row.Version == 0 {
			continue
		}
		if row.Version != last+1 {
			s.Errorf("%q: version %d follows %d in the chain", r, row.Version, last)
		}
		last = row.Version
		var seals [][32]byte
		var keys []api.Key
		redacted := false
		for _, v := range made[row.Version] {
			if v.ActorID != row.ActorID || !v.At.Equal(row.At) || v.Actor != row.Actor {
				s.Errorf("%q: version %d is by %s at %v, its row by %s at %v", r, v.Version, v.ActorID, v.At, row.ActorID, row.At)
			}
			redacted = redacted || v.Redacted
			seals = append(seals, v.Seal())
			if !v.Redacted {
				keys = append(keys, v.Key)
			}
		}
		s.wantEqual("keys of a row", row.Keys, keys)
		if !redacted && store.SealAll(seals) != row.Seals {
			s.Errorf("%q: row %d does not seal version %d", r, row.Number, row.Version)
		}
	}
	if head, err := s.store.Head(s.Context(), r); err == nil && head.Version != last {
		s.Errorf("%q has version %d, its chain %d", r, head.Version, last)
	}
}

var audits = map[string]func(*suite){
	"every change adds a row": func(s *suite) {
		s.apply(acme, put("b.md", "one"), put("a.md", "two"), retire("0.md"))
		s.apply(acme) // no change, no row
		s.apply(acme, retire("a.md"))
		s.apply(acme, redact("two"), func(c *store.Change) {
			c.Action, c.Detail, c.Actor = store.ActionRedact, `{"why":"leak"}`, api.Actor{User: "u1", Person: "ben"}
		})
		s.reopen()
		rows := s.wantChain(acme)
		var got []string
		for _, row := range rows {
			got = append(got, fmt.Sprint(row.Number, " ", row.Action, " ", row.Version, " ", row.Actor.Person, " ", row.Detail))
		}
		s.wantEqual("rows", got, []string{"1 write 1 ada ", "2 write 2 ada ", `3 redact 3 ben {"why":"leak"}`})
		if rows[0].ActorID != rows[1].ActorID || rows[0].ActorID == rows[2].ActorID {
			s.Error("pseudonyms do not follow the actors")
		}
		if rows[2].Seals != [32]byte{} || !rows[2].At.Equal(someTime) || rows[2].Actor.User != "u1" {
			s.Errorf("the last row: %+v", rows[2])
		}
	},
	"a refused change adds none": func(s *suite) {
		s.apply(acme, put("a.md", "one"))
		_, err := s.store.Update(s.Context(), acme, func(store.Tx) (store.Change, error) { return changeOf(put("a.md", "x")), errRefused })
		if !errors.Is(err, errRefused) {
			s.Error(err)
		}
		s.wantEqual("rows", len(s.wantChain(acme)), 1)
	},
	"a chain takes other events, of the server as well": func(s *suite) {
		for _, r := range []api.Repo{{}, acme} {
			s.wantEqual("an empty chain", len(s.trail(r)), 0)
			s.audit(r, store.Event{Action: store.ActionTokenCreate, Actor: api.Actor{Token: "t"}, At: someTime.Add(1234567 * time.Nanosecond), Detail: `{"id":"x"}`})
			s.audit(r, store.Event{Action: store.ActionTokenRevoke, At: someTime})
		}
		s.wantNoRepo(acme)
		s.wantEqual("repos", len(s.repos()), 0)
		s.apply(acme, put("a.md", "one"))
		s.audit(acme, store.Event{Action: store.ActionAllow, At: someTime})
		s.apply(acme, put("a.md", "two"))
		s.reopen()
		rows := s.wantChain(acme)
		var got []string
		for _, row := range rows {
			got = append(got, fmt.Sprint(row.Action, " ", row.Version))
		}
		s.wantEqual("rows", got, []string{"token.create 0", "token.revoke 0", "write 1", "allow 0", "write 2"})
		s.wantEqual("time", rows[0].At, someTime.Add(time.Millisecond))
		server := s.wantChain(api.Repo{})
		if len(server) != 2 || server[0].ActorID == rows[0].ActorID {
			s.Error("the server's chain is not its own, or shares pseudonyms with a repo's")
		}
	},
	"a trail is read in parts": func(s *suite) {
		for i := range 7 {
			s.apply(acme, put("a.md", strconv.Itoa(i)))
		}
		all := s.trail(acme)
		for _, c := range []struct {
			after uint64
			limit int
			want  []store.AuditRow
		}{{0, 3, all[:3]}, {3, 0, all[3:]}, {3, 2, all[3:5]}, {7, 0, nil}, {99, 1, nil}} {
			got, err := s.store.Trail(s.Context(), acme, c.after, c.limit)
			if err != nil {
				s.Fatal(err)
			}
			s.wantEqual(fmt.Sprintf("%d after %d", c.limit, c.after), got, c.want)
		}
	},
	"an actor has one pseudonym in a repo, and another in the next": func(s *suite) {
		people := []api.Actor{
			{},
			{Token: "x"},
			{User: "x"},
			{Person: "x"},
			{Device: "x"},
			{Agent: "x"},
			{Session: "x"},
			{Person: "x", Session: "x"},
			{Token: "a", User: "b", Person: "Ä", Device: "d", Agent: "e", Session: "f"},
		}
		seen := make(map[string]api.Actor)
		for _, r := range []api.Repo{acme, other} {
			for _, who := range people {
				acting := func(c *store.Change) { c.Actor = who }
				s.apply(r, put("a.md", "one"), acting)
				s.apply(r, put("a.md", "two"), acting)
			}
			s.reopen()
			for i, v := range s.history(r, key("a.md"), 0) {
				want := people[len(people)-1-i/2]
				s.wantEqual("actor", v.Actor, want)
				if first, again := seen[v.ActorID]; again != (i%2 == 1) || (again && first != want) {
					s.Errorf("pseudonym of %+v was given to %+v before", want, first)
				}
				seen[v.ActorID] = want
			}
		}
	},
	"rows of many writers are one chain": func(s *suite) {
		beside := s.beside()
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				for i := range 8 {
					acting := func(c *store.Change) { c.Actor = api.Actor{Session: fmt.Sprint(w, i%3)} }
					if _, err := s.store.Update(s.Context(), acme, deciding(changeOf(put(fmt.Sprint(w, ".md"), strconv.Itoa(i)), acting))); err != nil {
						s.Error(err)
					}
					if err := s.store.Audit(s.Context(), acme, store.Event{Action: store.ActionAllow, At: someTime, Actor: api.Actor{Session: strconv.Itoa(w)}}); err != nil {
						s.Error(err)
					}
					if err := beside.Audit(s.Context(), acme, store.Event{Action: store.ActionTokenCreate, At: someTime, Actor: api.Actor{Token: strconv.Itoa(i)}}); err != nil {
						s.Error(err)
					}
				}
			})
		}
		all.Wait()
		s.wantEqual("rows", len(s.wantChain(acme)), 3*8*8)
	},
	"a redaction leaves the chain whole": func(s *suite) {
		s.apply(acme, put("a.md", "value"), put("b.md", "kept"))
		s.apply(acme, put("a.md", "clean"))
		before := s.wantChain(acme)
		s.apply(acme, redact("value"))
		before[0].Keys = before[0].Keys[1:] // which key had it is gone as well
		s.wantEqual("earlier rows", s.wantChain(acme)[:2], before)
	},
	"the chain is whole after a crash": func(s *suite) {
		for i := range 5 {
			s.apply(acme, put("a.md", strconv.Itoa(i)))
		}
		want := s.trail(acme)
		crashed := &suite{T: s.T, store: s.crash()}
		s.wantEqual("rows", crashed.wantChain(acme), want)
	},
}

func (s *suite) repos() []api.Repo {
	s.Helper()
	repos, err := s.store.Repos(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	if !slices.IsSortedFunc(repos, func(a, b api.Repo) int { return slices.Compare([]byte(a.String()), []byte(b.String())) }) {
		s.Errorf("repos are not sorted: %v", repos)
	}
	return repos
}
