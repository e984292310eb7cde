package main

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner"
)

// runEmbedded starts the server of `up` in this process. The function it
// returns ends it.
func runEmbedded(t *testing.T, data string) (*embedded, *process, func()) {
	t.Helper()
	log := newLines()
	e, err := startEmbedded(t.Context(), nil, data, "127.0.0.1:0", scanner.New(scanner.Options{}), slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	stop := func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	return e, &process{t: t, url: e.URL(), log: log}, stop
}

func TestEmbedded(t *testing.T) {
	data := t.TempDir()
	e, p, stop := runEmbedded(t, data)
	_, secret, err := e.CreateToken(t.Context(), "this machine", "acme/*", api.Writer, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.ask(http.MethodPut, memoryPath("acme/api"), secret, entry(t, "a.md", "text")); got.status != http.StatusOK {
		t.Errorf("%d: %s", got.status, got.body)
	}
	if got := p.ask(http.MethodPut, memoryPath("acme/api"), secret, pushBody(t, api.PushRequest{SoftDeleteKeys: []string{"a.md"}})); got.status != http.StatusOK {
		t.Errorf("a writer may not retire: %d: %s", got.status, got.body)
	}
	if got := p.ask(http.MethodPut, memoryPath("acme/api"), secret, entry(t, "b.md", sample(t, "github-pat"))); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a secret: %d", got.status)
	}
	repo, err := api.ParseRepo("acme/api")
	if err != nil {
		t.Fatal(err)
	}
	code, err := e.NewJoinCode(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	var joined api.JoinAnswer
	p.ask(http.MethodPost, api.PathJoin, "", `{"code":"`+code.Code+`","device":"laptop"}`).decode(t, &joined)
	if joined.Role != api.Writer || joined.Repo != repo {
		t.Errorf("joined as %s in %s", joined.Role, joined.Repo)
	}
	if got := p.ask(http.MethodGet, memoryPath("acme/api"), joined.Token, ""); got.status != http.StatusOK {
		t.Errorf("the joined token: %d", got.status)
	}
	stop()
	if strings.Contains(p.log.String(), secret) || strings.Contains(p.log.String(), code.Code) {
		t.Error("a secret is in the log")
	}
	if !p.refused() {
		t.Error("the port is still open")
	}
	_, again, stopAgain := runEmbedded(t, data)
	if got := again.ask(http.MethodGet, memoryPath("acme/api"), secret, ""); got.status != http.StatusOK {
		t.Errorf("the token after a restart: %d", got.status)
	}
	stopAgain()
}

// TestEmbeddedGivesUpWhatItHolds closes servers that never ran, and those that
// could not be made.
func TestEmbeddedGivesUpWhatItHolds(t *testing.T) {
	data := t.TempDir()
	sc, log := scanner.New(scanner.Options{}), slog.New(slog.DiscardHandler)
	first, err := startEmbedded(t.Context(), nil, data, "127.0.0.1:0", sc, log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := startEmbedded(t.Context(), nil, data, "127.0.0.1:0", sc, log); api.ExitCode(err) != api.ExitTempFail {
		t.Errorf("a second server on the same data: %v", err)
	}
	addr := strings.TrimPrefix(first.URL(), "http://")
	other := t.TempDir()
	for range 2 { // the lock of the first try must be gone at the second
		if _, err := startEmbedded(t.Context(), nil, other, addr, sc, log); err == nil || api.ExitCode(err) != api.ExitFailure {
			t.Errorf("a port that is taken: %v", err)
		}
	}
	if _, err := startEmbedded(t.Context(), nil, other, "0.0.0.0:0", sc, log); api.ExitCode(err) != api.ExitConfig {
		t.Errorf("an exposed address: %v", err)
	}
	for range 2 {
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}
	second, err := startEmbedded(t.Context(), nil, data, addr, sc, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
