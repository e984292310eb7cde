// Package gitea tests signing in against a real forge: `make gitea`.
package gitea

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// homeEnv names the directory that tests/gitea/build.sh made.
const homeEnv = "TEAMMEMD_GITEA"

// patience bounds the start of the forge.
const patience = 60 * time.Second

// instance is a Gitea on loopback, with a database of its own.
type instance struct {
	t        *testing.T
	program  string
	config   string
	url      string
	password string
}

// start starts a forge with ada, and more people, until the test ends.
func start(t *testing.T, more ...string) *instance {
	t.Helper()
	home := os.Getenv(homeEnv)
	if home == "" {
		t.Skipf("SKIP: %s names no directory; run make gitea", homeEnv)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	g := &instance{
		t: t, program: filepath.Join(home, "gitea"), config: filepath.Join(work, "app.ini"),
		url: fmt.Sprintf("http://127.0.0.1:%d", port), password: "a password for a test 1A!",
	}
	text := fmt.Sprintf(`
WORK_PATH = %[1]s
RUN_MODE = prod
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
PROTOCOL = http
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[2]d
ROOT_URL = %[3]s/
STATIC_ROOT_PATH = %[4]s
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
[security]
INSTALL_LOCK = true
[oauth2]
ENABLED = true
JWT_SIGNING_ALGORITHM = RS256
[webhook]
ALLOWED_HOST_LIST = loopback
[session]
PROVIDER = memory
[log]
MODE = console
LEVEL = Warn
`, work, port, g.url, filepath.Join(home, "src"))
	if err := os.WriteFile(g.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g.run("migrate")
	g.run("admin", "user", "create", "--username", "ada", "--password", g.password, "--email", "ada@example.com", "--fullname", "Ada Lovelace", "--must-change-password=false")
	for _, login := range more {
		g.run("admin", "user", "create", "--username", login, "--password", g.password, "--email", login+"@example.com", "--must-change-password=false")
	}
	g.serve()
	return g
}

func (g *instance) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.program, append([]string{"--config", g.config}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(g.config), "GITEA_WORK_DIR="+filepath.Dir(g.config))
	return cmd
}

func (g *instance) run(args ...string) {
	g.t.Helper()
	if out, err := g.command(g.t.Context(), args...).CombinedOutput(); err != nil {
		g.t.Fatalf("gitea %s: %v\n%s", args[0], err, out)
	}
}

func (g *instance) serve() {
	g.t.Helper()
	var log bytes.Buffer
	cmd := g.command(context.Background(), "web")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed, or its log is shown
	}()
	g.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		if g.t.Failed() {
			g.t.Logf("the forge's log:\n%s", log.String())
		}
	})
	for deadline := time.Now().Add(patience); ; {
		resp, err := http.Get(g.url + "/api/healthz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("the forge does not answer: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// register registers our server as an app of ada's, for an address to return to.
func (g *instance) register(redirects ...string) (id, secret string) {
	g.t.Helper()
	body, err := json.Marshal(map[string]any{"name": "teammemd", "redirect_uris": redirects, "confidential_client": true, "skip_secondary_authorization": true})
	if err != nil {
		g.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, g.url+"/api/v1/user/applications/oauth2", bytes.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.SetBasicAuth("ada", g.password)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	var app struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err != nil || resp.StatusCode != http.StatusCreated || json.Unmarshal(raw, &app) != nil {
		g.t.Fatalf("registering an app: %d %s, %v", resp.StatusCode, raw, err)
	}
	return app.ID, app.Secret
}

// browser is ada's, signed in at the forge.
func (g *instance) browser() *http.Client {
	g.t.Helper()
	return g.browserOf("ada")
}

// browserOf signs somebody in at the forge and returns their browser. It follows
// the forge's own redirects alone.
func (g *instance) browserOf(login string) *http.Client {
	g.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		g.t.Fatal(err)
	}
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), g.url+"/login/") {
			return nil
		}
		return http.ErrUseLastResponse
	}}
	resp, err := client.PostForm(g.url+"/user/login", url.Values{"user_name": {login}, "password": {g.password}})
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther && resp.StatusCode != http.StatusFound {
		raw, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
		g.t.Fatalf("signing in at the forge: %d %s", resp.StatusCode, raw)
	}
	return client
}
