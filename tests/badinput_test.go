package tests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// badInput is one request that a server must refuse, as docs/api.md says.
type badInput struct {
	name   string
	method string // GET unless given
	path   string // the team-memory door unless given
	token  string
	query  url.Values // repo is filled in where there is none
	body   any
	status int
	code   string
}

// TestBadInput sends a real server, with low limits, all that it must refuse: what
// is too large, too long, too many or too often, and what comes without the right
// to it. Each has its own answer, none is a 500, and when all was sent the repo is as
// it was.
func TestBadInput(t *testing.T) {
	t.Parallel()
	server := &companion{machine: newMachine(t, "server")}
	server.data = filepath.Join(server.home, "data")
	file := filepath.Join(server.home, "server.toml")
	put(t, file, "[limits]\nmax_entries = 5\nstreams = 2\n")
	server.up("127.0.0.1:0", "--config", file)
	writer, reader, lead := server.token("w", team, "writer"), server.token("r", team, "reader"), server.token("m", team, "maintainer")
	if a := server.push(writer, team, map[string]string{"a.md": "there\n"}); a.status != http.StatusOK {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	before, _ := server.get(reader, team)

	entry := func(key, content string) any { return map[string]any{"entries": map[string]string{key: content}} }
	long := func(n int) string { return strings.Repeat("k", n) }
	query := func(pairs ...string) url.Values {
		v := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			v.Add(pairs[i], pairs[i+1])
		}
		return v
	}
	many := map[string]string{}
	for i := range 6 {
		many[fmt.Sprintf("%d.md", i)] = "x"
	}
	var repos, quarrel []string
	for i := range 1001 {
		repos = append(repos, fmt.Sprintf("acme/r%d", i))
	}
	quarrel = append(quarrel, team, "acme/other")
	const putting, posting = http.MethodPut, http.MethodPost
	tests := []badInput{
		{name: "an entry over 250,000 bytes", method: putting, token: writer, body: entry("big.md", sized(api.MaxEntryBytes+1)), status: 413, code: "entry_too_large"},
		{name: "a body over 2 MiB", method: putting, token: writer, body: []byte(`{"entries":{"a":"` + long(api.MaxBodyBytes) + `"}}`), status: 413, code: "body_too_large"},
		{name: "a body of a POST over 16 KiB", method: posting, path: api.PathRedact, token: lead, body: []byte(`{"repo":"` + team + `","value":"` + long(16<<10) + `"}`), status: 413, code: "body_too_large"},
		{name: "more entries than a repo may have", method: putting, token: writer, body: map[string]any{"entries": many}, status: 413, code: "team_memory_too_many_entries"},
		{name: "a key over 1,024 bytes", method: putting, token: writer, body: entry(strings.Repeat(long(150)+"/", 7)+"a.md", "x"), status: 422, code: "key_invalid"},
		{name: "a segment over 200 bytes", method: putting, token: writer, body: entry(long(201), "x"), status: 422, code: "key_invalid"},
		{name: "more than 20 segments", method: putting, token: writer, body: entry(strings.Repeat("a/", 20)+"b.md", "x"), status: 422, code: "key_invalid"},
		{name: "a key that leads out", method: putting, token: writer, body: entry("../a.md", "x"), status: 422, code: "key_invalid"},
		{name: "a text with NUL", method: putting, token: writer, body: entry("a.md", "x\x00"), status: 422, code: "refused"},
		{name: "no JSON", method: putting, token: writer, body: []byte("x"), status: 400, code: "bad_request"},
		{name: "half of a JSON", method: putting, token: writer, body: []byte(`{"entries":{"a.md":"x"`), status: 400, code: "bad_request"},
		{name: "a key put and retired", method: putting, token: lead, body: []byte(`{"entries":{"a.md":"x"},"soft_delete_keys":["a.md"]}`), status: 400, code: "bad_request"},

		{name: "a search over 1,000 bytes", path: api.PathSearch, token: reader, query: query("q", long(1001)), status: 400, code: "bad_request"},
		{name: "a search of more than 32 parts", path: api.PathSearch, token: reader, query: query("q", strings.Repeat("a ", 33)), status: 400, code: "bad_request"},
		{name: "a search beyond its thousandth result", path: api.PathSearch, token: reader, query: query("q", "a", "offset", "1001"), status: 400, code: "bad_request"},
		{name: "a page that is no number", path: api.PathHistory, token: reader, query: query("limit", "-1"), status: 400, code: "bad_request"},
		{name: "a version that is no number", path: api.PathContent, token: reader, query: query("key", "a.md", "version", "1e3"), status: 400, code: "bad_request"},
		{name: "a parameter twice", token: reader, query: query("view", "hashes", "view", "full"), status: 400, code: "bad_request"},
		{name: "a view that there is not", token: reader, query: query("view", "everything"), status: 400, code: "bad_request"},
		{name: "two repos at a door for one", token: reader, query: url.Values{"repo": quarrel}, status: 400, code: "bad_request"},
		{name: "a stream of more than 1,000 repos", path: api.PathEvents, token: reader, query: url.Values{"repo": repos}, status: 400, code: "bad_request"},
		{name: "a repo that none can be called", token: reader, query: query("repo", "a b"), status: 400, code: "repo_invalid"},
		{name: "a report that is no number", path: api.PathRedactions, token: lead, query: query("id", "first"), status: 400, code: "bad_request"},
		{name: "a value that is in texts by chance", method: posting, path: api.PathRedact, token: lead, body: map[string]any{"repo": team, "value": "short"}, status: 400, code: "bad_request"},

		{name: "a reader who writes", method: putting, token: reader, body: entry("b.md", "x"), status: 403, code: "forbidden"},
		{name: "a writer who retires", method: putting, token: writer, body: []byte(`{"soft_delete_keys":["a.md"]}`), status: 403, code: "forbidden"},
		{name: "a writer who redacts", method: posting, path: api.PathRedact, token: writer, body: map[string]any{"repo": team, "value": "there is none"}, status: 403, code: "forbidden"},
		{name: "a writer who asks for reports", path: api.PathRedactions, token: writer, status: 403, code: "forbidden"},
		{name: "a writer who restores", method: posting, path: api.PathRestore, token: writer, body: map[string]any{"repo": team, "key": "a.md", "version": 1}, status: 403, code: "forbidden"},
		{name: "a repo beyond the token", token: writer, query: query("repo", "acme/other"), status: 404, code: "not_found"},
		{name: "writing beyond the token", method: putting, token: writer, query: query("repo", "acme/other"), body: entry("a.md", "x"), status: 404, code: "not_found"},
		{name: "a path that there is not", path: "/api/v1/nothing", token: lead, status: 404, code: "not_found"},
		{name: "a method that there is not", method: "DELETE", token: lead, status: 405, code: "method_not_allowed"},
		{name: "no token", status: 401, code: "signed_out"},
		{name: "a token that nobody made", token: strings.Repeat("x", len(writer)), status: 401, code: "signed_out"},
		{name: "a token of another form", token: "\"; DROP TABLE tokens --", status: 401, code: "signed_out"},
		{name: "a revoked token", token: server.revoked(), status: 401, code: "signed_out"},
		{name: "an expired token", token: server.expired(), status: 401, code: "signed_out"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { server.refuses(t, tt) })
	}
	t.Run("more streams than a token may hold", func(t *testing.T) { server.refusesStreams(t, reader, 2) })
	after, _ := server.get(reader, team)
	if after.Version != before.Version || after.Checksum != before.Checksum {
		t.Errorf("the repo is at version %d, it was at %d", after.Version, before.Version)
	}
}

// refuses sends one request and judges the answer.
func (c *companion) refuses(t *testing.T, b badInput) {
	t.Helper()
	if b.method == "" {
		b.method = http.MethodGet
	}
	if b.path == "" {
		b.path = api.PathTeamMemory
	}
	if b.query == nil {
		b.query = url.Values{}
	}
	if !b.query.Has("repo") {
		b.query.Set("repo", team)
	}
	a := c.call(b.method, b.token, b.path, b.query, b.body)
	var wire api.ErrorBody
	if err := json.Unmarshal(a.body, &wire); err != nil || a.header.Get("Content-Type") != "application/json" {
		t.Fatalf("status %d, no JSON: %s", a.status, shorten(string(a.body)))
	}
	if a.status != b.status || wire.Error.Details.ErrorCode != b.code || wire.Error.Message == "" {
		t.Errorf("status %d %s, want %d %s: %s", a.status, wire.Error.Details.ErrorCode, b.status, b.code, shorten(string(a.body)))
	}
	if a.header.Get("X-Request-Id") == "" {
		t.Error("the answer has no request id")
	}
	if b.token != "" && strings.Contains(string(a.body), b.token) {
		t.Error("the answer holds the token")
	}
}

// revoked is a token that was taken back, and is known to be by the server.
func (c *companion) revoked() string {
	c.machine.t.Helper()
	token := c.token("revoked", team, "writer")
	list := decode[struct {
		Tokens []struct{ ID, Name string }
	}](c.machine.t, c.ok("server", "token", "list", "--data", c.data, "--json").stdout).Tokens
	for _, one := range list {
		if one.Name == "revoked" {
			c.ok("server", "token", "revoke", one.ID, "--data", c.data)
		}
	}
	c.awaitSignedOut(token)
	return token
}

// expired is a token whose time is over.
func (c *companion) expired() string {
	c.machine.t.Helper()
	o := c.ok("server", "token", "create", "--name", "short", "--repo", team, "--role", "writer", "--data", c.data,
		"--expires", time.Now().Add(3*time.Second).UTC().Format(time.RFC3339))
	lines := strings.Split(strings.TrimRight(o.stdout, "\n"), "\n")
	c.awaitSignedOut(lines[len(lines)-1])
	return lines[len(lines)-1]
}

func (c *companion) awaitSignedOut(token string) {
	c.machine.t.Helper()
	await(c.machine.t, 30*time.Second, "a token to end", func() bool {
		return c.call(http.MethodGet, token, api.PathTeamMemory, url.Values{"repo": {team}}, nil).status == http.StatusUnauthorized
	})
}

// refusesStreams holds as many streams open as a token may, and asks for one more.
func (c *companion) refusesStreams(t *testing.T, token string, most int) {
	t.Helper()
	open := func() (status int, header http.Header, first func() error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+api.PathEvents+"?repo="+url.QueryEscape(team), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := (&http.Client{}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp.StatusCode, resp.Header, func() error {
			_, err := bufio.NewReader(resp.Body).ReadString('\n')
			return err
		}
	}
	for range most {
		if status, _, first := open(); status != http.StatusOK {
			t.Fatalf("a stream: status %d", status)
		} else if err := first(); err != nil {
			t.Fatal(err)
		}
	}
	if status, header, _ := open(); status != http.StatusTooManyRequests || header.Get("Retry-After") == "" {
		t.Errorf("one more: status %d, Retry-After %q", status, header.Get("Retry-After"))
	}
}

// TestBadDatabases starts servers, and restores, over what cannot be served: a
// directory that another server has, a database of a newer release, a backup that
// is damaged. Each is refused whole, with its own exit code, and leaves what is there
// as it is.
func TestBadDatabases(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	token := server.token("w", team, "writer")
	if a := server.push(token, team, map[string]string{"a.md": sized(50_000), "b.md": "there\n"}); a.status != http.StatusOK {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	backup := filepath.Join(server.home, "one.backup")
	server.ok("server", "backup", backup, "--data", server.data)

	complains(t, server.run("server", "--listen", "127.0.0.1:0", "--data", server.data), 75, "another server serves")
	complains(t, server.run("server", "restore", backup, "--data", server.data), 75)
	if a := server.push(token, team, map[string]string{"c.md": "the first goes on\n"}); a.status != http.StatusOK {
		t.Fatalf("after a second server was refused: status %d, %s", a.status, a.body)
	}
	want, _ := server.get(token, team)
	server.stop()

	whole := []byte(textOf(t, backup))
	for name, spoil := range map[string]func([]byte) []byte{
		"cut off":       func(b []byte) []byte { return b[:len(b)/2] },
		"a page spoilt": func(b []byte) []byte { copy(b[len(b)/2:], strings.Repeat("\xa5", 4096)); return b },
		"no database":   func(b []byte) []byte { copy(b, "nothing of ours"); return b },
		"empty":         func([]byte) []byte { return nil },
	} {
		broken := filepath.Join(server.home, "broken")
		if err := os.WriteFile(broken, spoil(append([]byte(nil), whole...)), 0o600); err != nil {
			t.Fatal(err)
		}
		if o := server.run("server", "restore", broken, "--data", server.data); o.code != 1 {
			t.Errorf("a backup that is %s: exit code %d\n%s", name, o.code, o.stderr)
		}
		if o := server.run("server", "restore", broken, "--data", filepath.Join(server.home, "fresh")); o.code != 1 {
			t.Errorf("a backup that is %s, into a new directory: exit code %d\n%s", name, o.code, o.stderr)
		}
	}
	newer := append([]byte(nil), whole...)
	newer[60], newer[61], newer[62], newer[63] = 0, 0, 0x7f, 0xff // PRAGMA user_version, in the header of the file
	future := filepath.Join(server.home, "future", "teammemd.db")
	put(t, future, string(newer))
	complains(t, server.run("server", "--listen", "127.0.0.1:0", "--data", filepath.Dir(future)), 78, "newer release")
	if textOf(t, future) != string(newer) {
		t.Error("a database of a newer release was written to")
	}

	server.again()
	if got, _ := server.get(token, team); got.Version != want.Version || got.Checksum != want.Checksum || got.Epoch != want.Epoch {
		t.Errorf("after all of it the server is at %s;%d, it was at %s;%d", got.Epoch, got.Version, want.Epoch, want.Version)
	}
	server.stop()
	server.ok("server", "fsck", "--data", server.data)
}
