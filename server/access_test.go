package server_test

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

// TestAccessMatrix walks every route that touches a repo, with every role, over
// a repo that the token reaches ("own"), one that exists beyond its reach
// ("other"), and one that nobody ever wrote ("missing").
func TestAccessMatrix(t *testing.T) {
	w := newWorld(t, options{})
	admin := w.token("*", api.Admin)
	for _, repo := range []string{"own/repo", "other/repo"} {
		w.put(admin, repo, entries{"k": "1"})
	}
	post := func(path string, more map[string]any) func(string) request {
		return func(repo string) request {
			body := map[string]any{"repo": repo}
			maps.Copy(body, more)
			return request{method: http.MethodPost, path: path, body: jsonOf(t, body)}
		}
	}
	get := func(path, more string) func(string) request {
		return func(repo string) request { return request{path: path + "?repo=" + repo + more} }
	}
	put := func(body string) func(string) request {
		return func(repo string) request {
			return request{method: http.MethodPut, path: memory(repo), body: body}
		}
	}
	type byRole [4]int // reader, writer, maintainer, admin
	tests := []struct {
		name string
		make func(repo string) request
		own  byRole
	}{
		{"GET", get(api.PathTeamMemory, ""), byRole{200, 200, 200, 200}},
		{"conditional GET", func(repo string) request {
			return request{path: memory(repo), header: map[string]string{"If-None-Match": "*"}}
		}, byRole{304, 304, 304, 304}},
		{"hashes", get(api.PathTeamMemory, "&view=hashes"), byRole{200, 200, 200, 200}},
		{"long poll", get(api.PathTeamMemory, "&wait=25&after=999999"), byRole{200, 200, 200, 200}},
		{"PUT of nothing", put(`{}`), byRole{403, 200, 200, 200}},
		{"PUT of a bad key", put(`{"entries":{"..":""}}`), byRole{403, 422, 422, 422}},
		{"PUT of no JSON", put(`x`), byRole{403, 400, 400, 400}},
		{"retire", put(`{"soft_delete_keys":["unknown"]}`), byRole{403, 403, 200, 200}},
		{"history", get(api.PathHistory, ""), byRole{200, 200, 200, 200}},
		{"content", get(api.PathContent, "&key=k&version=1"), byRole{200, 200, 200, 200}},
		{"restore", post(api.PathRestore, map[string]any{"key": "k", "version": 1}), byRole{403, 403, 200, 200}},
		{"scan policy", get(api.PathScanPolicy, ""), byRole{200, 200, 200, 200}},
		{"allow a rule", func(repo string) request {
			return request{method: http.MethodPut, path: api.PathScanPolicy, body: jsonOf(t, map[string]any{"repo": repo, "rule": "r", "reason": "x"})}
		}, byRole{403, 403, 200, 200}},
		{"end what is not there", func(repo string) request {
			return request{method: http.MethodDelete, path: api.PathScanPolicy + "?id=none&repo=" + repo}
		}, byRole{403, 403, 404, 404}},
		{"marks", get(api.PathScanMarks, ""), byRole{403, 403, 200, 200}},
		{"join code", post(api.PathJoinCodes, nil), byRole{403, 403, 200, 200}},
	}
	roles := []api.Role{api.Reader, api.Writer, api.Maintainer, api.Admin}
	for i, role := range roles {
		token := w.token("own/*", role)
		for _, tt := range tests {
			send := func(repo, token string) answer {
				r := tt.make(repo)
				r.token = token
				return w.do(r)
			}
			if got := send("own/repo", token); got.status != tt.own[i] {
				t.Errorf("%s by a %v: %d, want %d: %s", tt.name, role, got.status, tt.own[i], got.body)
			}
			// Beyond its reach a token cannot tell what exists from what does not.
			other, missing := send("other/repo", token), send("other/missing", token)
			if other.status != 404 || missing.status != 404 || !bytes.Equal(other.body, missing.body) {
				t.Errorf("%s by a %v beyond its reach: %d and %d: %s %s", tt.name, role, other.status, missing.status, other.body, missing.body)
			}
			if diff := cmp.Diff(comparable(missing.header), comparable(other.header)); diff != "" {
				t.Errorf("%s by a %v: headers tell what exists (-missing +other):\n%s", tt.name, role, diff)
			}
			if got := send("own/repo", ""); got.status != 401 {
				t.Errorf("%s without a token: %d", tt.name, got.status)
			}
		}
		// Within its reach a repo that was never written looks the same as well.
		never := w.do(request{path: memory("own/missing"), token: token})
		beyond := w.do(request{path: memory("other/repo"), token: token})
		if never.status != 404 || !bytes.Equal(never.body, beyond.body) {
			t.Errorf("a %v tells a repo never written (%s) from one beyond its reach (%s)", role, never.body, beyond.body)
		}
		stream := w.do(request{path: api.PathEvents + "?repo=other/repo&repo=other/missing", token: token})
		wantStatus(t, "a stream beyond its reach", stream, 404, "not_found")
	}
}

func comparable(h http.Header) http.Header {
	h = h.Clone()
	h.Del("Date")
	h.Del(api.HeaderRequest)
	return h
}

func TestExpiredToken(t *testing.T) {
	w := newWorld(t, options{})
	_, secret, err := w.auth.Create(t.Context(), "brief", "*", api.Reader, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	late := auth.New(w.backend, auth.Options{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
	if _, err := late.Authenticate(t.Context(), secret); !errors.Is(err, api.ErrSignedOut) {
		t.Errorf("two hours later: %v", err)
	}
	wantStatus(t, "in time", w.do(request{path: api.PathWhoAmI, token: secret}), 200, "")
}

// A token revoked through the data directory, as `server token revoke` does
// beside a running server, is refused within a second.
func TestRevokedByAnotherProcess(t *testing.T) {
	w := newWorld(t, options{})
	admin := auth.New(sqlitetest.Beside(t, w.dir), auth.Options{})
	token, secret, err := admin.Create(t.Context(), "ci", "*", api.Writer, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, "a token made beside the server", w.do(request{path: api.PathWhoAmI, token: secret}), 200, "")
	if err := admin.Revoke(t.Context(), token.ID); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for w.do(request{path: api.PathWhoAmI, token: secret}).status != 401 {
		if time.Since(began) > time.Second {
			t.Fatal("still accepted after a second")
		}
	}
}
