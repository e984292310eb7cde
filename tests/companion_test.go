package tests

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// companion is a companion server: a process of its own on a machine of its
// own, on loopback.
type companion struct {
	*machine
	*process
	data string
	url  string
}

// newCompanion starts a server on a free port.
func newCompanion(t *testing.T, args ...string) *companion {
	t.Helper()
	c := &companion{machine: newMachine(t, "server")}
	c.data = filepath.Join(c.machine.home, "data")
	c.up("127.0.0.1:0", args...)
	return c
}

// newCompanionOn is one on a database of PostgreSQL.
func newCompanionOn(t *testing.T, name, dsn string) *companion {
	t.Helper()
	c := &companion{machine: newMachine(t, name)}
	c.extra = []string{"TEAMMEMD_SERVER_DATABASE_URL=" + dsn}
	c.data = filepath.Join(c.machine.home, "data")
	c.up("127.0.0.1:0")
	return c
}

// up starts the server process.
func (c *companion) up(listen string, args ...string) {
	c.machine.t.Helper()
	c.process = c.machine.start(append([]string{"server", "--listen", listen, "--data", c.data}, args...)...)
	c.url = c.awaitLine("listening ")
}

// again starts the server on its former port.
func (c *companion) again() {
	c.machine.t.Helper()
	c.up(strings.TrimPrefix(c.url, "http://"))
}

// token makes a token and returns it.
func (c *companion) token(name, repo, role string) string {
	c.machine.t.Helper()
	o := c.ok("server", "token", "create", "--name", name, "--repo", repo, "--role", role, "--data", c.data)
	lines := strings.Split(strings.TrimRight(o.stdout, "\n"), "\n")
	return lines[len(lines)-1]
}

// answer is what a server said to a bare HTTP client.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call sends one request to the server's team-memory interface.
func (c *companion) call(method, token, path string, query url.Values, body any) answer {
	c.machine.t.Helper()
	return call(c.machine.t, method, c.url+path+"?"+query.Encode(), token, body)
}

// bare is a client that knows no more than net/http does.
var bare = &http.Client{Timeout: 30 * time.Second}

func call(t *testing.T, method, address, token string, body any) answer {
	t.Helper()
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		content = bytes.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, content)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := bare.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, address, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, address, err)
	}
	return answer{resp.StatusCode, resp.Header, text}
}

// get returns the full answer for a repo, and false for "no data yet".
func (c *companion) get(token, repo string) (api.FullAnswer, bool) {
	c.machine.t.Helper()
	a := c.call(http.MethodGet, token, api.PathTeamMemory, url.Values{"repo": {repo}}, nil)
	if a.status == http.StatusNotFound {
		return api.FullAnswer{}, false
	}
	if a.status != http.StatusOK {
		c.machine.t.Fatalf("GET of %s: status %d, %s", repo, a.status, shorten(string(a.body)))
	}
	return decode[api.FullAnswer](c.machine.t, string(a.body)), true
}

// push sends entries past every client of ours.
func (c *companion) push(token, repo string, entries map[string]string) answer {
	c.machine.t.Helper()
	return c.call(http.MethodPut, token, api.PathTeamMemory, url.Values{"repo": {repo}}, map[string]any{"entries": entries})
}

// versions returns the newest thousand versions that a key has had, newest
// first.
func (c *companion) versions(token, repo, key string) []api.VersionInfo {
	c.machine.t.Helper()
	a := c.call(http.MethodGet, token, api.PathHistory, url.Values{"repo": {repo}, "key": {key}, "limit": {"1000"}}, nil)
	if a.status != http.StatusOK {
		c.machine.t.Fatalf("history of %s: status %d, %s", key, a.status, shorten(string(a.body)))
	}
	return decode[api.HistoryAnswer](c.machine.t, string(a.body)).Versions
}

// history returns the checksums of all versions that a key has had.
func (c *companion) history(token, repo, key string) map[api.Checksum]bool {
	c.machine.t.Helper()
	sums := make(map[api.Checksum]bool)
	for _, v := range c.versions(token, repo, key) {
		sums[v.Checksum] = true
	}
	return sums
}

// asMaintainer gives a machine a token that may retire and restore.
func (c *companion) asMaintainer(m *machine) {
	c.machine.t.Helper()
	put(m.t, filepath.Join(m.home, "token"), c.token("maintainer of "+filepath.Base(m.home), team, "maintainer")+"\n")
}
