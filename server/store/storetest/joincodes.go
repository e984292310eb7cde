package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

const maxTries = 5

func (s *suite) addCode(code string, expires time.Time) store.JoinCode {
	s.Helper()
	c := store.JoinCode{Hash: sha256.Sum256([]byte(code)), Repo: acme, Role: api.Writer, ExpiresAt: expires}
	if err := s.store.AddJoinCode(s.Context(), c); err != nil {
		s.Fatalf("adding a code: %v", err)
	}
	return c
}

// redeem redeems a code for a token with this ID.
func (s *suite) redeem(code string, now time.Time, id string) error {
	return s.store.RedeemJoinCode(s.Context(), sha256.Sum256([]byte(code)), now, maxTries, func(store.JoinCode) (store.Token, error) {
		return token(id), nil
	})
}

func (s *suite) wantMiss(code string, now time.Time) {
	s.Helper()
	if err := s.redeem(code, now, "must not be"); !errors.Is(err, store.ErrNoCredential) {
		s.Errorf("redeeming %q: %v, want ErrNoCredential", code, err)
	}
}

var joinCodes = map[string]func(*suite){
	"a code gives one token, once": func(s *suite) {
		want := s.addCode("code", someTime.Add(time.Minute))
		s.reopen()
		err := s.store.RedeemJoinCode(s.Context(), want.Hash, someTime, maxTries, func(c store.JoinCode) (store.Token, error) {
			s.wantEqual("code given to mint", c, want)
			return token("minted"), nil
		})
		if err != nil {
			s.Fatalf("redeeming: %v", err)
		}
		s.wantToken(token("minted"))
		s.wantMiss("code", someTime)
		s.wantEqual("tokens", s.tokenIDs(), []string{"minted"})
	},
	"of many who redeem at once one succeeds": func(s *suite) {
		const callers = 20
		s.addCode("code", someTime.Add(time.Minute))
		var all sync.WaitGroup
		var won atomic.Int64
		for i := range callers {
			all.Go(func() {
				err := s.redeem("code", someTime, fmt.Sprintf("t%d", i))
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, store.ErrNoCredential):
					s.Errorf("redeeming: %v", err)
				}
			})
		}
		all.Wait()
		if ids := s.tokenIDs(); won.Load() != 1 || len(ids) != 1 {
			s.Errorf("%d callers succeeded, tokens %v", won.Load(), ids)
		}
	},
	"wrong tries burn every live code": func(s *suite) {
		s.addCode("one", someTime.Add(time.Minute))
		s.addCode("two", someTime.Add(time.Minute))
		for range maxTries - 1 {
			s.wantMiss("wrong", someTime)
		}
		if err := s.redeem("one", someTime, "just in time"); err != nil {
			s.Errorf("redeeming before the last try: %v", err)
		}
		s.addCode("late", someTime.Add(time.Minute))
		s.wantMiss("wrong", someTime)
		s.wantMiss("two", someTime)
		if err := s.redeem("late", someTime, "younger"); err != nil {
			s.Errorf("a younger code was burnt by older tries: %v", err)
		}
	},
	"wrong tries are counted across a restart": func(s *suite) {
		s.addCode("code", someTime.Add(time.Minute))
		for range maxTries {
			s.wantMiss("wrong", someTime)
			s.reopen()
		}
		s.wantMiss("code", someTime)
	},
	"a code expires": func(s *suite) {
		s.addCode("code", someTime.Add(time.Minute))
		s.addCode("longer", someTime.Add(time.Hour))
		s.wantMiss("code", someTime.Add(time.Minute))
		s.wantMiss("code", someTime)
		if err := s.redeem("longer", someTime.Add(time.Hour-time.Millisecond), "in time"); err != nil {
			s.Errorf("redeeming a millisecond before the end: %v", err)
		}
	},
	"an error of mint leaves the code": func(s *suite) {
		c := s.addCode("code", someTime.Add(time.Minute))
		for range maxTries + 1 {
			err := s.store.RedeemJoinCode(s.Context(), c.Hash, someTime, maxTries, func(store.JoinCode) (store.Token, error) {
				return store.Token{}, errRefused
			})
			if !errors.Is(err, errRefused) {
				s.Errorf("error %v, want mint's own", err)
			}
		}
		s.addToken(token("taken"))
		if err := s.redeem("code", someTime, "taken"); err == nil {
			s.Error("a token with a taken ID was stored")
		}
		if err := s.redeem("code", someTime, "minted"); err != nil {
			s.Errorf("redeeming after the errors: %v", err)
		}
	},
}
