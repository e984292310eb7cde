package storetest

import (
	"crypto/sha256"
	"errors"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// token makes a token; its hash is that of its ID, so that none looks real.
func token(id string) store.Token {
	return store.Token{
		ID: id, Name: "name of " + id, Hash: sha256.Sum256([]byte(id)), Repos: "acme/*", Role: api.Writer, CreatedAt: someTime,
	}
}

func (s *suite) addToken(t store.Token) {
	s.Helper()
	if err := s.store.AddToken(s.Context(), t); err != nil {
		s.Fatalf("adding token %q: %v", t.ID, err)
	}
}

func (s *suite) wantToken(want store.Token) {
	s.Helper()
	got, err := s.store.TokenByHash(s.Context(), want.Hash)
	if err != nil {
		s.Errorf("token %q: %v", want.ID, err)
	}
	s.wantEqual("token "+want.ID, got, want)
}

func (s *suite) tokenIDs() (ids []string) {
	s.Helper()
	all, err := s.store.Tokens(s.Context())
	if err != nil {
		s.Fatalf("listing tokens: %v", err)
	}
	for _, t := range all {
		ids = append(ids, t.ID)
	}
	return ids
}

// generations checks that the number differs after each step.
func (s *suite) generations(steps ...func()) {
	s.Helper()
	seen := make(map[uint64]bool)
	for i := 0; ; i++ {
		g, err := s.store.Generation(s.Context())
		if err != nil {
			s.Fatalf("generation: %v", err)
		}
		if seen[g] {
			s.Errorf("generation %d again after step %d", g, i)
		}
		seen[g] = true
		if again, _ := s.store.Generation(s.Context()); again != g {
			s.Errorf("generation went from %d to %d without a change", g, again)
		}
		if i == len(steps) {
			return
		}
		steps[i]()
	}
}

var tokens = map[string]func(*suite){
	"a token is found by its hash, whatever its state": func(s *suite) {
		plain, expired, revoked := token("plain"), token("expired"), token("revoked")
		expired.ExpiresAt = someTime.Add(-time.Hour)
		revoked.RevokedAt, revoked.Role = someTime.Add(time.Minute), api.Admin
		for _, t := range []store.Token{plain, expired, revoked} {
			s.addToken(t)
		}
		s.reopen()
		for _, t := range []store.Token{plain, expired, revoked} {
			s.wantToken(t)
		}
		if _, err := s.store.TokenByHash(s.Context(), sha256.Sum256([]byte("unknown"))); !errors.Is(err, store.ErrNoCredential) {
			s.Errorf("unknown hash: %v, want ErrNoCredential", err)
		}
	},
	"a token's ID and hash are its own": func(s *suite) {
		first := token("one")
		s.addToken(first)
		sameID := token("two")
		sameID.ID = "one"
		sameHash := token("one")
		sameHash.ID = "two"
		for _, t := range []store.Token{first, sameID, sameHash} {
			if err := s.store.AddToken(s.Context(), t); err == nil {
				s.Errorf("token %+v was stored twice", t.ID)
			}
		}
		s.wantEqual("tokens", s.tokenIDs(), []string{"one"})
		s.wantToken(first)
	},
	"tokens are listed oldest first": func(s *suite) {
		for i, id := range []string{"c", "a", "b"} {
			t := token(id)
			t.CreatedAt = someTime.Add(time.Duration(-i) * time.Second)
			s.addToken(t)
		}
		s.wantEqual("tokens", s.tokenIDs(), []string{"b", "a", "c"})
	},
	"revoking twice keeps the first time": func(s *suite) {
		t := token("one")
		s.addToken(t)
		s.addToken(token("bystander"))
		t.RevokedAt = someTime.Add(time.Hour)
		for i := range 3 {
			if err := s.store.RevokeToken(s.Context(), "one", t.RevokedAt.Add(time.Duration(i)*time.Hour)); err != nil {
				s.Errorf("revoking: %v", err)
			}
			s.wantToken(t)
		}
		s.wantToken(token("bystander"))
		if err := s.store.RevokeToken(s.Context(), "unknown", someTime); !errors.Is(err, store.ErrNoCredential) {
			s.Errorf("revoking an unknown ID: %v, want ErrNoCredential", err)
		}
	},
	"a revocation without a time is refused": func(s *suite) {
		s.addToken(token("one"))
		err := s.store.RevokeToken(s.Context(), "one", time.Time{})
		got, readErr := s.store.TokenByHash(s.Context(), token("one").Hash)
		if readErr != nil {
			s.Fatal(readErr)
		}
		if err == nil && got.RevokedAt.IsZero() {
			s.Error("a revocation was acknowledged and the token lives")
		}
	},
	"the generation changes with every change of tokens": func(s *suite) {
		s.generations(
			func() { s.addToken(token("one")) },
			func() { s.addToken(token("two")) },
			func() {
				if err := s.store.RevokeToken(s.Context(), "one", someTime); err != nil {
					s.Error(err)
				}
			},
			func() {
				s.addCode("code", someTime.Add(time.Hour))
				if err := s.redeem("code", someTime, "minted"); err != nil {
					s.Error(err)
				}
			},
		)
	},
	"another handle changes credentials beside the server": func(s *suite) {
		beside := s.beside()
		s.generations(
			func() {
				if err := beside.AddToken(s.Context(), token("one")); err != nil {
					s.Errorf("adding beside: %v", err)
				}
				s.wantToken(token("one"))
			},
			func() {
				if err := beside.RevokeToken(s.Context(), "one", someTime); err != nil {
					s.Errorf("revoking beside: %v", err)
				}
				revoked := token("one")
				revoked.RevokedAt = someTime
				s.wantToken(revoked)
			},
			func() { s.addToken(token("two")) },
		)
		if all, err := beside.Tokens(s.Context()); err != nil || len(all) != 2 {
			s.Errorf("beside: %d tokens, %v", len(all), err)
		}
	},
	"another handle may not change repos": func(s *suite) {
		beside := s.beside()
		s.apply(acme, put("a.md", "one"))
		for i := range 3 {
			if _, err := beside.Update(s.Context(), acme, deciding(changeOf(put("b.md", "two")))); err == nil {
				s.Error("a repo was changed beside the server")
			}
			want := s.apply(acme, put("a.md", string(rune('a'+i))))
			got, err := beside.Head(s.Context(), acme)
			if err != nil {
				s.Errorf("head beside the server: %v", err)
			}
			s.wantEqual("head beside the server", got, want)
		}
	},
}
