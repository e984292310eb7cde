package control_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/control"
)

// slowDaemon holds a sync until its context ends.
type slowDaemon struct {
	*daemon
	started, ended chan struct{}
}

func (d slowDaemon) Sync(ctx context.Context, _ control.SyncRequest) (control.RootReport, error) {
	d.started <- struct{}{}
	<-ctx.Done()
	d.ended <- struct{}{}
	return control.RootReport{}, ctx.Err()
}

func TestASyncEndsWithItsClient(t *testing.T) {
	d := slowDaemon{newDaemon(), make(chan struct{}, 1), make(chan struct{}, 1)}
	lease, err := control.Lock(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "c.sock")
	s := control.NewServer(control.Options{Handler: d})
	if err := s.Listen(lease, path); err != nil {
		t.Fatal(err)
	}
	serverCtx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(serverCtx) }()

	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	c := dial(t, path)
	go func() {
		_, err := c.Sync(ctx, control.SyncRequest{Root: "r"})
		answered <- err
	}()
	<-d.started
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
	select {
	case <-d.ended:
	case <-time.After(20 * time.Second):
		t.Error("the daemon goes on for a client that has gone")
	}

	// A server that stops cuts off what takes too long, and says nothing of it.
	go func() { _, _ = c.Sync(context.WithoutCancel(ctx), control.SyncRequest{Root: "r"}) }()
	<-d.started
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("the server ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the server waits for ever")
	}
	<-d.ended
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	d := newDaemon()
	d.report.Repo = someRepo(t)
	path := filepath.Join(t.TempDir(), "c.sock")
	start(t, d, path, "")
	c := dial(t, path)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := c.Sync(t.Context(), control.SyncRequest{Root: "r"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(d.calls) != 50 {
		t.Errorf("%d calls arrived", len(d.calls))
	}
}

func TestBadRequests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	d := newDaemon()
	start(t, d, path, "")
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
	}}
	for _, tt := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodPost, "/v1/sync", "{", http.StatusBadRequest},
		{http.MethodPost, "/v1/sync", "", http.StatusBadRequest},
		{http.MethodGet, "/v1/sync", "", http.StatusMethodNotAllowed},
		{http.MethodGet, "/v2/status", "", http.StatusNotFound},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://x"+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%s %s %q: status %d, want %d", tt.method, tt.path, tt.body, resp.StatusCode, tt.status)
		}
	}
	if len(d.calls) != 0 {
		t.Error("the daemon was called")
	}
}

func TestAnswersOfAnotherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var status atomic.Int32
	status.Store(http.StatusOK)
	other := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, "<html>")
	})}
	go func() { _ = other.Serve(listener) }()
	t.Cleanup(func() { _ = other.Close() })
	c := dial(t, path)
	for _, code := range []int32{http.StatusOK, http.StatusInternalServerError} {
		status.Store(code)
		if _, err := c.Status(t.Context()); !errors.Is(err, api.ErrBadAnswer) {
			t.Errorf("status %d: got %v", code, err)
		}
	}
}

func TestRuntimeDirectoryOfAnotherUser(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() != 0 {
		t.Skip("SKIP: only root can give a directory away")
	}
	dir := filepath.Join(t.TempDir(), "run")
	if err := errors.Join(os.Mkdir(dir, 0o777), os.Chown(dir, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	lease, err := control.Lock(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	err = control.NewServer(control.Options{Handler: newDaemon()}).Listen(lease, filepath.Join(dir, "c.sock"))
	if !errors.Is(err, api.ErrConfig) || !strings.Contains(err.Error(), "another user") {
		t.Errorf("got %v", err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}
