// Package forgetest has a stand-in for each forge. It is a referee: it fails the
// test when it is asked in a way that the real one would refuse, or that would
// cost somebody's rate for nothing.
//
//	hub := forgetest.New(t, "github")
//	token := hub.Person("ada")
//	hub.Repo("acme/api", "private")
//	hub.Allow("ada", "acme/api", "push")
package forgetest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Forge is one stand-in. Its methods may be called from any goroutine.
type Forge struct {
	// URL is where it answers.
	URL  string
	tb   testing.TB
	k    string
	away string // a URL of another host, where no token may come

	mu      sync.Mutex // guards what follows
	now     func() time.Time
	people  map[string]string // token to login
	repos   map[string]*repo  // by path, lower case
	moved   map[string]int64  // former path to the repository's number
	nextID  int64
	etags   map[string]string    // question to the ETag that was given
	closed  map[string]time.Time // token, or "" for all, to when it may ask again
	spell   Spell
	counts  map[int]int // answers by status
	limited time.Duration
}

type repo struct {
	id         int64
	path       string
	visibility string
	archived   bool
	roles      map[string]string // login to level
}

// Spell is what is wrong with a forge.
type Spell int

// What can be wrong.
const (
	Well     Spell = iota
	Down           // answers 502
	Busy           // answers 503 with Retry-After: 7
	Silent         // never answers
	Rude           // closes connections
	Garbage        // answers 200 with what is no JSON
	Huge           // answers 200 without end
	Leading        // redirects to another host
	Circling       // redirects to itself
	Limiting       // answers 403 with X-RateLimit-Remaining: 0 for [Forge.Limit]
	Slowing        // answers 429 with Retry-After for [Forge.Limit]
)

// New starts a stand-in for a kind of [forge.Forge] that ends with the test.
func New(tb testing.TB, kind string) *Forge {
	tb.Helper()
	f := &Forge{
		tb: tb, k: kind, now: time.Now, nextID: 1000,
		people: map[string]string{}, repos: map[string]*repo{}, moved: map[string]int64{},
		etags: map[string]string{}, closed: map[string]time.Time{}, counts: map[int]int{},
		limited: 30 * time.Second,
	}
	srv := httptest.NewServer(http.HandlerFunc(f.serve))
	tb.Cleanup(srv.Close)
	f.URL = srv.URL
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.foul("a redirect was followed to another host, with the token: %v", r.Header.Get("Authorization") != "")
		w.WriteHeader(http.StatusNotFound)
	}))
	tb.Cleanup(elsewhere.Close)
	f.away = elsewhere.URL
	return f
}

// Clock makes the stand-in tell the time by now.
func (f *Forge) Clock(now func() time.Time) { f.do(func() { f.now = now }) }

// Person adds somebody and returns their token.
func (f *Forge) Person(login string) string {
	token := "upstream-" + login + "-" + f.k
	f.do(func() { f.people[token] = login })
	return token
}

// Refuse makes a token unknown.
func (f *Forge) Refuse(token string) { f.do(func() { delete(f.people, token) }) }

// Repo adds a repository, "private", "internal" or "public", and returns its
// number.
func (f *Forge) Repo(path, visibility string) (id int64) {
	f.do(func() {
		f.nextID++
		id = f.nextID
		f.repos[strings.ToLower(path)] = &repo{id: id, path: path, visibility: visibility, roles: map[string]string{}}
		delete(f.moved, strings.ToLower(path))
	})
	return id
}

// Allow gives somebody a level: none, pull, triage, push, maintain or admin, or
// the number of a level of GitLab.
func (f *Forge) Allow(login, path, level string) {
	f.do(func() { f.repos[strings.ToLower(path)].roles[login] = level })
}

// Archive makes a repository read only.
func (f *Forge) Archive(path string) { f.do(func() { f.repos[strings.ToLower(path)].archived = true }) }

// Rename renames or transfers a repository; the old name redirects.
func (f *Forge) Rename(from, to string) {
	f.do(func() {
		r := f.repos[strings.ToLower(from)]
		delete(f.repos, strings.ToLower(from))
		r.path = to
		f.repos[strings.ToLower(to)] = r
		f.moved[strings.ToLower(from)] = r.id
	})
}

// Delete takes a repository away.
func (f *Forge) Delete(path string) { f.do(func() { delete(f.repos, strings.ToLower(path)) }) }

// Suffer makes something wrong until it is called with [Well].
func (f *Forge) Suffer(s Spell) { f.do(func() { f.spell = s }) }

// Limit sets how long a limited person has to wait.
func (f *Forge) Limit(d time.Duration) { f.do(func() { f.limited = d }) }

// Forgot says that the asker has forgotten what it knew, as after a webhook or a
// restart: its questions need no condition.
func (f *Forge) Forgot() { f.do(func() { clear(f.etags) }) }

// Answered returns how often a status was answered, all of them for 0.
func (f *Forge) Answered(status int) (n int) {
	f.do(func() {
		for code, count := range f.counts {
			if status == 0 || status == code {
				n += count
			}
		}
	})
	return n
}

// Addr is the stand-in's host without its port, as names of repos have it.
func (f *Forge) Addr() string {
	host, _, err := net.SplitHostPort(strings.TrimPrefix(f.URL, "http://"))
	if err != nil {
		f.tb.Fatal(err)
	}
	return host
}

func (f *Forge) do(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// foul reports a break of the rules; the test goes on, to show them all.
func (f *Forge) foul(format string, args ...any) {
	f.tb.Errorf("%s stand-in: %s", f.k, fmt.Sprintf(format, args...))
}

// hang waits until the asker gives up, or the test would take too long.
func hang(ctx context.Context) {
	timer := time.NewTimer(20 * time.Second)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
