package core_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

// onPostgres is a server's core on a database, following the others until the
// test ends, and the store below it.
func onPostgres(t *testing.T, dsn string) (*core.Core, *pgstore.Store) {
	t.Helper()
	s, err := pgstore.Open(t.Context(), pgstore.Options{DSN: dsn, Serve: true})
	if err != nil {
		t.Fatal(err)
	}
	c := newCore(t, core.Options{Store: s, Scrub: s.Scrub})
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() {
		if err := c.Follow(ctx, s); err != nil {
			t.Errorf("following: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		following.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, s
}

// awaitGone waits until the garbage collector finds what gone is about.
func awaitGone(t *testing.T, what string, gone func() bool) {
	t.Helper()
	for begun := time.Now(); !gone(); <-time.After(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("%s is still in memory", what)
		}
		runtime.GC()
	}
}

// TestRedactedElsewhere redacts on one of two servers: the other one's index goes,
// though nobody asks it for the repo; that of a repo in which nothing was redacted
// stays, also after a write.
func TestRedactedElsewhere(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t)
	one, _ := onPostgres(t, dsn)
	two, _ := onPostgres(t, dsn)
	repo, other := repoOf(t, "a/b"), repoOf(t, "a/other")
	put(t, one, repo, entries{"a.md": "it has " + leaked, "b.md": "the zebra"})
	put(t, one, other, entries{"a.md": "the gnu"})
	wantFound(t, two, `"`+leaked+`"`, "a.md")
	if _, err := two.Search(t.Context(), other, "gnu", 10, 0); err != nil {
		t.Fatal(err)
	}
	gone, otherGone := core.IndexGone(two, repo), core.IndexGone(two, other)
	if gone() || otherGone() {
		t.Fatal("no index before")
	}
	put(t, one, other, entries{"b.md": "the okapi"})
	if answer := redact(t, one, api.RedactRequest{Repo: repo, Value: leaked}); answer.Contents != 1 || !answer.Scrubbed {
		t.Errorf("redacting: %+v", answer)
	}
	awaitGone(t, "what was redacted on the other server", gone)
	if otherGone() {
		t.Error("an index went in which nothing was redacted")
	}
	wantFound(t, two, `"`+leaked+`"`)
	wantFound(t, two, "zebra", "b.md")
}

// TestRedactedWhileAway redacts while the other server does not hear: its index
// goes when it follows again.
func TestRedactedWhileAway(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t)
	one, _ := onPostgres(t, dsn)
	s, err := pgstore.Open(t.Context(), pgstore.Options{DSN: dsn, Serve: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	two := newCore(t, core.Options{Store: s})
	repo := repoOf(t, "a/b")
	put(t, one, repo, entries{"a.md": "it has " + leaked})
	wantFound(t, two, `"`+leaked+`"`, "a.md")
	gone := core.IndexGone(two, repo)
	redact(t, one, api.RedactRequest{Repo: repo, Value: leaked})
	runtime.GC()
	if gone() {
		t.Fatal("the index went before anybody could know")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() {
		if err := two.Follow(ctx, s); err != nil {
			t.Errorf("following: %v", err)
		}
	})
	defer following.Wait()
	defer cancel()
	awaitGone(t, "what was redacted while nobody listened", gone)
}
