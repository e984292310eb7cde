package server_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
)

// byRole are statuses for a reader, a writer, a maintainer and an admin.
type byRole [4]int

var matrixRoles = []api.Role{api.Reader, api.Writer, api.Maintainer, api.Admin}

// matrixRow is one kind of request. Every route of the server has at least one.
type matrixRow struct {
	name   string
	method string
	path   string // of the server's table
	// make completes the request about a repo; nil for one that is about none.
	make func(r *request, repo string)
	own  byRole // in a repo that the caller has the role in
	// open says that the answer does not end by itself.
	open bool
}

func matrixQuery(more string) func(*request, string) {
	return func(r *request, repo string) { r.path += "?repo=" + repo + more }
}

// matrixBody sends a body in which REPO stands for the repo.
func matrixBody(body string) func(*request, string) {
	return func(r *request, repo string) { r.body = strings.ReplaceAll(body, "REPO", repo) }
}

func matrixPut(body string) func(*request, string) {
	return func(r *request, repo string) { r.path += "?repo=" + repo; r.body = body }
}

// matrixRows says what each route answers to whom. A new route gets rows here.
var matrixRows = []matrixRow{
	{name: "everything", method: "GET", path: api.PathTeamMemory, make: matrixQuery(""), own: byRole{200, 200, 200, 200}},
	{name: "conditional", method: "GET", path: api.PathTeamMemory, make: func(r *request, repo string) {
		r.path += "?repo=" + repo
		r.header = map[string]string{"If-None-Match": "*"}
	}, own: byRole{304, 304, 304, 304}},
	{name: "hashes", method: "GET", path: api.PathTeamMemory, make: matrixQuery("&view=hashes"), own: byRole{200, 200, 200, 200}},
	{name: "hashes, zipped", method: "GET", path: api.PathTeamMemory, make: func(r *request, repo string) {
		r.path += "?view=hashes&repo=" + repo
		r.header = map[string]string{"Accept-Encoding": "gzip"}
	}, own: byRole{200, 200, 200, 200}},
	{name: "delta", method: "GET", path: api.PathTeamMemory, make: matrixQuery("&since=0&epoch=x"), own: byRole{200, 200, 200, 200}},
	{name: "keys", method: "GET", path: api.PathTeamMemory, make: matrixQuery("&keys=k"), own: byRole{200, 200, 200, 200}},
	{name: "long poll", method: "GET", path: api.PathTeamMemory, make: matrixQuery("&wait=25&after=999999"), own: byRole{200, 200, 200, 200}},
	{name: "nothing", method: "PUT", path: api.PathTeamMemory, make: matrixPut(`{}`), own: byRole{403, 200, 200, 200}},
	{name: "a bad key", method: "PUT", path: api.PathTeamMemory, make: matrixPut(`{"entries":{"..":""}}`), own: byRole{403, 422, 422, 422}},
	{name: "no JSON", method: "PUT", path: api.PathTeamMemory, make: matrixPut(`x`), own: byRole{403, 400, 400, 400}},
	{name: "an unmet condition", method: "PUT", path: api.PathTeamMemory, make: func(r *request, repo string) {
		matrixPut(`{"entries":{"k":"2"}}`)(r, repo)
		r.header = map[string]string{"If-Match": `"sha256:` + strings.Repeat("0", 64) + `"`}
	}, own: byRole{403, 412, 412, 412}},
	{name: "retirement", method: "PUT", path: api.PathTeamMemory, make: matrixPut(`{"soft_delete_keys":["unknown"]}`), own: byRole{403, 403, 200, 200}},
	{name: "stream", method: "GET", path: api.PathEvents, make: matrixQuery(""), own: byRole{200, 200, 200, 200}, open: true},
	{name: "history", method: "GET", path: api.PathHistory, make: matrixQuery(""), own: byRole{200, 200, 200, 200}},
	{name: "history of a bad key", method: "GET", path: api.PathHistory, make: matrixQuery("&key=.."), own: byRole{422, 422, 422, 422}},
	{name: "content", method: "GET", path: api.PathContent, make: matrixQuery("&key=k&version=1"), own: byRole{200, 200, 200, 200}},
	{name: "restore", method: "POST", path: api.PathRestore, make: matrixBody(`{"repo":"REPO","key":"k","version":1}`), own: byRole{403, 403, 200, 200}},
	{name: "redact what is not there", method: "POST", path: api.PathRedact, make: matrixBody(`{"repo":"REPO","key":"k","version":99}`), own: byRole{403, 403, 404, 404}},
	{name: "redact nothing in particular", method: "POST", path: api.PathRedact, make: matrixBody(`{"repo":"REPO"}`), own: byRole{403, 403, 400, 400}},
	{name: "redactions", method: "GET", path: api.PathRedactions, make: matrixQuery(""), own: byRole{403, 403, 200, 200}},
	{name: "report of what is not there", method: "GET", path: api.PathRedactions, make: matrixQuery("&id=99"), own: byRole{403, 403, 404, 404}},
	{name: "scan policy", method: "GET", path: api.PathScanPolicy, make: matrixQuery(""), own: byRole{200, 200, 200, 200}},
	{name: "allow a rule", method: "PUT", path: api.PathScanPolicy, make: matrixBody(`{"repo":"REPO","rule":"r","reason":"x"}`), own: byRole{403, 403, 200, 200}},
	{name: "end what is not there", method: "DELETE", path: api.PathScanPolicy, make: matrixQuery("&id=none"), own: byRole{403, 403, 404, 404}},
	{name: "search", method: "GET", path: api.PathSearch, make: matrixQuery("&q=1"), own: byRole{200, 200, 200, 200}},
	{name: "a bad search", method: "GET", path: api.PathSearch, make: matrixQuery("&q="), own: byRole{400, 400, 400, 400}},
	{name: "marks", method: "GET", path: api.PathScanMarks, make: matrixQuery(""), own: byRole{403, 403, 200, 200}},
	{name: "join code", method: "POST", path: api.PathJoinCodes, make: matrixBody(`{"repo":"REPO"}`), own: byRole{403, 403, 200, 200}},

	{name: "who am I", method: "GET", path: api.PathWhoAmI, own: byRole{200, 200, 200, 200}},
	{name: "who am I in a repo", method: "GET", path: api.PathWhoAmI, make: matrixQuery(""), own: byRole{200, 200, 200, 200}},
	{name: "sign-ins", method: "GET", path: api.PathSignIns, own: byRole{200, 200, 200, 200}},
	{name: "sign-ins of others", method: "GET", path: api.PathSignIns + "?user=stranger", own: byRole{403, 403, 403, 403}},
	{name: "end no sign-in", method: "DELETE", path: api.PathSignIns, own: byRole{400, 400, 400, 400}},
	{name: "end a sign-in that is not there", method: "DELETE", path: api.PathSignIns + "?id=none", own: byRole{404, 404, 404, 404}},
	{name: "end sign-ins of others", method: "DELETE", path: api.PathSignIns + "?id=all&user=stranger", own: byRole{403, 403, 403, 403}},
	{name: "audit", method: "GET", path: api.PathAudit, make: matrixQuery(""), own: byRole{403, 403, 200, 200}},
	{name: "audit of the server", method: "GET", path: api.PathAudit, own: byRole{403, 403, 403, 403}},
	// Public routes answer everyone alike.
	{name: "join without a code", method: "POST", path: api.PathJoin, own: byRole{400, 400, 400, 400}},
	{name: "version", method: "GET", path: api.PathVersion, own: byRole{200, 200, 200, 200}},
	{name: "description", method: "GET", path: api.PathOpenAPI, own: byRole{200, 200, 200, 200}},
	{name: "live", method: "GET", path: api.PathLive, own: byRole{200, 200, 200, 200}},
	{name: "ready", method: "GET", path: api.PathReady, own: byRole{200, 200, 200, 200}},
	{name: "unsigned message", method: "POST", path: api.PathWebhookGitHub, own: byRole{403, 403, 403, 403}},
	{name: "message nobody expects", method: "POST", path: api.PathWebhookGitLab, own: byRole{404, 404, 404, 404}},
	{name: "message nobody expects", method: "POST", path: api.PathWebhookGitea, own: byRole{404, 404, 404, 404}},
	{name: "metadata", method: "GET", path: api.PathSignInMetadata, own: byRole{200, 200, 200, 200}},
	{name: "no form", method: "POST", path: api.PathDeviceCode, own: byRole{415, 415, 415, 415}},
	{name: "no form", method: "POST", path: api.PathToken, own: byRole{415, 415, 415, 415}},
	{name: "no form", method: "POST", path: api.PathRevoke, own: byRole{415, 415, 415, 415}},
	// Only the administrators of the whole server may ask about tokens.
	{name: "by nobody who may", method: "POST", path: api.PathIntrospect, own: byRole{401, 401, 401, 401}},
	{name: "no client", method: "GET", path: api.PathAuthorize, own: byRole{400, 400, 400, 400}},
	{name: "no form", method: "POST", path: api.PathAuthorize, own: byRole{415, 415, 415, 415}},
	{name: "page", method: "GET", path: api.PathDevice, own: byRole{200, 200, 200, 200}},
	{name: "no form", method: "POST", path: api.PathDevice, own: byRole{415, 415, 415, 415}},
	{name: "page", method: "GET", path: api.PathSignIn, own: byRole{200, 200, 200, 200}},
	{name: "no form", method: "POST", path: api.PathSignIn, own: byRole{415, 415, 415, 415}},
	{name: "without a session", method: "POST", path: api.PathSignOut, own: byRole{200, 200, 200, 200}},
	{name: "no such forge", method: "GET", path: api.PathForgeCallback, own: byRole{404, 404, 404, 404}},
	{name: "no such provider", method: "GET", path: api.PathOIDCCallback, own: byRole{404, 404, 404, 404}},
}

// TestMatrixIsWhole compares the rows with the server's table, both ways.
func TestMatrixIsWhole(t *testing.T) {
	w := newWorld(t, options{})
	methods, _ := w.server.Table()
	rows := map[string]bool{}
	for _, row := range matrixRows {
		path, _, _ := strings.Cut(row.path, "?")
		rows[row.method+" "+path] = true
		if !slices.Contains(methods[path], row.method) {
			t.Errorf("%s: the server has no %s %s", row.name, row.method, row.path)
		}
	}
	for path, list := range methods {
		for _, method := range list {
			if !rows[method+" "+path] {
				t.Errorf("%s %s has no row in the access matrix", method, path)
			}
		}
	}
}

// bearer is a credential of the matrix.
type bearer struct {
	name, token string
	role        api.Role // in repos of own; NoRole: it does not count at all
}

// matrixTown has a repo in which everyone has their role ("own"), one that exists
// beyond everyone's reach ("other"), and one that nobody ever wrote ("missing").
func matrixTown(t *testing.T) (c *town, bearers []bearer) {
	t.Helper()
	c = newTown(t, "[[rules]]\nrepos = [\"own/*\"]\nusers = [\"admin@example.com\"]\nrole = \"admin\"\n", options{})
	c.repo("own/repo", map[string]string{"reader": "pull", "writer": "push", "maintainer": "maintain", "admin": "pull"})
	c.repo("other/repo", map[string]string{"stranger": "admin"})
	for _, role := range matrixRoles {
		bearers = append(bearers,
			bearer{"a service token of a " + role.String(), c.token("own/*", role), role},
			bearer{"a person as " + role.String(), c.signIn(role.String()), role},
		)
	}
	_, revoked, err := c.auth.Create(t.Context(), "revoked", "*", api.Admin, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := c.auth.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		if token.Name == "revoked" {
			if err := c.auth.Revoke(t.Context(), token.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, expired, err := c.auth.Create(t.Context(), "expired", "*", api.Admin, time.Now().Add(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	for c.do(request{path: api.PathWhoAmI, token: expired}).status != 401 {
	}
	return c, append(bearers,
		bearer{"nobody", "", api.NoRole},
		bearer{"garbage", "garbage", api.NoRole},
		bearer{"a token that nobody has", "tm_" + strings.Repeat("A", 43), api.NoRole},
		bearer{"a revoked token", revoked, api.NoRole},
		bearer{"an expired token", expired, api.NoRole},
	)
}

// TestAccessMatrix walks every route with every credential over every kind of
// repo: nothing is answered beyond the grant, and what is beyond it looks like
// what does not exist, to the last byte and header.
func TestAccessMatrix(t *testing.T) {
	c, bearers := matrixTown(t)
	_, public := c.server.Table()
	for _, row := range matrixRows {
		for _, b := range bearers {
			what := row.method + " " + row.path + " (" + row.name + ") by " + b.name
			send := func(repo string) answer { return c.matrixSend(row, b, repo) }
			if row.make == nil {
				want := row.own[0]
				if b.role > api.NoRole {
					want = row.own[b.role-api.Reader]
				} else if !public[row.path] {
					want = 401
				}
				if got := send(""); got.status != want {
					t.Errorf("%s: %d, want %d: %s", what, got.status, want, got.body)
				}
				continue
			}
			own, other, missing := send("own/repo"), send("other/repo"), send("other/missing")
			want := 404
			if b.role == api.NoRole {
				want = 401
				sameAnswer(t, what+", own and missing", own, missing)
			} else if got := own.status; got != row.own[b.role-api.Reader] {
				t.Errorf("%s: %d, want %d: %s", what, got, row.own[b.role-api.Reader], own.body)
			}
			if other.status != want {
				t.Errorf("%s beyond its reach: %d, want %d: %s", what, other.status, want, other.body)
			}
			sameAnswer(t, what, other, missing)
		}
	}
}

// Within its reach a repo that was never written looks the same as well.
func TestNeverWrittenLooksBeyondReach(t *testing.T) {
	c, bearers := matrixTown(t)
	c.hub.Repo("own/missing", "private")
	for _, row := range matrixRows {
		for _, b := range bearers {
			if row.method != http.MethodGet || row.make == nil || b.role == api.NoRole {
				continue
			}
			if row.path == api.PathScanPolicy || row.path == api.PathScanMarks || row.path == api.PathWhoAmI || row.path == api.PathAudit || row.open || strings.Contains(row.name, "bad") {
				continue // a repo that was never written may have a policy, be waited for, and give a role
			}
			if strings.HasPrefix(b.name, "a person") {
				c.hub.Allow(b.role.String(), "own/missing", "pull")
			}
			sameAnswer(t, row.name+" by "+b.name, c.matrixSend(row, b, "own/missing"), c.matrixSend(row, b, "other/repo"))
		}
	}
}

// matrixSend sends one request of a row. Of an answer that does not end it reads
// what begins it.
func (w *world) matrixSend(row matrixRow, b bearer, repo string) answer {
	w.t.Helper()
	r := request{method: row.method, path: row.path, token: b.token}
	if row.make != nil {
		row.make(&r, repo)
	}
	if row.method == http.MethodPost && row.make == nil {
		r.body = "{}"
	}
	if !row.open {
		a, err := w.try(r)
		if err != nil {
			w.t.Fatalf("%s %s: %v", r.method, r.path, err)
		}
		return a
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, row.method, w.url+r.path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if b.token != "" {
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	var body []byte
	if res.StatusCode != http.StatusOK {
		if body, err = io.ReadAll(res.Body); err != nil {
			w.t.Fatal(err)
		}
	}
	return answer{res.StatusCode, res.Header, body}
}

func sameAnswer(t *testing.T, what string, a, b answer) {
	t.Helper()
	if a.status != b.status || !bytes.Equal(a.body, b.body) {
		t.Errorf("%s: answers differ: %d %s and %d %s", what, a.status, a.body, b.status, b.body)
	}
	if diff := cmp.Diff(comparable(a.header), comparable(b.header)); diff != "" {
		t.Errorf("%s: headers differ:\n%s", what, diff)
	}
}

func comparable(h http.Header) http.Header {
	h = h.Clone()
	h.Del("Date")
	h.Del(api.HeaderRequest) // random
	return h
}
