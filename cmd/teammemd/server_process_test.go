package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// patience bounds every wait of these tests. What is waited for has no other way to
// come that is merely slower, so that it may be long.
const patience = time.Minute

// process is a teammemd server that runs as a process of its own.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	url  string
	log  *lines
	rest <-chan string // what it printed after its first line, once it ended
}

// withEnvironment ends the arguments of startServer; variables follow.
const withEnvironment = "--with-environment"

// startServer starts a server on a free port of the loopback address and waits
// for it to say so.
func startServer(tb testing.TB, args ...string) *process {
	tb.Helper()
	if runtime.GOOS == "windows" {
		tb.Skip("SKIP: windows has no SIGTERM to stop the server with")
	}
	p := &process{t: tb, log: newLines()}
	var env []string
	if at := slices.Index(args, withEnvironment); at >= 0 {
		args, env = args[:at], args[at+1:]
	}
	p.cmd = command(tb, append([]string{"server", "--listen", "127.0.0.1:0"}, args...)...)
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.kill)
	stdout := bufio.NewReader(out)
	first, err := stdout.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSuffix(first, "\n"), "listening ")
	if err != nil || !ok {
		tb.Fatalf("first line %q, %v; log:\n%s", first, err, p.log)
	}
	p.url = url
	rest := make(chan string, 1)
	p.rest = rest
	go func() {
		left, _ := io.ReadAll(stdout)
		rest <- string(left)
	}()
	return p
}

// command runs teammemd with an environment of its own.
func command(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "teammemd", args...)
	cmd.Env = append(cleanEnvironment(), "HOME="+tb.TempDir())
	return cmd
}

func cleanEnvironment() []string {
	var env []string
	for _, one := range os.Environ() {
		if !strings.HasPrefix(one, "TEAMMEMD_") && !strings.HasPrefix(one, "XDG_") && !strings.HasPrefix(one, "NOTIFY_") && !strings.HasPrefix(one, "WATCHDOG_") {
			env = append(env, one)
		}
	}
	return env
}

// run runs teammemd to its end.
func run(tb testing.TB, args ...string) (stdout, stderr string, code int) {
	tb.Helper()
	cmd := command(tb, args...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		tb.Fatal(err)
	}
	return out.String(), talk.String(), cmd.ProcessState.ExitCode()
}

// token makes a token in a store and returns its secret.
func token(tb testing.TB, data string, role api.Role, repos string) string {
	tb.Helper()
	out, talk, code := run(tb, "server", "token", "create", "--name", "test-"+role.String(), "--repo", repos, "--role", role.String(), "--data", data)
	if code != 0 {
		tb.Fatalf("exit %d: %s", code, talk)
	}
	all := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	return all[len(all)-1]
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// stop asks the server to end and expects that it does so well.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	p.wait()
}

// wait expects that the server ends well and that it printed one line in all.
func (p *process) wait() {
	p.t.Helper()
	if left := <-p.rest; left != "" {
		p.t.Errorf("more than one line on stdout: %q", left)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("the server ended with %v; log:\n%s", err, p.log)
	}
}

// kill ends the process where a test has not done so.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// answer is one answer of a server.
type answer struct {
	status int
	header http.Header
	body   string
}

// decode reads the body as JSON.
func (r answer) decode(tb testing.TB, into any) {
	tb.Helper()
	if err := json.Unmarshal([]byte(r.body), into); err != nil {
		tb.Fatalf("%v in %q", err, r.body)
	}
}

// ask sends one request with a token and a body, either may be empty.
func (p *process) ask(method, path, secret, body string, header ...string) answer {
	p.t.Helper()
	got, err := p.try(method, path, secret, body, header...)
	if err != nil {
		p.t.Fatalf("%v; log:\n%s", err, p.log)
	}
	return got
}

func (p *process) try(method, path, secret, body string, header ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text)}, err
}

// memoryPath is the path of a repo's team memory.
func memoryPath(repo string) string { return api.PathTeamMemory + "?repo=" + url.QueryEscape(repo) }

// pushBody is the body of a PUT.
func pushBody(tb testing.TB, r api.PushRequest) string {
	tb.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		tb.Fatal(err)
	}
	return string(raw)
}

// entry is the body of a PUT of one entry.
func entry(tb testing.TB, key, content string) string {
	tb.Helper()
	return pushBody(tb, api.PushRequest{Entries: map[string]string{key: content}})
}

// eventually waits until done reports true.
func eventually(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			tb.Fatalf("waited %s in vain: %s", patience, what)
		}
	}
}

// lines collects what a process writes and tells when a text is among it.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and replaced at every write
}

func newLines() *lines { return &lines{more: make(chan struct{})} }

// Write implements [io.Writer].
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.more)
	l.more = make(chan struct{})
	return l.text.Write(b)
}

// String returns everything so far.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until text was written count times.
func (l *lines) await(tb testing.TB, text string, count int) {
	tb.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		l.mu.Lock()
		have, more := strings.Count(l.text.String(), text), l.more
		l.mu.Unlock()
		if have >= count {
			return
		}
		select {
		case <-more:
		case <-deadline.C:
			tb.Fatalf("%q was not written %d times:\n%s", text, count, l)
		}
	}
}

// write makes a file in a directory.
func write(tb testing.TB, dir, name, text string) string {
	tb.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}
