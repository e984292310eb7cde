package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// issue makes a family's first tokens; the refresh token is called "<id>.1".
func issue(id, user string) store.Issue {
	f := store.Family{
		ID: id, User: user, Client: "client", Device: "laptop", Address: "192.0.2.1", Generation: 1,
		CreatedAt: someTime, RotatedAt: someTime, ExpiresAt: someTime.Add(90 * 24 * time.Hour),
	}
	return store.Issue{Family: f, Refresh: refreshHash(id, 1), Access: accessToken(id, 1)}
}

func refreshHash(id string, generation uint64) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s.%d", id, generation))
}

func accessToken(id string, generation uint64) store.Token {
	t := token(fmt.Sprintf("%s-access-%d", id, generation))
	t.Repos, t.Role, t.ExpiresAt = "", api.NoRole, someTime.Add(time.Hour)
	return t
}

func (s *suite) addFamily(id, user string) store.Issue {
	s.Helper()
	i := issue(id, user)
	if err := s.store.AddFamily(s.Context(), i); err != nil {
		s.Fatalf("adding family %q: %v", id, err)
	}
	return i
}

// readFamily returns what decide is given for a refresh token.
func (s *suite) readFamily(refresh string) (f store.Family, r store.Refresh, err error) {
	err = s.store.ChangeFamily(s.Context(), sha256.Sum256([]byte(refresh)), func(have store.Family, presented store.Refresh) (store.Issue, error) {
		f, r = have, presented
		return store.Issue{}, nil
	})
	return f, r, err
}

func (s *suite) wantFamily(refresh string, want store.Family, presented store.Refresh) {
	s.Helper()
	f, r, err := s.readFamily(refresh)
	if err != nil {
		s.Errorf("the family of %q: %v", refresh, err)
	}
	s.wantEqual("the family of "+refresh, f, want)
	s.wantEqual("what "+refresh+" is", r, presented)
}

// rotate gives out the next generation at a time.
func (s *suite) rotate(id string, presented uint64, when time.Time) store.Family {
	s.Helper()
	var next store.Family
	err := s.store.ChangeFamily(s.Context(), refreshHash(id, presented), func(f store.Family, _ store.Refresh) (store.Issue, error) {
		f.Generation++
		f.RotatedAt, f.ExpiresAt = when, when.Add(90*24*time.Hour)
		next = f
		return store.Issue{Family: f, Refresh: refreshHash(id, f.Generation), Access: accessToken(id, f.Generation)}, nil
	})
	if err != nil {
		s.Fatalf("rotating %q: %v", id, err)
	}
	return next
}

var families = map[string]func(*suite){
	"a family rotates": func(s *suite) {
		first := s.addFamily("f", "ada")
		s.reopen()
		s.wantFamily("f.1", first.Family, store.Refresh{Generation: 1})
		want := first.Access
		want.User, want.Family, want.Generation = "ada", "f", 1
		s.wantToken(want)
		before := s.generation()
		second := s.rotate("f", 1, someTime.Add(time.Hour))
		third := s.rotate("f", 2, someTime.Add(2*time.Hour))
		if s.generation() != before {
			s.Error("a rotation moved the generation of credentials")
		}
		s.reopen()
		if second.Generation != 2 || third.Generation != 3 {
			s.Errorf("generations %d and %d", second.Generation, third.Generation)
		}
		s.wantFamily("f.1", third, store.Refresh{Generation: 1, SpentAt: someTime.Add(time.Hour)})
		s.wantFamily("f.2", third, store.Refresh{Generation: 2, SpentAt: someTime.Add(2 * time.Hour)})
		s.wantFamily("f.3", third, store.Refresh{Generation: 3})
		s.wantToken(want) // earlier ones live
		if _, _, err := s.readFamily("f.4"); !errors.Is(err, store.ErrNoFamily) {
			s.Errorf("an unknown refresh token: %v, want ErrNoFamily", err)
		}
	},
	"one generation may have several tokens": func(s *suite) {
		s.addFamily("f", "ada")
		second := s.rotate("f", 1, someTime.Add(time.Hour))
		sibling := sha256.Sum256([]byte("sibling"))
		err := s.store.ChangeFamily(s.Context(), refreshHash("f", 1), func(f store.Family, _ store.Refresh) (store.Issue, error) {
			return store.Issue{Family: f, Refresh: sibling, Access: accessToken("sibling", 2)}, nil
		})
		if err != nil {
			s.Fatal(err)
		}
		s.wantFamily("sibling", second, store.Refresh{Generation: 2})
		s.wantFamily("f.1", second, store.Refresh{Generation: 1, SpentAt: someTime.Add(time.Hour)})
		third := s.rotate("f", 2, someTime.Add(2*time.Hour))
		s.wantFamily("sibling", third, store.Refresh{Generation: 2, SpentAt: someTime.Add(2 * time.Hour)})
	},
	"using an access token proves its generation": func(s *suite) {
		first := s.addFamily("f", "ada")
		other := s.addFamily("g", "bob")
		second := s.rotate("f", 1, someTime.Add(time.Hour))
		before := s.generation()
		for _, id := range []string{"f-access-2", "f-access-1", "nobody's"} {
			for i := range 2 {
				if err := s.store.UseToken(s.Context(), id, someTime.Add(time.Duration(i+1)*time.Minute)); err != nil {
					s.Error(err)
				}
			}
		}
		if s.generation() != before {
			s.Error("the use of a token moved the generation of credentials")
		}
		second.Proven = 2
		s.wantFamily("f.2", second, store.Refresh{Generation: 2})
		s.wantFamily("g.1", other.Family, store.Refresh{Generation: 1})
		if used := s.token(first.Access.Hash).Used; !used.Equal(someTime.Add(time.Minute)) {
			s.Errorf("used at %v, want the first time", used)
		}
		s.addToken(token("service"))
		if err := s.store.UseToken(s.Context(), "service", someTime); err != nil {
			s.Error(err)
		}
		s.wantToken(token("service"))
	},
	"a refusal may revoke, and takes the access tokens along": func(s *suite) {
		first := s.addFamily("f", "ada")
		other := s.addFamily("g", "ada")
		s.rotate("f", 1, someTime.Add(time.Hour))
		revoked := someTime.Add(2 * time.Hour)
		s.moves("reuse", true, func() error {
			err := s.store.ChangeFamily(s.Context(), refreshHash("f", 1), func(f store.Family, _ store.Refresh) (store.Issue, error) {
				f.RevokedAt, f.Why = revoked, "reuse"
				return store.Issue{Family: f}, errRefused
			})
			if !errors.Is(err, errRefused) {
				s.Errorf("the refusal: %v", err)
			}
			return nil
		})
		for _, hash := range [][32]byte{first.Access.Hash, accessToken("f", 2).Hash} {
			if t := s.token(hash); !t.RevokedAt.Equal(revoked) {
				s.Errorf("the token %s was revoked at %v", t.ID, t.RevokedAt)
			}
		}
		if t := s.token(other.Access.Hash); !t.RevokedAt.IsZero() {
			s.Error("another family's token was revoked")
		}
		if f, _, err := s.readFamily("f.2"); err != nil || !f.RevokedAt.Equal(revoked) || f.Why != "reuse" || f.Address != "" {
			s.Errorf("the family: %+v, %v", f, err)
		}
		list, err := s.store.Families(s.Context(), "ada")
		if err != nil || len(list) != 1 || list[0].ID != "g" {
			s.Errorf("live families %v, %v", list, err)
		}
	},
	"revoking by id, once": func(s *suite) {
		f := s.addFamily("f", "ada")
		revoke := func(at time.Time) func() error {
			return func() error { return s.store.RevokeFamily(s.Context(), "f", "sign-out", at) }
		}
		if s.store.RevokeFamily(s.Context(), "f", "no time", time.Time{}) == nil && s.token(f.Access.Hash).RevokedAt.IsZero() {
			s.Error("a revocation was acknowledged and the token lives")
		}
		s.moves("revoking", true, revoke(someTime.Add(time.Minute)))
		s.moves("revoking twice", false, revoke(someTime.Add(time.Hour)))
		s.moves("revoking nobody's", false, func() error { return s.store.RevokeFamily(s.Context(), "x", "y", someTime) })
		if t := s.token(f.Access.Hash); !t.RevokedAt.Equal(someTime.Add(time.Minute)) {
			s.Errorf("revoked at %v", t.RevokedAt)
		}
	},
	"a machine's family has no refresh token": func(s *suite) {
		i := issue("m", "")
		i.Refresh, i.Access.Repos, i.Access.Role = [32]byte{}, "acme/*", api.Reader
		if err := s.store.AddFamily(s.Context(), i); err != nil {
			s.Fatal(err)
		}
		want := i.Access
		want.Family, want.Generation = "m", 1
		s.wantToken(want)
		s.wantEqual("tokens that are listed", s.tokenIDs(), []string(nil))
		if _, _, err := s.readFamily(string(make([]byte, 32))); !errors.Is(err, store.ErrNoFamily) {
			s.Errorf("no refresh token: %v", err)
		}
	},
	"what ended long ago is forgotten": func(s *suite) {
		old := s.addFamily("f", "ada")
		young := issue("g", "ada")
		young.Family.CreatedAt = old.Family.ExpiresAt.Add(store.KeepExpired)
		young.Family.ExpiresAt = young.Family.CreatedAt.Add(time.Hour)
		if err := s.store.AddFamily(s.Context(), young); err != nil {
			s.Fatal(err)
		}
		s.token(old.Access.Hash)
		youngest := issue("h", "ada")
		youngest.Family.CreatedAt = young.Family.CreatedAt.Add(time.Millisecond)
		if err := s.store.AddFamily(s.Context(), youngest); err != nil {
			s.Fatal(err)
		}
		if _, err := s.store.TokenByHash(s.Context(), old.Access.Hash); !errors.Is(err, store.ErrNoCredential) {
			s.Errorf("the old token: %v", err)
		}
		if _, _, err := s.readFamily("f.1"); !errors.Is(err, store.ErrNoFamily) {
			s.Errorf("the old family: %v", err)
		}
		s.token(young.Access.Hash)
	},
	"a long chain forgets its beginning": func(s *suite) {
		first := s.addFamily("f", "ada")
		s.addToken(token("service"))
		s.rotate("f", 1, someTime)
		s.rotate("f", 2, someTime.Add(store.KeepSpent))
		if _, _, err := s.readFamily("f.1"); err != nil {
			s.Errorf("a token that was spent %v ago: %v", store.KeepSpent, err)
		}
		s.rotate("f", 3, someTime.Add(store.KeepSpent+time.Millisecond))
		if _, _, err := s.readFamily("f.1"); !errors.Is(err, store.ErrNoFamily) {
			s.Errorf("a token that was spent before that: %v", err)
		}
		if _, err := s.store.TokenByHash(s.Context(), first.Access.Hash); !errors.Is(err, store.ErrNoCredential) {
			s.Errorf("an access token of long ago: %v", err)
		}
		s.wantToken(token("service"))
	},
	"of many who rotate at once each sees the one before": func(s *suite) {
		s.addFamily("f", "ada")
		const callers = 8
		var all sync.WaitGroup
		var mu sync.Mutex
		seen := make(map[uint64]bool)
		for range callers {
			all.Go(func() {
				err := s.store.ChangeFamily(s.Context(), refreshHash("f", 1), func(f store.Family, _ store.Refresh) (store.Issue, error) {
					mu.Lock()
					defer mu.Unlock()
					seen[f.Generation] = true
					f.Generation++
					return store.Issue{Family: f, Refresh: refreshHash("f", f.Generation)}, nil
				})
				if err != nil {
					s.Errorf("rotating: %v", err)
				}
			})
		}
		all.Wait()
		if len(seen) != callers {
			s.Errorf("generations seen: %v", seen)
		}
	},
}
