package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/tests/chaos"
)

// TestWrongToken uses a token that the server does not know: exit code 4, and
// everything stays.
func TestWrongToken(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	m := newFastMachine(t, "ada")
	m.enroll(server.url, "tm_"+strings.Repeat("A", 43), team)
	m.write("note.md", "text\n")
	complains(t, m.run("sync"), 4)
	if r := m.sync(4); r.State != "signed-out" || r.Pending != 1 {
		t.Errorf("%s with %d pending, want signed-out with 1", r.State, r.Pending)
	}
	m.ok("status")
	m.want(4, "status", "--check")
	complains(t, m.run("history", "note.md"), 4)
	complains(t, m.run("search", "text"), 4)
	daemon := m.daemon()
	await(t, time.Minute, "the daemon to say signed-out", func() bool { return m.status().State == "signed-out" })
	complains(t, m.run("sync"), 4)
	daemon.stop()
	put(t, filepath.Join(m.home, "token"), server.token("ada", team, "writer"))
	if r := m.sync(0); r.Sent != 1 {
		t.Errorf("sent %d with a good token, want 1", r.Sent)
	}
}

// TestRevokedToken revokes a token under a daemon: it acts within a second.
func TestRevokedToken(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	created := decode[struct{ ID, Token string }](t, p.server.ok("server", "token", "create", "--json", "--name", "gone",
		"--repo", team, "--role", "writer", "--data", p.server.data).stdout)
	p.a.enroll(p.server.url, created.Token, team)
	p.a.daemon()
	p.a.write("one.md", "one\n")
	await(t, time.Minute, "the first file to be sent", func() bool { return p.a.status().State == "in-sync" && p.a.status().Version > 0 })

	p.server.ok("server", "token", "revoke", created.ID, "--data", p.server.data)
	revoked := time.Now()
	status := func() int {
		return p.server.call(http.MethodGet, created.Token, api.PathTeamMemory, url.Values{"repo": {team}}, nil).status
	}
	for sent := revoked; status() != http.StatusUnauthorized; sent = time.Now() {
		if late := sent.Sub(revoked); late > time.Second {
			t.Fatalf("%s after the revocation the token was still good, want at most 1 s", late)
		}
	}
	p.a.write("two.md", "two\n")
	await(t, time.Minute, "the daemon to say signed-out", func() bool { return p.a.status().State == "signed-out" })
	complains(t, p.a.run("sync"), 4)
	if r := decode[report](t, p.a.run("sync", "--json").stdout); r.Pending != 1 {
		t.Errorf("%d pending, want 1", r.Pending)
	}
	sameTree(t, "the team directory", tree{"one.md": "one\n", "two.md": "two\n"}, treeOf(t, p.a.team))
	put(t, filepath.Join(p.a.home, "token"), p.server.token("again", team, "writer"))
	if r := p.a.sync(0); r.Sent != 1 {
		t.Errorf("sent %d with a new token, want 1", r.Sent)
	}
}

// TestRoles meets what a token may not do: exit code 77.
func TestRoles(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.a.write("note.md", "text\n")
	p.a.sync(0)
	reader := newFastMachine(t, "reader")
	reader.enroll(p.server.url, p.server.token("reader", team, "reader"), team)
	reader.sync(0)
	reader.write("mine.md", "mine\n")
	complains(t, reader.run("sync"), 77)
	if r := reader.sync(77); r.Pending != 1 {
		t.Errorf("%d pending, want 1", r.Pending)
	}
	p.a.write("note.md", "newer\n")
	p.a.sync(0)
	reader.run("sync")
	sameTree(t, "a reader still receives", tree{"note.md": "newer\n", "mine.md": "mine\n"}, treeOf(t, reader.team))

	complains(t, p.a.run("restore", "note.md@1"), 77)
	stranger := newFastMachine(t, "stranger")
	stranger.enroll(p.server.url, p.server.token("stranger", "other/*", "writer"), team)
	stranger.write("mine.md", "mine\n")
	complains(t, stranger.run("sync"), 77)
	sameTree(t, "a stranger's files", tree{"mine.md": "mine\n"}, treeOf(t, stranger.team))
}

// TestServerDownAtStart syncs, and starts a daemon, before there is a server.
func TestServerDownAtStart(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	m := newFastMachine(t, "ada")
	m.enroll(server.url, server.token("ada", team, "writer"), team)
	server.stop()
	m.write("note.md", "text\n")
	complains(t, m.run("sync"), 75)
	if r := m.sync(75); r.State != "offline" || r.Pending != 1 {
		t.Errorf("%s with %d pending, want offline with 1", r.State, r.Pending)
	}
	complains(t, m.run("history", "note.md"), 75)
	complains(t, m.run("search", "text"), 75)
	complains(t, m.run("restore", "note.md@1"), 75)
	complains(t, m.run("join", server.url, "--code", "AAAA-AAAA", "--repo", team, "--team-dir", m.team), 75)
	m.daemon()
	complains(t, m.run("sync"), 75)
	m.want(75, "status", "--check")
	server.again()
	await(t, time.Minute, "the daemon to find the server", func() bool { return m.status().State == "in-sync" })
	full, _ := server.get(server.token("r", team, "reader"), team)
	sameTree(t, "the server", tree{"note.md": "text\n"}, full.Content.Entries)
}

// TestServerGoneMidway breaks the connection at many points of a sync, once
// after the server has taken a batch and before it could say so.
func TestServerGoneMidway(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	want := make(tree)
	for i := range 30 {
		want[fmt.Sprintf("note-%02d.md", i)] = fmt.Sprintf("note %d\n%s", i, sized(20_000))
	}
	// The first answers have some 300 bytes each: the hashes view, then one for
	// each of the four batches.
	for _, budget := range []int{0, 1, 200, 400, 700, 1000, 1300, 1600} {
		t.Run(fmt.Sprintf("after %d bytes", budget), func(t *testing.T) {
			t.Parallel()
			repo := fmt.Sprintf("acme/broken-%d", budget)
			token := server.token("w", repo, "writer")
			proxy := chaos.Start(t, chaos.Options{Target: server.url})
			a, b := newFastMachine(t, "ada"), newFastMachine(t, "ben")
			a.enroll(proxy.URL(), token, repo)
			b.enroll(proxy.URL(), token, repo)
			for key, text := range want {
				a.write(key, text)
			}
			proxy.BreakAfter(budget)
			if o := a.run("sync"); o.code != 75 {
				t.Errorf("exit code %d, want 75\n%s%s", o.code, o.stdout, o.stderr)
			} else {
				complains(t, o, 75)
			}
			proxy.BreakAfter(-1)
			if r := a.sync(0); len(r.Conflicts) > 0 || r.Sent+r.Unchanged != len(want) {
				t.Errorf("afterwards: %d sent, %d unchanged, conflicts %v", r.Sent, r.Unchanged, r.Conflicts)
			}
			// The same on the way back.
			proxy.BreakAfter(2000 + 50*budget)
			if o := b.run("sync"); o.code != 75 {
				t.Errorf("receiving: exit code %d, want 75\n%s%s", o.code, o.stdout, o.stderr)
			}
			for key, text := range treeOf(t, b.team) {
				if text != want[key] {
					t.Errorf("a torn file arrived as %q", key)
				}
			}
			proxy.BreakAfter(-1)
			b.sync(0)
			sameTree(t, "both machines", treeOf(t, a.team), treeOf(t, b.team))
			sameTree(t, "what was written", want, treeOf(t, b.team))
		})
	}
}

const portal = "<!doctype html><title>Welcome to the hotel</title><form>Sign in, please</form>"

// signInPage is where a captive portal sends everybody. It must not be asked by a
// client of ours: it would learn the token.
func signInPage(t *testing.T) *httptest.Server {
	t.Helper()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed, with authorization %v", r.Header.Get("Authorization") != "")
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, portal)
	}))
	t.Cleanup(page.Close)
	return page
}

// TestF22SpoiledAnswers lets proxies answer in the server's name. A client that
// knows the repo must lose nothing, take nothing for the truth, and end with 75.
func TestF22SpoiledAnswers(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	page := signInPage(t)
	tests := []struct {
		name  string
		code  int
		spoil func(*http.Response) error
	}{
		{"HTML", 75, func(r *http.Response) error { return body(r, 200, "text/html; charset=utf-8", portal) }},
		{"HTML that says JSON", 75, func(r *http.Response) error { return body(r, 200, "application/json", portal) }},
		{"no content type", 75, func(r *http.Response) error { return body(r, 200, "", portal) }},
		{"204", 75, func(r *http.Response) error { return body(r, 204, "", "") }},
		{"empty 200", 75, func(r *http.Response) error { return body(r, 200, "application/json", "") }},
		{"another object", 75, func(r *http.Response) error { return body(r, 200, "application/json", "{}") }},
		{"null", 75, func(r *http.Response) error { return body(r, 200, "application/json", "null") }},
		{"an array", 75, func(r *http.Response) error { return body(r, 200, "application/json", "[]") }},
		{"404 of a proxy", 75, func(r *http.Response) error { return body(r, 404, "text/html", portal) }},
		{"redirect", 75, func(r *http.Response) error {
			_ = body(r, 302, "text/html", portal)
			r.Header.Set("Location", "http://127.0.0.1:9/login")
			return nil
		}},
		{"403 of a proxy", 75, func(r *http.Response) error { return body(r, 403, "text/html", portal) }},
		{"502", 75, func(r *http.Response) error { return body(r, 502, "text/html", portal) }},
		{"500", 75, func(r *http.Response) error { return body(r, 500, "text/plain", "oops") }},
		{"429", 75, func(r *http.Response) error {
			_ = body(r, 429, "application/json", `{"error":{"type":"rate_limit_error","message":"slow down","details":{"error_code":"rate_limited"}}}`)
			r.Header.Set("Retry-After", "1")
			return nil
		}},
		{"407", 75, func(r *http.Response) error { return body(r, 407, "text/html", portal) }},
		{"truncated JSON", 75, func(r *http.Response) error {
			text, err := plain(r)
			if err != nil || len(text) < 20 {
				return err
			}
			return body(r, r.StatusCode, "application/json", string(text[:len(text)/2]))
		}},
		{"broken off", 75, func(r *http.Response) error {
			text, err := plain(r)
			if err != nil || len(text) < 20 {
				return err
			}
			_ = body(r, r.StatusCode, "application/json", string(text[:len(text)/2]))
			r.ContentLength = int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return nil
		}},
		{"gzip garbage", 75, func(r *http.Response) error {
			_ = body(r, 200, "application/json", "\x1f\x8b\x08 this was never packed")
			r.Header.Set("Content-Encoding", "gzip")
			return nil
		}},
		{"another protocol", 75, func(r *http.Response) error {
			r.Header.Set(api.HeaderProtocol, "2")
			return nil
		}},
		{"redirect to a page that is there", 75, func(r *http.Response) error {
			_ = body(r, 302, "text/html", portal)
			r.Header.Set("Location", page.URL)
			return nil
		}},
		{"another repo", 75, rewrite(func(o map[string]any) { o["repo"] = "acme/other" })},                           //nolint:bodyclose // the proxy's
		{"no checksums", 75, rewrite(func(o map[string]any) { delete(o, "entryChecksums"); delete(o, "checksum") })}, //nolint:bodyclose // the proxy's
		{"empty though it was not", 75, func(r *http.Response) error {
			return body(r, 404, "application/json", `{"error":{"type":"not_found_error","message":"no","details":{"error_code":"not_found"}}}`)
		}},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			repo := fmt.Sprintf("acme/spoiled-%d", i)
			m := newMeddler(t, server.url)
			a := newFastMachine(t, "ada")
			a.enroll(m.URL, server.token("w", repo, "writer"), repo)
			want := tree{"one.md": "one\n", "two.md": "two\n", "three.md": "three\n"}
			for key, text := range want {
				a.write(key, text)
			}
			a.sync(0)
			want["two.md"] = "two, edited\n"
			a.write("two.md", want["two.md"])
			remove(t, filepath.Join(a.team, "three.md"))
			code := test.code
			if strings.HasPrefix(test.name, "empty though") {
				code = 77 // a client that holds a base takes 404 for a closed door
			}
			m.spoil(test.spoil)
			complains(t, a.run("sync"), code)
			if r := a.sync(code); r.Pending < 1 || r.Sent+r.Received+r.Restored > 0 {
				t.Errorf("%d pending, %d sent, %d received, %d restored under a spoiled answer", r.Pending, r.Sent, r.Received, r.Restored)
			}
			sameTree(t, "the files under a spoiled answer", want.without("three.md"), treeOf(t, a.team))
			m.spoil(nil)
			if r := a.sync(0); r.Sent != 1 || r.Restored != 1 {
				t.Errorf("afterwards: %d sent, %d restored, want 1 and 1", r.Sent, r.Restored)
			}
			sameTree(t, "the files afterwards", want, treeOf(t, a.team))
		})
	}
	t.Run("a fresh client", func(t *testing.T) {
		t.Parallel()
		for i, test := range tests[:20] {
			repo := fmt.Sprintf("acme/fresh-%d", i)
			m := newMeddler(t, server.url)
			a := newFastMachine(t, "ada")
			a.enroll(m.URL, server.token("w", repo, "writer"), repo)
			a.write("one.md", "one\n")
			m.spoil(test.spoil)
			if o := a.run("sync"); o.code != 75 {
				t.Errorf("%s: exit code %d, want 75\n%s%s", test.name, o.code, o.stdout, o.stderr)
			}
			m.spoil(nil)
			if r := a.sync(0); r.Sent+r.Unchanged != 1 {
				t.Errorf("%s, afterwards: %d sent and %d unchanged, want 1 in step", test.name, r.Sent, r.Unchanged)
			}
		}
	})
	t.Run("weak tags and compression do no harm", func(t *testing.T) {
		t.Parallel()
		m := newMeddler(t, server.url)
		a := newFastMachine(t, "ada")
		a.enroll(m.URL, server.token("w", "acme/weak", "writer"), "acme/weak")
		m.spoil(func(r *http.Response) error {
			if tag := r.Header.Get("ETag"); tag != "" {
				r.Header.Set("ETag", "W/"+strings.TrimSuffix(tag, `"`)+`-gzip"`)
			}
			return nil
		})
		for i := range 3 {
			a.write("one.md", fmt.Sprintf("edit %d\n", i))
			if r := a.sync(0); r.Sent != 1 {
				t.Errorf("sent %d, want 1", r.Sent)
			}
			a.sync(0)
		}
	})
}

// TestF15ServerRefuses sees one key that the server refuses hinder no other: a
// twin in another case.
func TestF15ServerRefuses(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.b.write("readme.md", "lower\n")
	p.b.write("dir/x.md", "in a directory\n")
	p.b.sync(0)
	p.a.write("README.md", "upper\n")
	p.a.write("Dir/y.md", "a directory in another case\n")
	p.a.write("fine.md", "fine\n")
	r := p.a.sync(3)
	if r.Sent < 1 {
		t.Errorf("%d sent: a refused key hinders others", r.Sent)
	}
	h, ok := r.heldFor("README.md")
	if !ok || h.Reason != "case-twin" && h.Reason != "refused-by-server" {
		t.Errorf("README.md: %+v, want it held", h)
	}
	if got, _ := p.a.read("README.md"); got != "upper\n" {
		t.Errorf("the held file is now %q", got)
	}
	p.b.sync(0)
	if got, _ := p.b.read("readme.md"); got != "lower\n" {
		t.Errorf("the other's file is now %q", got)
	}
	if got, _ := p.b.read("fine.md"); got != "fine\n" {
		t.Error("fine.md did not arrive")
	}
}

// TestBadRequests sends to the server what no client of ours does. Each gets a
// clear refusal in JSON, and nothing is stored.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	token := server.token("raw", "acme/*", "maintainer")
	large, _ := json.Marshal(map[string]any{"entries": map[string]string{"large.md": sized(3 << 20)}})
	many := make(map[string]string)
	for i := range 9 {
		many[fmt.Sprintf("part-%d.md", i)] = sized(240_000)
	}
	tests := []struct {
		name   string
		method string
		path   string
		query  url.Values
		body   any
		status int
		code   string
	}{
		{"a body over 2 MiB", "PUT", api.PathTeamMemory, url.Values{"repo": {team}}, large, 413, "body_too_large"},
		{"many entries over 2 MiB", "PUT", api.PathTeamMemory, url.Values{"repo": {team}}, map[string]any{"entries": many}, 413, "body_too_large"},
		{"an entry over the cap", "PUT", api.PathTeamMemory, url.Values{"repo": {team}}, map[string]any{"entries": map[string]string{"x.md": sized(250_001)}}, 413, "entry_too_large"},
		{"invalid JSON", "PUT", api.PathTeamMemory, url.Values{"repo": {team}}, []byte(`{"entries":{"a.md":`), 400, "bad_request"},
		{"JSON and more", "PUT", api.PathTeamMemory, url.Values{"repo": {team}}, []byte(`{"entries":{"a.md":"x"}} {}`), 400, "bad_request"},
		{"an array", "PUT", api.PathTeamMemory, url.Values{"repo": {team}}, []byte(`[]`), 400, "bad_request"},
		{"another type", "PUT", api.PathTeamMemory, url.Values{"repo": {team}}, []byte(`{"entries":{"a.md":5}}`), 400, "bad_request"},
		{"invalid UTF-8", "PUT", api.PathTeamMemory, url.Values{"repo": {team}}, []byte("{\"entries\":{\"a.md\":\"caf\xe9\"}}"), 422, "refused"},
		{"nothing", "PUT", api.PathTeamMemory, url.Values{"repo": {team}}, []byte(``), 400, "bad_request"},
		{"a repo with dots", "PUT", api.PathTeamMemory, url.Values{"repo": {"acme/../x"}}, map[string]any{"entries": map[string]string{"x.md": "x"}}, 400, "repo_invalid"},
		{"reading a repo with dots", "GET", api.PathTeamMemory, url.Values{"repo": {"../x"}}, nil, 400, "repo_invalid"},
		{"no repo", "GET", api.PathTeamMemory, url.Values{}, nil, 400, "repo_invalid"},
		{"a key that climbs", "PUT", api.PathTeamMemory, url.Values{"repo": {team}}, map[string]any{"entries": map[string]string{"../x.md": "x", "ok.md": "y"}}, 422, "key_invalid"},
		{"no such path", "GET", "/api/nope", url.Values{}, nil, 404, "not_found"},
	}
	for _, test := range tests {
		a := server.call(test.method, token, test.path, test.query, test.body)
		var wire api.ErrorBody
		if err := json.Unmarshal(a.body, &wire); err != nil {
			t.Errorf("%s: %q is no JSON: %v", test.name, shorten(string(a.body)), err)
		}
		if a.status != test.status || wire.Error.Details.ErrorCode != test.code || wire.Error.Message == "" || wire.Error.Type == "" {
			t.Errorf("%s: status %d, %s, want %d and %s", test.name, a.status, shorten(string(a.body)), test.status, test.code)
		}
	}
	if _, there := server.get(token, team); there {
		t.Error("something was stored")
	}
	if a := call(t, http.MethodGet, server.url+api.PathTeamMemory+"?repo="+url.QueryEscape(team), "", nil); a.status != http.StatusUnauthorized {
		t.Errorf("without a token: status %d, want 401", a.status)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { server.push(token, team, map[string]string{"x.md": "x\n"}) })
	}
	all.Wait()
	if full, _ := server.get(token, team); full.Version != 1 {
		t.Errorf("twenty equal writes made version %d, want 1", full.Version)
	}
}
