package tests

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/forge/forgetest"
	"github.com/teammem/teammemd/server/auth/upstream"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

// town is a server process whose people signed in with a stand-in of GitHub.
type town struct {
	*companion

	t      *testing.T
	hub    *forgetest.Forge
	policy string // the policy file
	secret string // of webhooks
}

func newTown(t *testing.T) *town {
	t.Helper()
	c := &town{companion: &companion{machine: newMachine(t, "server")}, t: t, hub: forgetest.New(t, "github"), secret: strings.Repeat("hook", 5)}
	home := c.machine.home
	c.data, c.policy = filepath.Join(home, "data"), filepath.Join(home, "policy.toml")
	put(t, c.policy, "")
	put(t, filepath.Join(home, "hook"), c.secret+"\n")
	put(t, filepath.Join(home, "client"), "client-secret\n")
	put(t, filepath.Join(home, "server.toml"), fmt.Sprintf(`
[sign_in]
url = "http://127.0.0.1:1"
[sign_in.forge]
kind = "github"
url = %q
client_id = "tests"
client_secret_file = %q
[access]
policy_file = %q
repo_host = "github.com"
webhook_secret_file = %q
`, c.hub.URL, filepath.Join(home, "client"), c.policy, filepath.Join(home, "hook")))
	c.up("127.0.0.1:0", "--config", filepath.Join(home, "server.toml"))
	return c
}

// signIn puts somebody into the server's data as signing in does, and returns
// their token here.
func (c *town) signIn(login string) string {
	c.t.Helper()
	accounts := sqlitetest.Beside(c.t, c.data).(store.Accounts)
	sealer, err := upstream.LoadSealer(filepath.Join(c.data, "sign-in.key"))
	if err != nil {
		c.t.Fatal(err)
	}
	sealed, err := sealer.Seal(&oauth2.Token{AccessToken: c.hub.Person(login), TokenType: "bearer"}, c.hub.URL, login)
	if err != nil {
		c.t.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	u, err := accounts.SaveUser(c.t.Context(), store.User{
		ID: "user-" + login, Issuer: c.hub.URL, Subject: login, Login: login, Email: login + "@example.com", Upstream: sealed, CreatedAt: now, SeenAt: now,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random)
	token := "tm_" + base64.RawURLEncoding.EncodeToString(random)
	err = accounts.AddFamily(c.t.Context(), store.Issue{
		Family:  store.Family{ID: "family-" + login, User: u.ID, Client: api.ClientCLI, Generation: 1, CreatedAt: now, RotatedAt: now, ExpiresAt: now.Add(time.Hour)},
		Refresh: sha256.Sum256([]byte("refresh " + login)),
		Access: store.Token{
			ID: "token-" + login, Name: login, Hash: sha256.Sum256([]byte(token)), User: u.ID, Family: "family-" + login, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return token
}

// hook sends a message that the forge signs.
func (c *town) hook(event, body string) {
	c.t.Helper()
	mac := hmac.New(sha256.New, []byte(c.secret))
	mac.Write([]byte(body))
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+api.PathWebhookGitHub, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	res, err := bare.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		c.t.Fatalf("the webhook is answered with %s", res.Status)
	}
}

// TestAccessLost takes a permission away from a daemon that is at work, at the
// forge and in the policy file. The client goes to no-access with everything kept,
// hears of nothing that happens meanwhile, and goes on when the permission is back.
func TestAccessLost(t *testing.T) {
	t.Parallel()
	rule := fmt.Sprintf("[[rules]]\nrepos = [\"acme/*\"]\nusers = [\"ada@example.com\"]\nrole = %q\n", "writer")
	kinds := map[string]struct{ give, take func(*town) }{
		"forge": {
			func(c *town) {
				c.hub.Allow("ada", team, "push")
				c.hub.Forgot()
				c.hook("member", `{"repository":{"id":1,"full_name":"acme/api"}}`)
			},
			func(c *town) {
				c.hub.Allow("ada", team, "none")
				c.hub.Forgot()
				c.hook("organization", `{"organization":{"login":"acme"}}`)
			},
		},
		"policy": {
			func(c *town) { put(c.t, c.policy, rule) },
			func(c *town) { put(c.t, c.policy, strings.ReplaceAll(rule, "ada@", "bob@")) },
		},
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTown(t)
			c.hub.Repo(team, "private")
			ada, service := c.signIn("ada"), c.token("auditor", "*", "writer")
			kind.give(c)
			await(t, time.Minute, "the permission to count", func() bool {
				return c.push(ada, team, map[string]string{"first.md": "first\n"}).status == 200
			})
			m := newFastMachine(t, "ada")
			m.config("debounce = \"100ms\"\npoll = \"2s\"\n")
			m.enroll(c.url, ada, team)
			daemon := m.daemon()
			m.awaitFile("first.md", "first\n")
			m.write("mine.md", "mine\n")
			await(t, time.Minute, "an edit to be sent", func() bool {
				full, _ := c.get(service, team)
				return full.Content.Entries["mine.md"] == "mine\n"
			})

			kind.take(c)
			await(t, time.Minute, "the client to notice", func() bool { return m.status().State == "no-access" })
			m.want(77, "status", "--check")
			c.push(service, team, map[string]string{"secret.md": "not for ada any more\n"})
			m.write("later.md", "written without access\n")
			m.want(77, "sync")
			for key, want := range map[string]string{"first.md": "first\n", "mine.md": "mine\n", "later.md": "written without access\n"} {
				if got, _ := m.read(key); got != want {
					t.Errorf("%s holds %q", key, got)
				}
			}
			if _, there := m.read("secret.md"); there {
				t.Error("something came that was written after access was lost")
			}
			for what, a := range map[string]answer{
				"reading": c.call(http.MethodGet, ada, api.PathTeamMemory, url.Values{"repo": {team}}, nil),
				"writing": c.push(ada, team, map[string]string{"x.md": "x"}),
				"search":  c.call(http.MethodGet, ada, api.PathSearch, url.Values{"repo": {team}, "q": {"first"}}, nil),
				"history": c.call(http.MethodGet, ada, api.PathHistory, url.Values{"repo": {team}}, nil),
				"events":  c.call(http.MethodGet, ada, api.PathEvents, url.Values{"repo": {team}}, nil),
			} {
				if missing := c.call(http.MethodGet, ada, api.PathTeamMemory, url.Values{"repo": {"acme/missing"}}, nil); a.status != 404 || string(a.body) != string(missing.body) {
					t.Errorf("%s is answered with %d %s", what, a.status, a.body)
				}
			}

			kind.give(c)
			m.awaitFile("secret.md", "not for ada any more\n")
			await(t, time.Minute, "what was pending to be sent", func() bool {
				full, _ := c.get(service, team)
				return full.Content.Entries["later.md"] == "written without access\n"
			})
			if code := daemon.stop(); code != 0 {
				t.Errorf("the daemon ended with %d", code)
			}
			if len(m.savedCopies()) != 0 {
				t.Errorf("saved copies: %v", m.savedCopies())
			}
			c.stop()
			if talk := c.talk(); strings.Contains(talk, c.hub.Person("ada")) || strings.Contains(talk, c.secret) || strings.Contains(talk, ada) {
				t.Error("the server's log holds a token or a secret")
			}
		})
	}
}

// TestRepositoryRenamed renames a repository at the forge while a client uses its
// old name, and makes a new one under that name.
func TestRepositoryRenamed(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	id := c.hub.Repo(team, "private")
	for _, login := range []string{"ada", "ben"} {
		c.hub.Allow(login, team, "push")
	}
	ada, ben := newFastMachine(t, "ada"), newFastMachine(t, "ben")
	ada.enroll(c.url, c.signIn("ada"), team)
	ada.write("note.md", "before\n")
	ada.sync(0)
	c.hub.Rename(team, "acme/renamed")
	c.hub.Forgot()
	c.hook("repository", fmt.Sprintf(`{"repository":{"id":%d,"full_name":"acme/renamed"},"changes":{"repository":{"name":{"from":"api"}}}}`, id))
	ben.enroll(c.url, c.signIn("ben"), "acme/renamed")
	ben.sync(0)
	if got, _ := ben.read("note.md"); got != "before\n" {
		t.Errorf("by the new name the note holds %q", got)
	}
	ben.write("note.md", "after\n")
	ben.sync(0)
	ada.sync(0)
	if got, _ := ada.read("note.md"); got != "after\n" {
		t.Errorf("by the old name the note holds %q", got)
	}
	ada.write("more.md", "by the old name\n")
	ada.sync(0)
	ben.sync(0)
	if got, _ := ben.read("more.md"); got != "by the old name\n" {
		t.Errorf("what was sent by the old name arrives as %q", got)
	}

	// Another repository takes the old name, and Ben may use it.
	c.hub.Repo(team, "private")
	c.hub.Allow("ben", team, "push")
	c.hub.Forgot()
	c.hook("repository", `{"action":"created","repository":{"id":7,"full_name":"acme/api"}}`)
	other := newFastMachine(t, "other")
	token, err := os.ReadFile(filepath.Join(ben.home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	other.enroll(c.url, strings.TrimSpace(string(token)), team)
	other.write("new.md", "of the new one\n")
	if r := other.sync(0); r.Received != 0 {
		t.Errorf("the new repository begins with %d notes of the old one", r.Received)
	}
	ada.want(77, "sync")
	if got, _ := ada.read("more.md"); got != "by the old name\n" {
		t.Errorf("Ada's note holds %q", got)
	}
	if _, there := ada.read("new.md"); there {
		t.Error("Ada got what is the new repository's")
	}
	ben.write("still.md", "here\n")
	ben.sync(0)
}
