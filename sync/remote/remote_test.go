package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/core"
	"github.com/teammem/teammemd/server/store/sqlitestore"
	teamsync "github.com/teammem/teammemd/sync"
	"github.com/teammem/teammemd/sync/remote"
)

var _ teamsync.Remote = (*remote.Client)(nil)

func repo(t *testing.T, s string) api.Repo {
	t.Helper()
	r, err := api.ParseRepo(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func key(t *testing.T, s string) api.Key {
	t.Helper()
	k, err := api.ParseKey(s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// world is a real server over a real store.
type world struct {
	url    string
	secret string
	auth   *auth.Auth
}

func newWorld(t *testing.T) world {
	t.Helper()
	ctx := t.Context()
	backend, err := sqlitestore.Open(ctx, sqlitestore.Options{Dir: t.TempDir(), Serve: true})
	if err != nil {
		t.Fatal(err)
	}
	tokens := auth.New(backend, auth.Options{})
	c, err := core.New(core.Options{Store: backend, Policies: backend, Scan: scanMarks})
	if err != nil {
		t.Fatal(err)
	}
	policy, err := auth.NewPolicy()
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{Core: c, Auth: tokens, Policy: policy, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- tokens.Run(running) }()
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		stop()
		if err := errors.Join(<-ended, backend.Close()); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	_, secret, err := tokens.Create(ctx, "test", "acme/*", api.Maintainer, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return world{web.URL, secret, tokens}
}

// scanMarks finds what says MARK, which a person may let pass.
func scanMarks(_ context.Context, key, content string) ([]api.Finding, error) {
	if !strings.Contains(content, "MARK") {
		return nil, nil
	}
	return []api.Finding{{Key: key, Line: 1, Rule: "mark", Tier: api.TierBlock3, Reason: "it says so"}}, nil
}

func (w world) client(t *testing.T) *remote.Client {
	t.Helper()
	return dial(t, w.url, w.secret)
}

func dial(t *testing.T, url, secret string) *remote.Client {
	t.Helper()
	c, err := remote.New(remote.Options{
		URL: url, Repo: repo(t, "acme/api"), Token: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: secret}),
		Actor: api.Actor{Person: "Ada Lövelace", Device: "laptop"}, UserAgent: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func outgoing(t *testing.T, name, content, expect string) api.Outgoing {
	t.Helper()
	return api.Outgoing{Key: key(t, name), Content: content, Sum: api.SumString(content), Expect: expect}
}

func TestAgainstARealServer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newWorld(t).client(t)
	if _, err := c.Hashes(ctx, api.Checksum{}); !errors.Is(err, api.ErrNotFound) {
		t.Fatalf("Hashes of a repo without data: %v, want %v", err, api.ErrNotFound)
	}
	texts := map[string]string{"a.md": "<a> & \u2028 \"b\"\n", "sub dir/ü.md": "漢字 🙂", "empty.md": ""}
	var batch api.Batch
	for _, name := range []string{"a.md", "empty.md", "sub dir/ü.md"} {
		batch.Entries = append(batch.Entries, outgoing(t, name, texts[name], ""))
	}
	pushed, err := c.Push(ctx, batch)
	if err != nil || pushed.Version != 1 || pushed.Epoch == "" {
		t.Fatalf("Push = %+v, %v", pushed, err)
	}
	if again, err := c.Push(ctx, batch); err != nil || again.Version != 1 {
		t.Errorf("the same batch again = %+v, %v, want a success without a new version", again, err)
	}
	view, err := c.Hashes(ctx, api.Checksum{})
	if err != nil || view.Base || view.Version != 1 || view.Epoch != pushed.Epoch || len(view.Sums) != 3 || view.Checksum != pushed.Checksum {
		t.Fatalf("Hashes = %+v, %v", view, err)
	}
	if same, err := c.Hashes(ctx, view.Checksum); err != nil || !same.NotModified || same.Version != 1 || same.Epoch != pushed.Epoch {
		t.Errorf("Hashes with the known checksum = %+v, %v", same, err)
	}
	for _, keys := range [][]api.Key{nil, {key(t, "a.md"), key(t, "empty.md"), key(t, "sub dir/ü.md"), key(t, "unknown.md")}} {
		pulled, err := c.Pull(ctx, keys)
		if err != nil || len(pulled.Entries) != 3 || len(pulled.Invalid) != 0 {
			t.Fatalf("Pull(%v) = %+v, %v", keys, pulled, err)
		}
		if want := (api.Position{Epoch: view.Epoch, Version: view.Version}); pulled.At != want || want.Epoch == "" {
			t.Errorf("Pull(%v) is of %+v, the view of %+v", keys, pulled.At, want)
		}
		for _, e := range pulled.Entries {
			if e.Content != texts[e.Key.String()] || e.Sum != api.SumString(e.Content) || e.Modified.IsZero() {
				t.Errorf("Pull: %+v, want %q", e, texts[e.Key.String()])
			}
		}
	}
	_, err = c.Push(ctx, api.Batch{Entries: []api.Outgoing{outgoing(t, "a.md", "other", "")}})
	var refusal *api.Error
	if !errors.As(err, &refusal) || !errors.Is(err, api.ErrPrecondition) || refusal.Details.Conflicts["a.md"] != api.SumString(texts["a.md"]).String() {
		t.Errorf("a push that expects absence: %v, details %+v", err, refusal)
	}
	versions, err := c.History(ctx, key(t, "a.md"), 0)
	if err != nil || len(versions) != 1 || versions[0].Actor.Person != "Ada Lövelace" || !versions[0].Current {
		t.Errorf("History = %+v, %v", versions, err)
	}
}

func TestManyKeysAreAskedForInSeveralRequests(t *testing.T) {
	t.Parallel()
	c := newWorld(t).client(t)
	var batch api.Batch
	var keys []api.Key
	for i := range 300 {
		o := outgoing(t, fmt.Sprintf("%s/%03d.md", strings.Repeat("d", 60), i), "x", "")
		batch.Entries, keys = append(batch.Entries, o), append(keys, o.Key)
	}
	if _, err := c.Push(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Hashes(t.Context(), api.Checksum{}); err != nil {
		t.Fatal(err)
	}
	pulled, err := c.Pull(t.Context(), keys)
	if err != nil || len(pulled.Entries) != len(keys) {
		t.Errorf("Pull of %d keys gave %d, %v", len(keys), len(pulled.Entries), err)
	}
	if pulled.At.Version == 0 || pulled.At.Epoch == "" {
		t.Errorf("Pull of %d keys is of %+v", len(keys), pulled.At)
	}
}

func TestFollowHearsOfEveryChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client(t)
	if _, err := c.Push(t.Context(), api.Batch{Entries: []api.Outgoing{outgoing(t, "a.md", "1", "")}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	heard := make(chan api.Position, 16)
	ended := make(chan error, 1)
	go func() { ended <- c.Follow(ctx, func(at api.Position) { heard <- at }) }()
	if first := <-heard; first.Version != 1 || first.Epoch == "" {
		t.Errorf("the first notice is %+v, want the present state", first)
	}
	if _, err := w.client(t).Push(ctx, api.Batch{Entries: []api.Outgoing{outgoing(t, "b.md", "2", "")}}); err != nil {
		t.Fatal(err)
	}
	select {
	case at := <-heard:
		if at.Version != 2 {
			t.Errorf("the second notice is %+v", at)
		}
	case <-ctx.Done():
		t.Fatal("no notice of a change")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Follow ended with %v", err)
	}
}

// TestStrangersAreNotBelieved stands between the client and its server, as
// captive portals, proxies and broken servers do.
func TestStrangersAreNotBelieved(t *testing.T) {
	t.Parallel()
	sum := api.SumString("x").String()
	hashes := func(repo string) string {
		return fmt.Sprintf(`{"repo":%q,"version":1,"checksum":%q,"lastModified":"2026-01-01T00:00:00Z","entryChecksums":{"a.md":%q}}`, repo, sum, sum)
	}
	tests := []struct {
		name        string
		status      int
		contentType string
		body        string
		want        error
	}{
		{"a sign-in page", 200, "text/html", "<html>Sign in</html>", api.ErrBadAnswer},
		{"a page of a proxy that says 404", 404, "text/html", "not here", api.ErrBadAnswer},
		{"no content", 204, "", "", api.ErrBadAnswer},
		{"a redirect", 302, "text/html", "", api.ErrBadAnswer},
		{"truncated JSON", 200, "application/json", hashes("acme/api")[:60], api.ErrBadAnswer},
		{"another repo", 200, "application/json", hashes("evil/api"), api.ErrBadAnswer},
		{"another protocol", 200, "application/json", hashes("acme/api"), api.ErrBadAnswer},
		{"JSON of another kind", 200, "application/json", `{"hello":"world"}`, api.ErrBadAnswer},
		{"a bare 404", 404, "application/json", `{}`, api.ErrNotFound},
		{"a bad gateway", 502, "text/html", "oops", api.ErrUnavailable},
		{"too many requests", 429, "text/plain", "slow down", api.ErrRateLimited},
		{"signed out", 401, "application/json", `{"error":{"details":{"error_code":"signed_out"}}}`, api.ErrSignedOut},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.name == "another protocol" {
					w.Header().Set(api.HeaderProtocol, "2")
				}
				w.Header().Set("Content-Type", tt.contentType)
				w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(tt.status)
				if tt.status != http.StatusNoContent {
					_, _ = w.Write([]byte(tt.body))
				}
			}))
			defer web.Close()
			view, err := dial(t, web.URL, "secret").Hashes(t.Context(), api.Checksum{})
			if !errors.Is(err, tt.want) {
				t.Errorf("Hashes = %+v, %v, want %v", view, err, tt.want)
			}
			var refusal *api.Error
			if errors.As(err, &refusal) && refusal.RetryAfter != 7*time.Second {
				t.Errorf("Retry-After reads as %v", refusal.RetryAfter)
			}
		})
	}
}

func TestHostileKeysAndContentsAreLeftOut(t *testing.T) {
	t.Parallel()
	good := api.SumString("good").String()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		sums := map[string]string{"good.md": good, "../evil.md": good, "/etc/x": good, "CON": good, "bad-sum.md": "sha256:zz", "liar.md": good}
		if r.URL.Query().Get("view") == "hashes" {
			_ = json.NewEncoder(w).Encode(map[string]any{"version": 1, "checksum": good, "entryChecksums": sums, "deletedEntries": map[string]uint64{"../gone": 1, "gone.md": 1}})
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"repo": "acme/api", "version": 1, "checksum": good, "content": map[string]any{
			"entryChecksums": sums,
			"entries":        map[string]string{"good.md": "good", "../evil.md": "good", "liar.md": "lies", "large.md": strings.Repeat("x", api.MaxEntryBytes+1)},
		}})
	}))
	defer web.Close()
	c := dial(t, web.URL, "secret")
	view, err := c.Hashes(t.Context(), api.Checksum{})
	if err != nil || !view.Base || len(view.Sums) != 2 || len(view.Tombs) != 1 || len(view.Invalid) != 5 {
		t.Errorf("Hashes = %+v, %v", view, err)
	}
	pulled, err := c.Pull(t.Context(), []api.Key{key(t, "good.md")})
	if err != nil || len(pulled.Entries) != 1 || pulled.Entries[0].Content != "good" || len(pulled.Invalid) != 3 {
		t.Errorf("Pull = %+v, %v", pulled, err)
	}
}

func TestOfflineSaysSo(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	url := web.URL
	web.Close()
	_, err := dial(t, url, "top-secret-token").Hashes(t.Context(), api.Checksum{})
	if !errors.Is(err, api.ErrOffline) || strings.Contains(err.Error(), "top-secret-token") {
		t.Errorf("a server that is down: %v", err)
	}
	web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("{"))
	}))
	defer web.Close()
	if _, err := dial(t, web.URL, "x").Hashes(t.Context(), api.Checksum{}); !errors.Is(err, api.ErrOffline) {
		t.Errorf("an answer that breaks off: %v", err)
	}
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"http://127.0.0.1:8787", "https://memory.example.org/", "https://host/prefix/"} {
		if u, err := remote.ParseURL(good); err != nil || strings.HasSuffix(u.String(), "/") {
			t.Errorf("ParseURL(%q) = %v, %v", good, u, err)
		}
	}
	for _, bad := range []string{"", "host", "ftp://host", "http://", "http://user:pw@host", "http://host?x=1", "http://host#f", "://", "http://%zz"} {
		_, err := remote.ParseURL(bad)
		if !errors.Is(err, api.ErrUsage) || strings.Contains(err.Error(), "pw") {
			t.Errorf("ParseURL(%q): %v", bad, err)
		}
	}
}
