package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var joinCodeTests = []test{
	{"a code is redeemed once", testRedeemOnce},
	{"one of many wins", testRedeemRace},
	{"wrong tries burn", testWrongTries},
	{"a code expires", testExpiry},
	{"an error of mint keeps the code", testMintError},
	{"codes survive reopening", testCodesReopen},
}

// codeOf returns a code that lives for so many seconds from at(0).
func codeOf(t testing.TB, secret string, seconds int) store.JoinCode {
	t.Helper()
	return store.JoinCode{Hash: hashOf(secret), Repo: repoOf(t, "acme/api"), Role: api.Writer, ExpiresAt: at(seconds)}
}

func addCode(t testing.TB, c store.Credentials, code store.JoinCode) {
	t.Helper()
	if err := c.AddJoinCode(t.Context(), code); err != nil {
		t.Fatalf("AddJoinCode: %v", err)
	}
}

// mintFor makes a token that is named after the code's repo.
func mintFor(secret string) func(store.JoinCode) (store.Token, error) {
	return func(code store.JoinCode) (store.Token, error) {
		return store.Token{
			ID: secret, Name: "device", Hash: hashOf("token of " + secret), Repos: code.Repo.String(), Role: code.Role, CreatedAt: at(1),
		}, nil
	}
}

// redeem redeems at at(0), with at most maxTries wrong tries.
func redeem(t testing.TB, c store.Credentials, secret string, maxTries int) error {
	t.Helper()
	return c.RedeemJoinCode(t.Context(), hashOf(secret), at(0), maxTries, mintFor(secret))
}

func testRedeemOnce(t *testing.T, f Fixture) {
	code := codeOf(t, "code", 60)
	addCode(t, f.Backend, code)
	err := f.Backend.RedeemJoinCode(t.Context(), code.Hash, at(0), 5, func(got store.JoinCode) (store.Token, error) {
		equal(t, "code", code, got)
		return mintFor("code")(got)
	})
	if err != nil {
		t.Fatal(err)
	}
	token, err := f.Backend.TokenByHash(t.Context(), hashOf("token of code"))
	if err != nil || token.Repos != "acme/api" || token.Role != api.Writer {
		t.Errorf("the minted token: %+v, %v", token, err)
	}
	if err := redeem(t, f.Backend, "code", 5); !errors.Is(err, store.ErrNoCredential) {
		t.Errorf("a second redemption: %v", err)
	}
}

func testRedeemRace(t *testing.T, f Fixture) {
	addCode(t, f.Backend, codeOf(t, "code", 60))
	other := f.Beside()
	var won, minted atomic.Int32
	together(20, func(i int) {
		c := store.Credentials(f.Backend)
		if i%2 == 1 {
			c = other
		}
		err := c.RedeemJoinCode(t.Context(), hashOf("code"), at(0), 100, func(code store.JoinCode) (store.Token, error) {
			minted.Add(1)
			return mintFor(fmt.Sprintf("winner %d", i))(code)
		})
		if err == nil {
			won.Add(1)
		} else if !errors.Is(err, store.ErrNoCredential) {
			t.Error(err)
		}
	})
	tokens, err := f.Backend.Tokens(t.Context())
	if err != nil || won.Load() != 1 || len(tokens) != 1 {
		t.Errorf("%d redemptions succeeded, %d tokens: %v", won.Load(), len(tokens), err)
	}
}

func testWrongTries(t *testing.T, f Fixture) {
	addCode(t, f.Backend, codeOf(t, "first", 60))
	for n := range 3 {
		if err := redeem(t, f.Backend, fmt.Sprintf("guess %d", n), 5); !errors.Is(err, store.ErrNoCredential) {
			t.Fatalf("a guess: %v", err)
		}
	}
	addCode(t, f.Backend, codeOf(t, "second", 60))
	// The fourth guess leaves the first code its last chance; the fifth burns it.
	for n := range 2 {
		if err := redeem(t, f.Backend, fmt.Sprintf("guess %d", 3+n), 5); !errors.Is(err, store.ErrNoCredential) {
			t.Fatalf("a guess: %v", err)
		}
	}
	if err := redeem(t, f.Backend, "first", 5); !errors.Is(err, store.ErrNoCredential) {
		t.Errorf("a code after five wrong tries: %v", err)
	}
	if err := redeem(t, f.Backend, "second", 5); err != nil {
		t.Errorf("a younger code: %v", err)
	}
}

func testExpiry(t *testing.T, f Fixture) {
	for _, secret := range []string{"early", "late"} {
		addCode(t, f.Backend, codeOf(t, secret, 60))
	}
	if err := f.Backend.RedeemJoinCode(t.Context(), hashOf("early"), at(59), 5, mintFor("early")); err != nil {
		t.Errorf("before it expires: %v", err)
	}
	if err := f.Backend.RedeemJoinCode(t.Context(), hashOf("late"), at(60), 5, mintFor("late")); !errors.Is(err, store.ErrNoCredential) {
		t.Errorf("when it expires: %v", err)
	}
}

func testMintError(t *testing.T, f Fixture) {
	addCode(t, f.Backend, codeOf(t, "code", 60))
	refused := errors.New("refused")
	err := f.Backend.RedeemJoinCode(t.Context(), hashOf("code"), at(0), 5, func(store.JoinCode) (store.Token, error) {
		return store.Token{}, refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("mint's error became %v", err)
	}
	if err := redeem(t, f.Backend, "code", 5); err != nil {
		t.Errorf("after an error of mint: %v", err)
	}
}

func testCodesReopen(t *testing.T, f Fixture) {
	addCode(t, f.Backend, codeOf(t, "code", 60))
	if err := redeem(t, f.Backend, "wrong", 2); !errors.Is(err, store.ErrNoCredential) {
		t.Fatal(err)
	}
	b := f.Reopen()
	if err := b.AddJoinCode(t.Context(), codeOf(t, "code", 90)); err == nil {
		t.Error("a code was stored twice")
	}
	if err := redeem(t, b, "wrong again", 2); !errors.Is(err, store.ErrNoCredential) {
		t.Fatal(err)
	}
	if err := redeem(t, b, "code", 2); !errors.Is(err, store.ErrNoCredential) {
		t.Errorf("wrong tries were forgotten by reopening: %v", err)
	}
}
