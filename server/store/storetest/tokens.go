package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var tokenTests = []test{
	{"a token comes back as it was stored", testTokenRoundTrip},
	{"an ID is stored once", testTokenTwice},
	{"tokens are listed oldest first", testTokenOrder},
	{"a revocation keeps its first time", testRevoke},
	{"every change changes the generation", testGeneration},
	{"another process changes tokens", testTokensBeside},
	{"concurrent tokens", testConcurrentTokens},
}

func hashOf(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }

// tokenOf returns the n-th token, with every field set.
func tokenOf(n int) store.Token {
	return store.Token{
		ID: fmt.Sprintf("t%d", n), Name: fmt.Sprintf("ci ünit %d", n), Hash: hashOf(fmt.Sprintf("token %d", n)), Repos: "acme/*",
		Role: api.Maintainer, CreatedAt: at(n), ExpiresAt: at(n).Add(24 * time.Hour),
	}
}

func addToken(t testing.TB, c store.Credentials, token store.Token) {
	t.Helper()
	if err := c.AddToken(t.Context(), token); err != nil {
		t.Fatalf("AddToken: %v", err)
	}
}

func testTokenRoundTrip(t *testing.T, f Fixture) {
	revoked, forever := tokenOf(1), tokenOf(2)
	revoked.RevokedAt = at(100)
	forever.ExpiresAt, forever.Role = time.Time{}, api.Reader
	addToken(t, f.Backend, revoked)
	addToken(t, f.Backend, forever)
	check := func(c store.Credentials) {
		t.Helper()
		for _, want := range []store.Token{revoked, forever} {
			got, err := c.TokenByHash(t.Context(), want.Hash)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "token", want, got)
		}
		if _, err := c.TokenByHash(t.Context(), hashOf("unknown")); !errors.Is(err, store.ErrNoCredential) {
			t.Errorf("an unknown hash: %v", err)
		}
	}
	check(f.Backend)
	check(f.Reopen())
}

func testTokenTwice(t *testing.T, f Fixture) {
	addToken(t, f.Backend, tokenOf(1))
	before := generation(t, f.Backend)
	sameID, sameHash := tokenOf(2), tokenOf(3)
	sameID.ID, sameHash.Hash = tokenOf(1).ID, tokenOf(1).Hash
	for _, token := range []store.Token{sameID, sameHash} {
		if err := f.Backend.AddToken(t.Context(), token); err == nil {
			t.Errorf("token %s was stored beside its twin", token.ID)
		}
	}
	tokens, err := f.Backend.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "tokens", []store.Token{tokenOf(1)}, tokens)
	if after := generation(t, f.Backend); after != before {
		t.Error("a refused token changed the generation")
	}
}

func testTokenOrder(t *testing.T, f Fixture) {
	var want []store.Token
	for _, n := range []int{3, 1, 2} {
		addToken(t, f.Backend, tokenOf(n))
	}
	for _, n := range []int{1, 2, 3} {
		want = append(want, tokenOf(n))
	}
	got, err := f.Backend.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "tokens", want, got)
}

func testRevoke(t *testing.T, f Fixture) {
	addToken(t, f.Backend, tokenOf(1))
	for n := range 3 {
		if err := f.Backend.RevokeToken(t.Context(), "t1", at(50+n)); err != nil {
			t.Fatal(err)
		}
	}
	want := tokenOf(1)
	want.RevokedAt = at(50)
	got, err := f.Backend.TokenByHash(t.Context(), want.Hash)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "token", want, got)
	if err := f.Backend.RevokeToken(t.Context(), "t2", at(60)); !errors.Is(err, store.ErrNoCredential) {
		t.Errorf("revoking an unknown ID: %v", err)
	}
	addToken(t, f.Backend, tokenOf(3))
	if err := f.Backend.RevokeToken(t.Context(), "t3", time.Time{}); err == nil {
		t.Error("a revocation without a time succeeded")
	}
}

func generation(t testing.TB, c store.Credentials) uint64 {
	t.Helper()
	g, err := c.Generation(t.Context())
	if err != nil {
		t.Fatalf("Generation: %v", err)
	}
	return g
}

func testGeneration(t *testing.T, f Fixture) {
	seen := map[uint64]string{generation(t, f.Backend): "the start"}
	check := func(what string) {
		t.Helper()
		g := generation(t, f.Backend)
		if before, ok := seen[g]; ok {
			t.Errorf("the generation after %s is that of %s", what, before)
		}
		seen[g] = what
	}
	addToken(t, f.Backend, tokenOf(1))
	check("a token")
	addToken(t, f.Backend, tokenOf(2))
	check("a second token")
	if err := f.Backend.RevokeToken(t.Context(), "t1", at(9)); err != nil {
		t.Fatal(err)
	}
	check("a revocation")
	addCode(t, f.Backend, codeOf(t, "code", 60))
	if err := redeem(t, f.Backend, "code", 3); err != nil {
		t.Fatal(err)
	}
	check("a redemption")
	if g := generation(t, f.Reopen()); seen[g] != "a redemption" {
		t.Errorf("the generation after reopening is that of %q", seen[g])
	}
}

func testTokensBeside(t *testing.T, f Fixture) {
	other := f.Beside()
	before := generation(t, f.Backend)
	addToken(t, other, tokenOf(1))
	if generation(t, f.Backend) == before {
		t.Error("another process's token did not change the generation")
	}
	got, err := f.Backend.TokenByHash(t.Context(), tokenOf(1).Hash)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "token", tokenOf(1), got)
	before = generation(t, f.Backend)
	if err := other.RevokeToken(t.Context(), "t1", at(70)); err != nil {
		t.Fatal(err)
	}
	if generation(t, f.Backend) == before {
		t.Error("another process's revocation did not change the generation")
	}
	got, err = f.Backend.TokenByHash(t.Context(), tokenOf(1).Hash)
	if err != nil || !got.RevokedAt.Equal(at(70)) {
		t.Errorf("another process's revocation is not seen: %+v, %v", got, err)
	}
}

// testConcurrentTokens has both processes write at once, updates included.
func testConcurrentTokens(t *testing.T, f Fixture) {
	other := f.Beside()
	repo := repoOf(t, "acme/api")
	together(writers, func(i int) {
		c := store.Credentials(f.Backend)
		if i%2 == 1 {
			c = other
		}
		if err := c.AddToken(t.Context(), tokenOf(i)); err != nil {
			t.Error(err)
		}
		if _, err := f.Backend.Update(t.Context(), repo, always(puts(t, at(i), fmt.Sprintf("%d.md", i), "x"))); err != nil {
			t.Error(err)
		}
	})
	tokens, err := other.Tokens(t.Context())
	if err != nil || len(tokens) != writers {
		t.Errorf("%d tokens: %v", len(tokens), err)
	}
	if head := headOf(t, f.Backend, repo); head.Version != writers {
		t.Errorf("version %d", head.Version)
	}
}
