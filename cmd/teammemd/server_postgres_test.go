//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

// verb runs a verb with these variables and returns its output and exit code.
func verb(t *testing.T, env string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, talk bytes.Buffer
	cmd := command(t, args...)
	cmd.Env = append(cmd.Env, env)
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return out.String(), talk.String(), code
}

// asks sends one request about acme/api and returns status, Retry-After and body.
func asks(t *testing.T, method, server, token, body string) (status int, retry, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, server+api.PathTeamMemory+"?"+url.Values{"repo": {"acme/api"}}.Encode(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Retry-After"), string(text)
}

// becomes waits for a status, and for a part of the answer.
func becomes(t *testing.T, method, server, token, body string, status int, part string) {
	t.Helper()
	last := ""
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		got, _, answer := asks(t, method, server, token, body)
		if got == status && strings.Contains(answer, part) {
			return
		}
		last = answer
	}
	t.Fatalf("%s never became %d with %q: %s", method, status, part, last)
}

// TestPostgresEncrypted moves encrypted data to PostgreSQL, and changes keys while a
// server runs.
func TestPostgresEncrypted(t *testing.T) {
	t.Parallel()
	k := newKeyed(t)
	k.server(0, "key", "new", k.keys)
	secret := token(t, k.data, api.Writer, "acme/*")
	old := startServer(t, k.with()...)
	if status, _, answer := asks(t, http.MethodPut, old.url, secret, `{"entries":{"a.md":"one"}}`); status != http.StatusOK {
		t.Fatal(answer)
	}
	old.stop()
	target := newKeyed(t)
	target.keys = k.keys
	settings := "encryption_key_file = '" + k.keys + "'\n[database]\nurl = \"" + pgtest.Schema(t) + "\"\n"
	if err := os.WriteFile(target.config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	wantIn(t, "moving", target.server(0, target.with("migrate", "--from", "sqlite:"+k.data)...), "moved 1 repos")
	p := startServer(t, target.with()...)
	becomes(t, http.MethodPut, p.url, secret, `{"entries":{"b.md":"two"}}`, http.StatusOK, "")
	wantIn(t, "changing keys", target.server(0, target.with("key", "rotate", "--contents")...), "contents: 2 encrypted now; in all 2 encrypted, 0 plain")
	becomes(t, http.MethodPut, p.url, secret, `{"entries":{"c.md":"three"}}`, http.StatusOK, "")
	becomes(t, http.MethodGet, p.url, secret, "", http.StatusOK, `"a.md":"one"`)
	becomes(t, http.MethodGet, p.url, secret, "", http.StatusOK, `"c.md":"three"`)
	wantIn(t, "fsck", target.server(0, target.with("fsck")...), "contents: 3 encrypted, 0 plain", "sound")

	// The next key is not this server's, until it is restarted.
	target.server(0, "key", "new", "--add", k.keys)
	target.server(0, target.with("key", "rotate", "--contents")...)
	becomes(t, http.MethodGet, p.url, secret, "", http.StatusServiceUnavailable, "unavailable")
	ready := p.ask(http.MethodGet, api.PathReady, "", "")
	if ready.status != http.StatusServiceUnavailable {
		t.Errorf("ready: %d", ready.status)
	}
	wantIn(t, "ready", ready.body, "a key is missing")
	wantIn(t, "the log", p.log.String(), "the key file lacks a key")
	p.stop()
	p = startServer(t, target.with()...)
	becomes(t, http.MethodGet, p.url, secret, "", http.StatusOK, `"a.md":"one"`)
	if got := p.ask(http.MethodGet, api.PathReady, "", ""); got.status != http.StatusOK {
		t.Errorf("ready again: %d", got.status)
	}
	p.stop()
}

// TestPostgres moves a server's data to PostgreSQL, serves them by two processes,
// and takes the database away for a while.
func TestPostgres(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t)
	env := "TEAMMEMD_SERVER_DATABASE_URL=" + pgtest.SchemaIn(t, cluster)
	dir := filepath.Join(t.TempDir(), "data")
	secret, talk, code := verb(t, "X=", "server", "token", "create", "--name", "w", "--repo", "acme/*", "--role", "writer", "--data", dir)
	if code != 0 {
		t.Fatal(talk)
	}
	token := strings.TrimSpace(secret)
	old := startServer(t, "--data", dir)
	if status, _, answer := asks(t, http.MethodPut, old.url, token, `{"entries":{"a.md":"one"}}`); status != http.StatusOK {
		t.Fatal(answer)
	}
	if _, talk, code := verb(t, env, "server", "migrate", "--from", "sqlite:"+dir); code != api.ExitTempFail {
		t.Errorf("moving what is served: exit code %d, %s", code, talk)
	}
	old.kill()
	out, talk, code := verb(t, env, "server", "migrate", "--from", "sqlite:"+dir)
	if code != 0 || !strings.Contains(out, "moved 1 repos") {
		t.Fatalf("moving: exit code %d, %s%s", code, out, talk)
	}
	for _, args := range [][]string{{"--from", "sqlite:" + dir}, {"--distribute"}} {
		if _, talk, code := verb(t, env, append([]string{"server", "migrate"}, args...)...); code != api.ExitConfig {
			t.Errorf("%v: exit code %d, %s", args, code, talk)
		}
	}
	one := startServer(t, "--data", filepath.Join(t.TempDir(), "one"), withEnvironment, env)
	two := startServer(t, "--data", filepath.Join(t.TempDir(), "two"), withEnvironment, env)
	if status, _, answer := asks(t, http.MethodGet, two.url, token, ""); status != http.StatusOK || !strings.Contains(answer, `"a.md":"one"`) {
		t.Errorf("what was moved: status %d, %s", status, answer)
	}
	becomes(t, http.MethodPut, one.url, token, `{"entries":{"a.md":"two"}}`, http.StatusOK, "")
	becomes(t, http.MethodGet, two.url, token, "", http.StatusOK, `"a.md":"two"`)

	cluster.Kill(t)
	for _, method := range []string{http.MethodPut, http.MethodGet} {
		becomes(t, method, one.url, token, `{"entries":{"b.md":"three"}}`, http.StatusServiceUnavailable, "unavailable")
		if status, retry, _ := asks(t, method, one.url, token, `{"entries":{"b.md":"three"}}`); status != http.StatusServiceUnavailable || retry == "" {
			t.Errorf("%s without a database: status %d, Retry-After %q", method, status, retry)
		}
	}
	cluster.Start(t)
	becomes(t, http.MethodPut, one.url, token, `{"entries":{"b.md":"four"}}`, http.StatusOK, "")
	becomes(t, http.MethodGet, two.url, token, "", http.StatusOK, `"b.md":"four"`)

	if out, talk, code := verb(t, env, "server", "token", "revoke", "w"); code != 0 {
		t.Errorf("revoking: %s%s", out, talk)
	}
	becomes(t, http.MethodGet, two.url, token, "", http.StatusUnauthorized, "")
	if out, _, _ := verb(t, env, "server", "token", "list"); !strings.Contains(out, "revoked") {
		t.Errorf("list of tokens: %s", out)
	}
	unreachable := "TEAMMEMD_SERVER_DATABASE_URL=host=" + t.TempDir() + " user=u dbname=x"
	if _, talk, code := verb(t, unreachable, "server", "token", "list"); code != api.ExitTempFail || !strings.Contains(talk, "hint: ") {
		t.Errorf("an unreachable database: exit code %d, %s", code, talk)
	}
}
