package gitea

import (
	"bufio"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/access"
	"github.com/teammem/teammemd/server/auth/upstream"
	"github.com/teammem/teammemd/server/store"
)

type object = map[string]any

// TestPermissions asks a real forge what people may do: its permissions are roles
// here, outsiders see nothing, and what is withdrawn is gone within the cache time.
func TestPermissions(t *testing.T) {
	g := start(t, "bob", "carol", "dan", "eve")
	w := newTown(t, g)
	g.do("ada", http.MethodPost, "/orgs", object{"username": "acme"}, 201)
	g.do("ada", http.MethodPost, "/orgs/acme/repos", object{"name": "api", "private": true}, 201)
	for login, level := range map[string]string{"bob": "read", "carol": "write", "dan": "admin"} {
		g.do("ada", http.MethodPut, "/repos/acme/api/collaborators/"+login, object{"permission": level}, 204)
	}
	bob, carol, dan, eve := w.signIn("bob"), w.signIn("carol"), w.signIn("dan"), w.signIn("eve")
	w.writes("a writer", carol, "acme/api", "first", 200)
	w.writes("a reader", bob, "acme/api", "mine", 403)
	for token, want := range map[string]string{bob: "reader", carol: "writer", dan: "maintainer"} {
		if got := w.roleOf(token, "acme/api"); got != want {
			t.Errorf("a %s is a %s", want, got)
		}
	}
	if text := w.reads("a reader", bob, "acme/api", 200); !strings.Contains(text, "first") {
		t.Errorf("a reader reads %s", text)
	}
	if there, missing := w.reads("an outsider", eve, "acme/api", 404), w.reads("nothing", eve, "acme/none", 404); there != missing {
		t.Errorf("an outsider is told %s, and %s of what does not exist", there, missing)
	}

	t.Run("a token is renewed", func(t *testing.T) {
		u, err := w.backend.(store.Accounts).User(t.Context(), "user-bob")
		if err != nil {
			t.Fatal(err)
		}
		token, err := w.sealer.Open(u.Upstream, u.Issuer, u.Subject)
		if err != nil {
			t.Fatal(err)
		}
		old := *token
		old.AccessToken, old.Expiry = "over", time.Now().Add(-time.Hour)
		w.keep(upstream.Identity{Issuer: u.Issuer, Subject: u.Subject, Login: u.Login}, &old)
		w.clock.Advance(access.YesLife + time.Second)
		w.reads("with a token that ended", bob, "acme/api", 200)
	})

	t.Run("withdrawn", func(t *testing.T) {
		g.do("ada", http.MethodDelete, "/repos/acme/api/collaborators/carol", nil, 204)
		w.clock.Advance(access.YesLife + time.Second)
		w.reads("reads", carol, "acme/api", 404)
		w.writes("writes", carol, "acme/api", "more", 404)
		w.want("search", 404, http.MethodGet, api.PathSearch+"?q=first&repo="+repo("acme/api"), carol, "")
		w.want("streams", 404, http.MethodGet, api.PathEvents+"?repo="+repo("acme/api"), carol, "")
		g.do("ada", http.MethodPut, "/repos/acme/api/collaborators/carol", object{"permission": "write"}, 204)
		w.clock.Advance(access.NoLife + time.Second)
		w.writes("given back", carol, "acme/api", "second", 200)
	})
}

// TestRenamesKeepTheMemory: the forge's redirect after a rename and a transfer
// leads to the same memory, by the repository's number; a new repository under
// an old name begins empty.
func TestRenamesKeepTheMemory(t *testing.T) {
	g := start(t, "carol")
	w := newTown(t, g)
	g.do("ada", http.MethodPost, "/orgs", object{"username": "acme"}, 201)
	g.do("ada", http.MethodPost, "/orgs/acme/repos", object{"name": "api", "private": true}, 201)
	g.do("ada", http.MethodPut, "/repos/acme/api/collaborators/carol", object{"permission": "write"}, 204)
	carol := w.signIn("carol")
	w.writes("before", carol, "acme/api", "kept", 200)
	for _, step := range []struct {
		path string
		move func()
		next string
	}{
		{"acme/api", func() { g.do("ada", http.MethodPatch, "/repos/acme/api", object{"name": "web"}, 200) }, "acme/web"},
		{"acme/web", func() { g.do("ada", http.MethodPost, "/repos/acme/web/transfer", object{"new_owner": "ada"}, 202) }, "ada/web"},
	} {
		step.move()
		g.do("ada", http.MethodGet, "/repos/"+step.path, nil, http.StatusMovedPermanently)
		w.clock.Advance(access.YesLife + time.Second)
		for _, name := range []string{step.path, step.next} {
			if text := w.reads("as "+name, carol, name, 200); !strings.Contains(text, "kept") {
				t.Errorf("as %s: %s", name, text)
			}
		}
	}
	w.writes("under the first name", carol, "acme/api", "kept on", 200)
	g.do("ada", http.MethodPost, "/orgs/acme/repos", object{"name": "api", "private": true}, 201)
	g.do("ada", http.MethodPut, "/repos/acme/api/collaborators/carol", object{"permission": "write"}, 204)
	w.clock.Advance(access.YesLife + time.Second)
	w.writes("in the new one", carol, "acme/api", "another", 200)
	if text := w.reads("the new one", carol, "acme/api", 200); strings.Contains(text, "kept") {
		t.Errorf("a new repository has the memory of the one before: %s", text)
	}
	if text := w.reads("the moved one", carol, "ada/web", 200); !strings.Contains(text, "kept on") || strings.Contains(text, "another") {
		t.Errorf("the one that moved: %s", text)
	}
}

// TestWebhook: what the forge sends and signs by itself ends a stream long before
// the cache time; what it signs with another secret is refused. It sends nothing
// when collaborators change, so a repository that is deleted stands for it.
func TestWebhook(t *testing.T) {
	g := start(t, "carol")
	w := newTown(t, g)
	g.do("ada", http.MethodPost, "/orgs", object{"username": "acme"}, 201)
	g.do("ada", http.MethodPost, "/orgs/acme/repos", object{"name": "api", "private": true}, 201)
	g.do("ada", http.MethodPut, "/repos/acme/api/collaborators/carol", object{"permission": "write"}, 204)
	carol := w.signIn("carol")
	w.writes("before", carol, "acme/api", "text", 200)
	hook := func(secret string) int {
		var made struct {
			ID int `json:"id"`
		}
		raw := g.do("ada", http.MethodPost, "/orgs/acme/hooks", object{
			"type": "gitea", "active": true, "events": []string{"repository"},
			"config": object{"url": w.url + api.PathWebhookGitea, "content_type": "json", "secret": secret},
		}, 201)
		if err := json.Unmarshal(raw, &made); err != nil || made.ID == 0 {
			t.Fatalf("the hook: %s, %v", raw, err)
		}
		return made.ID
	}
	hook("another " + hookSecret)
	g.do("ada", http.MethodPost, "/orgs/acme/repos", object{"name": "first"}, 201)
	w.hears(http.StatusForbidden)
	hook(hookSecret)

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+api.PathEvents+"?repo="+repo("acme/api"), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+carol)
	stream, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("the stream: %d", stream.StatusCode)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
		}
	}()
	g.do("ada", http.MethodDelete, "/repos/acme/api", nil, 204)
	w.hears(http.StatusOK)
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the stream is open")
	}
	w.reads("afterwards", carol, "acme/api", 404)
	w.want("search", 404, http.MethodGet, api.PathSearch+"?q=text&repo="+repo("acme/api"), carol, "")
}

// hears waits until a message of the forge was answered so.
func (w *town) hears(status int) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		w.mu.Lock()
		got := append([]int(nil), w.hooks...)
		w.mu.Unlock()
		if slices.Contains(got, status) {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("no message of the forge was answered with %d: %v", status, got)
		}
	}
}
