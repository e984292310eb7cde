package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var contextTests = []test{
	{"a context that has ended changes nothing", testEndedContext},
	{"a context that ends while decide runs", testContextEndsInDecide},
	{"a context that ends while waiting", testContextEndsWaiting},
}

func testEndedContext(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	before := commit(t, f.Backend, repo, puts(t, at(1), "a.md", "one"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		_, err := f.Backend.Update(ctx, repo, always(puts(t, at(2), "a.md", "two")))
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Update: %v", err)
		}
	}
	equal(t, "head", before, headOf(t, f.Backend, repo))
	if _, err := f.Backend.History(ctx, repo, api.Key{}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("History: %v", err)
	}
	if _, err := f.Backend.Bodies(ctx, repo, []api.Checksum{api.SumString("one")}); !errors.Is(err, context.Canceled) {
		t.Errorf("Bodies: %v", err)
	}
	if err := f.Backend.AddToken(ctx, tokenOf(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("AddToken: %v", err)
	}
	if tokens, err := f.Backend.Tokens(t.Context()); err != nil || len(tokens) != 0 {
		t.Errorf("a token was stored after the end: %v, %v", tokens, err)
	}
}

// testContextEndsInDecide asks for one of two outcomes, told apart by err.
func testContextEndsInDecide(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := f.Backend.Update(ctx, repo, func(store.Tx) (store.Change, error) {
		cancel()
		return puts(t, at(1), "a.md", "one"), nil
	})
	_, readErr := f.Backend.Head(t.Context(), repo)
	if err == nil && readErr != nil {
		t.Errorf("Update succeeded and the repo is not there: %v", readErr)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Update: %v", err)
	}
}

// testContextEndsWaiting lets updates queue behind one that stands in decide.
func testContextEndsWaiting(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	inside, goOn := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		entered := false
		_, err := f.Backend.Update(t.Context(), repo, func(store.Tx) (store.Change, error) {
			if !entered {
				entered = true
				close(inside)
				<-goOn
			}
			return puts(t, at(1), "a.md", "one"), nil
		})
		first <- err
	}()
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	for range 4 {
		go func() {
			_, err := f.Backend.Update(ctx, repo, always(puts(t, at(2), "a.md", "two")))
			errs <- err
		}()
	}
	cancel()
	for range 4 {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("Update: %v", err)
		}
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Error(err)
	}
	equal(t, "contents", map[string]string{"a.md": "one"}, contents(t, f.Backend, repo))
}
