package access_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/access"
	"github.com/teammem/teammemd/server/auth/access/accesstest"
)

type lockedText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A policy file that changes counts within seconds; a faulty one changes nothing
// and is told once.
func TestPolicyReload(t *testing.T) {
	rule := func(role string) string {
		return "[[rules]]\nrepos = [\"acme/*\"]\nusers = [\"ada@local\"]\nrole = \"" + role + "\"\n"
	}
	path := writePolicy(t, rule("reader"))
	synctest.Test(t, func(t *testing.T) {
		file, err := access.OpenPolicy(path)
		if err != nil {
			t.Fatal(err)
		}
		people, logged := accesstest.NewPeople(), &lockedText{}
		people.Add("u", access.Person{Issuer: "local", Login: "ada"}, "")
		a := access.New(access.Options{People: people.Of, Policy: file, Log: slog.New(slog.NewTextHandler(logged, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- a.Run(ctx) }()
		g := grant(t, "u", "", 0)
		want := func(what string, role api.Role) {
			t.Helper()
			d, err := a.Decide(t.Context(), g, repoOf(t, "acme/api"))
			if err != nil || d.Role != role {
				t.Errorf("%s: %v, %v, want %v", what, d.Role, err, role)
			}
		}
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			<-time.After(3 * time.Second) // of the bubble's clock
			synctest.Wait()
		}
		want("at first", api.Reader)
		changed := a.Changed()
		write(rule("maintainer"))
		want("after a change", api.Maintainer)
		select {
		case <-changed:
		default:
			t.Error("who waits was not woken")
		}
		write(rule("emperor"))
		want("after a faulty change", api.Maintainer)
		write(rule("emperor"))
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Second)
		want("without a file", api.Maintainer)
		write("")
		want("after all rules went", api.NoRole)
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("Run = %v", err)
		}
		log := logged.String()
		if n := strings.Count(log, "old policy stays"); n < 2 || n > 3 {
			t.Errorf("%d lines tell of faulty files, want one for each:\n%s", n, log)
		}
		if !strings.Contains(log, "role is reader") {
			t.Errorf("the log does not say what is wrong:\n%s", log)
		}
	})
}
