package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// RunAccounts runs the part of the suite that is about [store.Accounts]. fresh is
// called once for every test.
func RunAccounts(t *testing.T, fresh func(t *testing.T) Harness) {
	t.Helper()
	for _, group := range []map[string]func(*suite){people, requests, families, members} {
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

func user(name string) store.User {
	return store.User{
		ID: "id of " + name, Issuer: "https://issuer.example", Subject: "subject of " + name, Login: name, Name: "Name of " + name,
		Email: name + "@example.com", Groups: []string{"one", "two"}, Upstream: []byte("sealed " + name), CreatedAt: someTime, SeenAt: someTime,
	}
}

func (s *suite) saveUser(u store.User) store.User {
	s.Helper()
	saved, err := s.store.SaveUser(s.Context(), u)
	if err != nil {
		s.Fatalf("saving user %q: %v", u.Login, err)
	}
	return saved
}

func (s *suite) wantUser(want store.User) {
	s.Helper()
	got, err := s.store.User(s.Context(), want.ID)
	if err != nil {
		s.Errorf("user %q: %v", want.ID, err)
	}
	s.wantEqual("user "+want.ID, got, want)
}

// join redeems a code for a user.
func (s *suite) join(code string, now time.Time, u store.User) (store.User, error) {
	return s.store.JoinUser(s.Context(), sha256.Sum256([]byte(code)), now, maxTries, u)
}

func (s *suite) generation() uint64 {
	s.Helper()
	g, err := s.store.Generation(s.Context())
	if err != nil {
		s.Fatalf("generation: %v", err)
	}
	return g
}

// moves checks whether a step moves the generation of credentials.
func (s *suite) moves(what string, want bool, step func() error) {
	s.Helper()
	before := s.generation()
	if err := step(); err != nil {
		s.Errorf("%s: %v", what, err)
	}
	if moved := s.generation() != before; moved != want {
		s.Errorf("%s: the generation moved: %v, want %v", what, moved, want)
	}
}

var people = map[string]func(*suite){
	"a user is stored by issuer and subject": func(s *suite) {
		ada := user("ada")
		s.wantEqual("saved", s.saveUser(ada), ada)
		s.reopen()
		s.wantUser(ada)
		again := user("ada")
		again.ID, again.CreatedAt = "another", someTime.Add(time.Hour)
		again.Login, again.Groups, again.Upstream, again.SeenAt = "lovelace", nil, nil, someTime.Add(time.Hour)
		again.Member = []store.Membership{{Repo: acme, Role: api.Admin}}
		want := again
		want.ID, want.CreatedAt, want.Member = ada.ID, ada.CreatedAt, nil
		s.wantEqual("saved again", s.saveUser(again), want)
		s.wantUser(want)
		other := user("ada")
		other.ID, other.Issuer, other.CreatedAt = "elsewhere", "https://other.example", someTime.Add(-time.Hour)
		s.saveUser(other)
		list, err := s.store.Users(s.Context())
		if err != nil {
			s.Error(err)
		}
		s.wantEqual("users", list, []store.User{other, want})
		if _, err := s.store.User(s.Context(), "another"); !errors.Is(err, store.ErrNoUser) {
			s.Errorf("an unknown user: %v, want ErrNoUser", err)
		}
	},
	"a user is changed but for identity": func(s *suite) {
		ada := s.saveUser(user("ada"))
		err := s.store.ChangeUser(s.Context(), ada.ID, func(u store.User) (store.User, error) {
			s.wantEqual("given", u, ada)
			u.Issuer, u.Subject, u.CreatedAt, u.Upstream = "x", "y", someTime.Add(time.Hour), []byte("other")
			return u, nil
		})
		if err != nil {
			s.Error(err)
		}
		ada.Upstream = []byte("other")
		s.wantUser(ada)
		err = s.store.ChangeUser(s.Context(), ada.ID, func(store.User) (store.User, error) { return store.User{}, errRefused })
		if !errors.Is(err, errRefused) {
			s.Errorf("a refusal: %v", err)
		}
		s.wantUser(ada)
		err = s.store.ChangeUser(s.Context(), "nobody", func(u store.User) (store.User, error) { return u, nil })
		if !errors.Is(err, store.ErrNoUser) {
			s.Errorf("nobody: %v, want ErrNoUser", err)
		}
	},
	"what others look at moves the generation": func(s *suite) {
		ada := s.saveUser(user("ada"))
		save := func() error { _, err := s.store.SaveUser(s.Context(), ada); return err }
		ada.SeenAt, ada.Upstream = someTime.Add(time.Hour), []byte("fresh")
		s.moves("signing in again", false, save)
		ada.Groups = []string{"one"}
		s.moves("leaving a group", true, save)
		s.addCode("code", someTime.Add(time.Minute))
		s.moves("joining", true, func() error { _, err := s.join("code", someTime, ada); return err })
	},
	"a join code makes a member": func(s *suite) {
		s.addCode("one", someTime.Add(time.Minute))
		ada := user("ada")
		joined, err := s.join("one", someTime, ada)
		if err != nil {
			s.Fatal(err)
		}
		ada.Member = []store.Membership{{Repo: acme, Role: api.Writer}}
		s.wantEqual("joined", joined, ada)
		s.wantUser(ada)
		if _, err := s.join("one", someTime, user("bob")); !errors.Is(err, store.ErrNoCredential) {
			s.Errorf("the code again: %v, want ErrNoCredential", err)
		}
		if err := s.store.AddJoinCode(s.Context(), store.JoinCode{Hash: sha256.Sum256([]byte("two")), Repo: other, Role: api.Reader, ExpiresAt: someTime.Add(time.Minute)}); err != nil {
			s.Fatal(err)
		}
		s.addCode("three", someTime.Add(time.Minute))
		for _, code := range []string{"two", "three"} {
			if joined, err = s.join(code, someTime, user("ada")); err != nil {
				s.Fatal(err)
			}
		}
		ada.Member = append(ada.Member, store.Membership{Repo: other, Role: api.Reader})
		s.wantEqual("joined thrice", joined, ada)
		s.wantUser(ada)
	},
	"a wrong join code of a user burns the others": func(s *suite) {
		s.addCode("one", someTime.Add(time.Minute))
		for range maxTries {
			if _, err := s.join("wrong", someTime, user("ada")); !errors.Is(err, store.ErrNoCredential) {
				s.Errorf("a wrong code: %v", err)
			}
		}
		s.wantMiss("one", someTime)
		s.addCode("late", someTime)
		if _, err := s.join("late", someTime, user("ada")); !errors.Is(err, store.ErrNoCredential) {
			s.Errorf("a code at its end: %v", err)
		}
		if _, err := s.store.User(s.Context(), user("ada").ID); !errors.Is(err, store.ErrNoUser) {
			s.Errorf("a wrong code made a user: %v", err)
		}
	},
	"of many users who redeem a code at once one joins": func(s *suite) {
		const callers = 8
		s.addCode("code", someTime.Add(time.Minute))
		var all sync.WaitGroup
		var won atomic.Int64
		for i := range callers {
			all.Go(func() {
				_, err := s.join("code", someTime, user(fmt.Sprintf("u%d", i)))
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, store.ErrNoCredential):
					s.Errorf("joining: %v", err)
				}
			})
		}
		all.Wait()
		list, err := s.store.Users(s.Context())
		if won.Load() != 1 || len(list) != 1 || err != nil {
			s.Errorf("%d joined, %d users, %v", won.Load(), len(list), err)
		}
	},
	"dropping a user ends what is theirs": func(s *suite) {
		ada, bob := s.saveUser(user("ada")), s.saveUser(user("bob"))
		mine, theirs := s.addFamily("mine", ada.ID), s.addFamily("theirs", bob.ID)
		s.addRequest(request(store.BrowserRequest, "cookie", func(r *store.Request) { r.User = ada.ID }))
		s.moves("dropping", true, func() error { return s.store.DropUser(s.Context(), ada.ID, someTime.Add(time.Hour)) })
		if _, err := s.store.User(s.Context(), ada.ID); !errors.Is(err, store.ErrNoUser) {
			s.Errorf("the user is there: %v", err)
		}
		if t := s.token(mine.Access.Hash); t.RevokedAt.IsZero() {
			s.Error("the token of a dropped user lives")
		}
		if t := s.token(theirs.Access.Hash); !t.RevokedAt.IsZero() {
			s.Error("another's token was revoked")
		}
		s.wantNoRequest(store.BrowserRequest, "cookie")
		list, err := s.store.Families(s.Context(), "")
		if err != nil || len(list) != 1 || list[0].ID != "theirs" {
			s.Errorf("families %v, %v", list, err)
		}
		if err := s.store.DropUser(s.Context(), ada.ID, someTime); err != nil {
			s.Errorf("dropping twice: %v", err)
		}
	},
}

// token reads a token that must be there.
func (s *suite) token(hash [32]byte) store.Token {
	s.Helper()
	t, err := s.store.TokenByHash(s.Context(), hash)
	if err != nil {
		s.Errorf("token: %v", err)
	}
	return t
}
