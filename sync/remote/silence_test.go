package remote_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/remote"
)

// silent is a server that accepts and never answers, or answers and then falls
// silent: what it says comes from head and body, after which nothing comes.
type silent struct {
	head bool
	kind string
	body string
	// beats are sent in the body at this interval, count of them.
	every time.Duration
	count int
}

// RoundTrip implements [http.RoundTripper].
func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	if !s.head {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	read, write := io.Pipe()
	stop := context.AfterFunc(r.Context(), func() { _ = write.CloseWithError(r.Context().Err()) })
	go func() {
		defer stop()
		_, _ = io.WriteString(write, s.body)
		for range s.count {
			select {
			case <-time.After(s.every):
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(write, ": a heartbeat\n\n")
		}
		<-r.Context().Done()
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {s.kind}, api.HeaderProtocol: {api.Protocol}}, Body: read, Request: r,
	}, nil
}

func mute(t *testing.T, s silent) *remote.Client {
	t.Helper()
	c, err := remote.New(remote.Options{URL: "http://silent.example", Repo: repo(t, "acme/api"), Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestF30EveryCallHasADeadline makes each call of a client to a server that
// never answers, and to one that stops in the middle.
func TestF30EveryCallHasADeadline(t *testing.T) {
	t.Parallel()
	k := key(t, "a.md")
	calls := map[string]func(context.Context, *remote.Client) error{
		"hashes": func(ctx context.Context, c *remote.Client) error { _, err := c.Hashes(ctx, api.Checksum{}); return err },
		"push": func(ctx context.Context, c *remote.Client) error {
			_, err := c.Push(ctx, api.Batch{Entries: []api.Outgoing{outgoing(t, "a.md", "text", "")}})
			return err
		},
		"pull":     func(ctx context.Context, c *remote.Client) error { _, err := c.Pull(ctx, []api.Key{k}); return err },
		"pull all": func(ctx context.Context, c *remote.Client) error { _, err := c.Pull(ctx, nil); return err },
		"history":  func(ctx context.Context, c *remote.Client) error { _, err := c.History(ctx, k, 1); return err },
		"restore":  func(ctx context.Context, c *remote.Client) error { _, err := c.Restore(ctx, k, 1); return err },
		"whoami":   func(ctx context.Context, c *remote.Client) error { _, err := c.WhoAmI(ctx); return err },
		"retire": func(ctx context.Context, c *remote.Client) error {
			_, err := c.Retire(ctx, k, &api.View{Sums: map[api.Key]api.Checksum{k: api.SumString("x")}})
			return err
		},
		"join": func(ctx context.Context, c *remote.Client) error { _, err := c.Join(ctx, "code", "device"); return err },
	}
	for name, call := range calls {
		for what, server := range map[string]silent{
			"no answer":      {},
			"half an answer": {head: true, kind: "application/json", body: `{"version":`},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					begun := time.Now()
					err := call(t.Context(), mute(t, server))
					if took := time.Since(begun); !errors.Is(err, api.ErrOffline) || took != api.ClientTimeout {
						t.Errorf("%v after %s, want %v after %s", err, took, api.ErrOffline, api.ClientTimeout)
					}
				})
			})
		}
	}
}

// TestF30SilentStreamIsDead gives up a stream that has missed two heartbeats,
// and no sooner.
func TestF30SilentStreamIsDead(t *testing.T) {
	t.Parallel()
	const notice = `data: {"repo":"acme/api","epoch":"e","version":1}` + "\n\n"
	tests := []struct {
		name   string
		server silent
		heard  int
		beats  int
	}{
		{"never answers", silent{}, 0, 0},
		{"answers and falls silent", silent{head: true, kind: "text/event-stream"}, 0, 0},
		{"one notice", silent{head: true, kind: "text/event-stream", body: notice}, 1, 0},
		{"heartbeats for a while", silent{head: true, kind: "text/event-stream", body: notice, every: api.Heartbeat, count: 30}, 1, 30},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun, heard := time.Now(), 0
				err := mute(t, tt.server).Follow(t.Context(), func(api.Position) { heard++ })
				last := time.Duration(tt.beats) * api.Heartbeat
				quiet := time.Since(begun) - last
				if !errors.Is(err, api.ErrOffline) || !strings.Contains(err.Error(), "silent") || heard != tt.heard {
					t.Errorf("%v, %d notices, want a stream that fell silent after %d", err, heard, tt.heard)
				}
				if quiet < 2*api.Heartbeat || quiet > 3*api.Heartbeat {
					t.Errorf("given up %s after the last sign of life, want after two missed heartbeats", quiet)
				}
			})
		})
	}
}
