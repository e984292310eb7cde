package gitea

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/auth/access"
	"github.com/teammem/teammemd/server/auth/forge"
	"github.com/teammem/teammemd/server/auth/upstream"
	"github.com/teammem/teammemd/server/core"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

// clock tells the time, and can be told to be ahead.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// town is a server of ours whose people and permissions are a real forge's.
type town struct {
	t       *testing.T
	g       *instance
	backend store.Backend
	sealer  *upstream.Sealer
	forge   *upstream.Forge
	tokens  *upstream.Tokens
	clock   *clock
	url     string

	mu    sync.Mutex
	hooks []int // statuses of the answers to the forge's messages; guarded by mu
}

var hookSecret = "the secret " + "of the hooks"

func newTown(t *testing.T, g *instance) *town {
	t.Helper()
	w := &town{t: t, g: g, clock: &clock{}, backend: sqlitetest.Serve(t, t.TempDir())}
	var err error
	w.sealer, err = upstream.LoadSealer(filepath.Join(t.TempDir(), "key"))
	w.must(err)
	id, secret := g.register(home + "/oauth/callback/forge")
	w.forge, err = upstream.NewForge(upstream.ForgeOptions{Kind: upstream.Gitea, URL: g.url, ClientID: id, ClientSecret: secret})
	w.must(err)
	accounts := w.backend.(store.Accounts)
	w.tokens = upstream.NewTokens(accounts, w.sealer, w.forge, nil)
	f, err := forge.New(forge.Options{Kind: forge.Gitea, URL: g.url, Now: w.clock.Now})
	w.must(err)
	hooks, err := f.Hooks(hookSecret)
	w.must(err)
	a := auth.New(w.backend, auth.Options{Accounts: accounts})
	rights := access.New(access.Options{People: w.person, Forge: f, Names: w.backend, Hooks: hooks, Now: w.clock.Now})
	c, err := core.New(core.Options{
		Store: w.backend, Policies: w.backend, Rescans: w.backend,
		Scan: func(context.Context, string, string) ([]api.Finding, error) { return nil, nil },
	})
	w.must(err)
	s, err := server.New(server.Options{Core: c, Auth: a, Access: rights})
	w.must(err)
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != api.PathWebhookGitea {
			s.Handler().ServeHTTP(rw, r)
			return
		}
		seen := httptest.NewRecorder()
		s.Handler().ServeHTTP(seen, r)
		rw.WriteHeader(seen.Code)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.hooks = append(w.hooks, seen.Code)
	}))
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = a.Run(ctx) })
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close(); stop(); running.Wait() })
	w.url = srv.URL
	return w
}

func (w *town) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// person is an [access.People].
func (w *town) person(ctx context.Context, id string) (access.Person, error) {
	u, err := w.backend.(store.Accounts).User(ctx, id)
	if err != nil {
		return access.Person{}, err
	}
	return access.Person{
		Issuer: u.Issuer, Subject: u.Subject, Login: u.Login,
		Token: func(ctx context.Context) (string, error) { return w.tokens.Token(ctx, id) },
	}, nil
}

// signIn sends somebody's browser to the forge and returns our token of theirs.
func (w *town) signIn(login string) string {
	w.t.Helper()
	trip := newTrip("/oauth/callback/forge")
	who, err := w.forge.Identify(w.t.Context(), travel(w.t, w.g.browserOf(login), w.forge, trip).Get("code"), trip)
	w.must(err)
	if who.Login != login {
		w.t.Fatalf("%s came back as %s", login, who.Login)
	}
	w.keep(who, who.Token)
	now := time.Now().UTC().Truncate(time.Millisecond)
	sum := sha256.Sum256([]byte(login + w.g.url))
	secret := "tm_" + base64.RawURLEncoding.EncodeToString(sum[:])
	w.must(w.backend.(store.Accounts).AddFamily(w.t.Context(), store.Issue{
		Family:  store.Family{ID: "family-" + login, User: "user-" + login, Client: "test", Generation: 1, CreatedAt: now, RotatedAt: now, ExpiresAt: now.Add(time.Hour)},
		Refresh: sha256.Sum256([]byte("refresh " + login)),
		Access:  store.Token{ID: "token-" + login, Name: login, Hash: sha256.Sum256([]byte(secret)), CreatedAt: now, ExpiresAt: now.Add(time.Hour)},
	}))
	return secret
}

// keep stores somebody with a token of the forge.
func (w *town) keep(who upstream.Identity, token *oauth2.Token) {
	w.t.Helper()
	sealed, err := w.sealer.Seal(token, who.Issuer, who.Subject)
	w.must(err)
	now := time.Now().UTC().Truncate(time.Millisecond)
	_, err = w.backend.(store.Accounts).SaveUser(w.t.Context(), store.User{
		ID: "user-" + who.Login, Issuer: who.Issuer, Subject: who.Subject, Login: who.Login, Upstream: sealed, CreatedAt: now, SeenAt: now,
	})
	w.must(err)
}

// ask sends a request to our server.
func (w *town) ask(method, path, token, body string) (status int, text string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	w.must(err)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	w.must(err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	w.must(err)
	return resp.StatusCode, string(raw)
}

// repo is how a repository of the forge is called here.
func repo(path string) string { return url.QueryEscape("127.0.0.1/" + path) }

func (w *town) want(what string, want int, method, path, token, body string) string {
	w.t.Helper()
	status, text := w.ask(method, path, token, body)
	if status != want {
		w.t.Errorf("%s: %d %s, want %d", what, status, text, want)
	}
	return text
}

// reads wants what a read of a repo's memory answers.
func (w *town) reads(what, token, path string, want int) string {
	w.t.Helper()
	return w.want(what, want, http.MethodGet, api.PathTeamMemory+"?repo="+repo(path), token, "")
}

// writes wants what a write answers.
func (w *town) writes(what, token, path, text string, want int) {
	w.t.Helper()
	w.want(what, want, http.MethodPut, api.PathTeamMemory+"?repo="+repo(path), token, fmt.Sprintf(`{"entries":{"note.md":%q}}`, text))
}

// roleOf returns the role that somebody hears of.
func (w *town) roleOf(token, path string) string {
	w.t.Helper()
	var me api.WhoAmI
	w.must(json.Unmarshal([]byte(w.want("whoami", 200, http.MethodGet, api.PathWhoAmI+"?repo="+repo(path), token, "")), &me))
	return me.Role.String()
}

// do asks the forge's own interface, as one of its people.
func (g *instance) do(login, method, path string, body any, want int) []byte {
	g.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		g.t.Fatal(err)
	}
	req, err := http.NewRequest(method, g.url+"/api/v1"+path, bytes.NewReader(raw))
	if err != nil {
		g.t.Fatal(err)
	}
	req.SetBasicAuth(login, g.password)
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		g.t.Fatalf("%s %s: %d %s, %v", method, path, resp.StatusCode, answer, err)
	}
	return answer
}
