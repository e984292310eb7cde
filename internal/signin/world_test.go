package signin_test

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/signin"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/auth/oauth"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

// checkPath answers 200 for a token that is good.
const checkPath = "/check"

// world is a real authorization server, as its clients see it.
type world struct {
	testing.TB

	auth *auth.Auth
	url  string
	dir  string // of the client's state

	mu       sync.Mutex
	ahead    time.Duration                  // of the server's clock; guarded by mu
	audits   []store.Event                  // guarded by mu
	used     map[string]int                 // refresh tokens that were sent; guarded by mu
	features string                         // guarded by mu
	lose     int                            // answers to refreshes that get lost; guarded by mu
	fault    func(http.ResponseWriter) bool // guarded by mu
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead)
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += d
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	w := &world{TB: tb, used: map[string]int{}, features: `"sign-in"`, dir: tb.TempDir()}
	backend := sqlitetest.Serve(tb, tb.TempDir())
	w.auth = auth.New(backend, auth.Options{Now: w.now, Accounts: backend})
	server, err := oauth.New(oauth.Options{Accounts: backend, Auth: w.auth, Local: true, Now: w.now, Audit: w.audit})
	if err != nil {
		tb.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(checkPath, func(rw http.ResponseWriter, r *http.Request) {
		if _, err := w.auth.Authenticate(r.Context(), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); err != nil {
			rw.WriteHeader(http.StatusUnauthorized)
		}
	})
	mux.HandleFunc(api.PathVersion, func(rw http.ResponseWriter, _ *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		_, _ = rw.Write([]byte(`{"features":[` + w.features + `]}`))
	})
	mux.HandleFunc("POST "+api.PathToken, func(rw http.ResponseWriter, r *http.Request) { w.token(server, rw, r) })
	mux.Handle("/", server)
	srv := httptest.NewServer(mux)
	tb.Cleanup(srv.Close)
	w.url = srv.URL
	return w
}

// token counts what is sent, and loses answers.
func (w *world) token(server http.Handler, rw http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(rw, r.Body, 1<<16)
	form := &strings.Builder{}
	buf := make([]byte, 1<<16)
	for {
		n, err := r.Body.Read(buf)
		form.Write(buf[:n])
		if err != nil {
			break
		}
	}
	r.Body = http.NoBody
	values, _ := url.ParseQuery(form.String())
	copied := r.Clone(r.Context())
	copied.Body = readCloser{strings.NewReader(form.String())}
	refresh := values.Get("refresh_token")
	w.mu.Lock()
	if refresh != "" {
		w.used[refresh]++
	}
	lost := refresh != "" && w.lose > 0
	if lost {
		w.lose--
	}
	fault := w.fault
	w.mu.Unlock()
	if fault != nil && fault(rw) {
		return
	}
	if lost {
		server.ServeHTTP(httptest.NewRecorder(), copied)
		rw.WriteHeader(http.StatusBadGateway)
		return
	}
	server.ServeHTTP(rw, copied)
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func (w *world) audit(_ context.Context, e store.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.audits = append(w.audits, e)
	return nil
}

func (w *world) audited(action string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.audits {
		if e.Action == action {
			n++
		}
	}
	return n
}

// sent is how many refresh tokens were sent, and how often the one that was sent
// most.
func (w *world) sent() (tokens, most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.used {
		most = max(most, n)
	}
	return len(w.used), most
}

// answer does in a browser what a person does with a code.
func (w *world) answer(userCode, action string) {
	w.Helper()
	repo, err := api.ParseRepo("acme/api")
	if err != nil {
		w.Fatal(err)
	}
	code, err := w.auth.NewJoinCode(w.Context(), repo)
	if err != nil {
		w.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	for path, form := range map[string]url.Values{
		api.PathSignIn: {"provider": {"local"}, "join_code": {code.Code}, "name": {"Ada"}, "next": {api.PathDevice}},
	} {
		w.post(browser, path, form)
	}
	w.post(browser, api.PathDevice, url.Values{"user_code": {userCode}, "action": {action}})
}

func (w *world) post(browser *http.Client, path string, form url.Values) {
	w.Helper()
	resp, err := browser.PostForm(w.url+path, form)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		w.Fatalf("%s: status %d", path, resp.StatusCode)
	}
}

func credentialsIn(dir string) config.Credentials {
	return config.CredentialsAt(config.Paths{StateDir: dir})
}

func (w *world) keeper(ring signin.Keyring) *signin.Keeper {
	return signin.NewKeeper(signin.Options{Credentials: credentialsIn(w.dir), Keyring: ring})
}

func (w *world) server() *signin.Server {
	w.Helper()
	s, err := signin.NewServer(w.url, nil)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// signIn goes the whole way of a device.
func (w *world) signIn(k *signin.Keeper) {
	w.Helper()
	p, err := w.server().Begin(w.Context(), "laptop")
	if err != nil {
		w.Fatal(err)
	}
	if err := k.Await(p); err != nil {
		w.Fatal(err)
	}
	w.answer(p.UserCode, "approve")
	if done, err := k.Resume(w.Context(), w.url); !done || err != nil {
		w.Fatalf("after the approval: %v, %v", done, err)
	}
}

// expire makes the stored access token end soon by this machine's clock.
func (w *world) expire(left time.Duration) {
	w.Helper()
	err := credentialsIn(w.dir).Change(w.url, func(k *config.Kept) error {
		k.SignIn.Expires = time.Now().Add(left)
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) stored() config.Login {
	w.Helper()
	kept, err := credentialsIn(w.dir).Kept(w.url)
	if err != nil || kept.SignIn == nil {
		w.Fatalf("stored: %v", err)
	}
	return *kept.SignIn
}

// good reports whether the server takes a token.
func good(ctx context.Context, server, token string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+checkPath, http.NoBody)
	if err != nil {
		return false
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func credentialsFile(dir string) string { return filepath.Join(dir, "credentials.json") }
