package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/clients"
	"github.com/teammem/teammemd/server/core"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

// world is a running server on a real store, and a client that knows no more
// than net/http does.
type world struct {
	t       testing.TB
	backend store.Backend
	clients *clients.Tracker
	dir     string
	auth    *auth.Auth
	core    *core.Core
	server  *server.Server
	url     string
	client  *http.Client
	logged  *lockedBuffer
	stop    func() error // asks the server to stop and returns what Run returned
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// options change how a world is made.
type options struct {
	store  func(store.Backend) store.Backend // wraps the real one
	core   func(*core.Options)
	server func(*server.Options)
	level  slog.Level // of the log; info unless given
}

func newWorld(tb testing.TB, o options) *world {
	tb.Helper()
	w := &world{t: tb, dir: tb.TempDir(), logged: &lockedBuffer{}}
	w.backend = sqlitetest.Serve(tb, w.dir)
	if o.store != nil {
		w.backend = o.store(w.backend)
	}
	log := slog.New(slog.NewTextHandler(w.logged, &slog.HandlerOptions{Level: o.level}))
	accounts, _ := w.backend.(store.Accounts) // a wrapped store may have none
	w.auth = auth.New(w.backend, auth.Options{Log: log, Accounts: accounts})
	w.clients = clients.New(clients.Options{Devices: w.backend, Log: log})
	co := core.Options{Audits: w.backend, Devices: w.clients, Store: w.backend, Policies: w.backend, Rescans: w.backend, Scan: scanMarks, Log: log, Rules: func() string { return "test-1" }}
	if o.core != nil {
		o.core(&co)
	}
	var err error
	if w.core, err = core.New(co); err != nil {
		tb.Fatal(err)
	}
	so := server.Options{Clients: w.clients, Core: w.core, Auth: w.auth, Version: "1.2.3", Log: log}
	if o.server != nil {
		o.server(&so)
	}
	if w.server, err = server.New(so); err != nil {
		tb.Fatal(err)
	}
	w.start()
	return w
}

func (w *world) start() {
	w.t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.auth.Run(ctx); err != nil {
			w.t.Errorf("auth.Run = %v", err)
		}
	})
	served := make(chan error, 1)
	go func() { served <- w.server.Run(ctx, ln) }()
	w.url = "http://" + ln.Addr().String()
	w.client = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}
	w.stop = sync.OnceValue(func() error {
		cancel()
		err := <-served
		running.Wait()
		return err
	})
	w.t.Cleanup(func() {
		w.client.CloseIdleConnections()
		if err := w.stop(); err != nil {
			w.t.Errorf("server.Run = %v", err)
		}
	})
}

// Words that the scanner of these tests takes for secrets. The real rules have
// their own tests; here it is about what the server does with findings.
const (
	markBlock1 = "MARK-ONE"
	markBlock2 = "MARK-TWO"
	markBlock3 = "MARK-THREE"
	markWarn   = "MARK-WARN"
	markHeld   = "MARK-HELD"
	markBroken = "MARK-BROKEN"
	markPanic  = "MARK-PANIC"
)

func scanMarks(_ context.Context, key, content string) ([]api.Finding, error) {
	var found []api.Finding
	find := func(text string, line int) {
		for mark, tier := range map[string]string{markBlock1: "block1", markBlock2: "block2", markBlock3: "block3", markWarn: "warn"} {
			if at := strings.Index(text, mark); at >= 0 {
				column := at + 1
				found = append(found, api.Finding{Key: key, Line: line, Column: column, Rule: "rule-" + tier, Tier: tier, Reason: "a mark of tier " + tier})
			}
		}
	}
	find(key, 0)
	for i, line := range strings.Split(content, "\n") {
		find(line, i+1)
	}
	switch {
	case strings.Contains(content, markHeld):
		return nil, &api.HeldError{Reason: api.HeldUnreadable, Detail: "the scanner gave up"}
	case strings.Contains(content, markBroken):
		return nil, context.DeadlineExceeded
	case strings.Contains(content, markPanic):
		panic(content)
	}
	return found, nil
}

// token makes a token.
func (w *world) token(repos string, role api.Role) string {
	w.t.Helper()
	_, secret, err := w.auth.Create(context.Background(), role.String(), repos, role, time.Time{})
	if err != nil {
		w.t.Fatal(err)
	}
	return secret
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// request is what is sent. Path may hold a query.
type request struct {
	method, path, token string
	header              map[string]string
	body                string
}

func (w *world) try(r request) (answer, error) {
	method := r.method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(context.Background(), method, w.url+r.path, strings.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	res, err := w.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, body}, err
}

func (w *world) do(r request) answer {
	w.t.Helper()
	a, err := w.try(r)
	if err != nil {
		w.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	if got := a.header.Get(api.HeaderProtocol); got != api.Protocol {
		w.t.Errorf("%s %s: %s = %q", r.method, r.path, api.HeaderProtocol, got)
	}
	if len(a.body) > 0 && a.header.Get("Content-Encoding") == "" && !json.Valid(a.body) {
		w.t.Errorf("%s %s: the body is not JSON: %q", r.method, r.path, a.body)
	}
	return a
}

// memory is the path of the team-memory door for repo.
func memory(repo string, more ...string) string {
	params := append([]string{"repo=" + url.QueryEscape(repo)}, more...)
	return api.PathTeamMemory + "?" + strings.Join(params, "&")
}

// put sends entries and wants a 200.
func (w *world) put(token, repo string, entries map[string]string) api.PushAnswer {
	w.t.Helper()
	a := w.do(request{method: http.MethodPut, path: memory(repo), token: token, body: jsonOf(w.t, map[string]any{"entries": entries})})
	if a.status != http.StatusOK {
		w.t.Fatalf("PUT: %d %s", a.status, a.body)
	}
	return decodeAs[api.PushAnswer](w.t, a)
}

func jsonOf(tb testing.TB, v any) string {
	tb.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(raw)
}

func decodeAs[T any](tb testing.TB, a answer) T {
	tb.Helper()
	var v T
	if err := json.Unmarshal(a.body, &v); err != nil {
		tb.Fatalf("decoding %q: %v", a.body, err)
	}
	return v
}

// code returns the error_code of a refusal.
func code(tb testing.TB, a answer) string {
	tb.Helper()
	return decodeAs[api.ErrorBody](tb, a).Error.Details.ErrorCode
}

func wantStatus(tb testing.TB, what string, a answer, status int, errorCode string) {
	tb.Helper()
	if a.status != status {
		tb.Errorf("%s: status %d, want %d: %s", what, a.status, status, a.body)
		return
	}
	if errorCode == "" {
		return
	}
	if got := code(tb, a); got != errorCode {
		tb.Errorf("%s: error_code %q, want %q", what, got, errorCode)
	}
}
