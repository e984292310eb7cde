package server_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/forge/forgetest"
)

// hook sends a signed message of the forge.
func (c *town) hook(event, body string) answer {
	c.t.Helper()
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write([]byte(body))
	return c.do(request{method: http.MethodPost, path: api.PathWebhookGitHub, body: body, header: map[string]string{
		"X-GitHub-Event": event, "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
	}})
}

// Losing a permission closes every door within the cache's time.
func TestLostPermission(t *testing.T) {
	c := newTown(t, "", options{})
	c.repo("acme/api", map[string]string{"ada": "push"})
	ada := bearer{"ada", c.signIn("ada"), api.Writer}
	for _, row := range matrixRows {
		if row.make == nil {
			continue
		}
		if got := c.matrixSend(row, ada, "acme/api"); got.status != row.own[1] {
			t.Errorf("before, %s %s (%s): %d", row.method, row.path, row.name, got.status)
		}
	}
	c.hub.Allow("ada", "acme/api", "none")
	c.clock.Add(5*time.Minute + time.Second)
	for _, row := range matrixRows {
		if row.make == nil {
			continue
		}
		after, missing := c.matrixSend(row, ada, "acme/api"), c.matrixSend(row, ada, "acme/missing")
		if after.status != 404 {
			t.Errorf("after, %s %s (%s): %d %s", row.method, row.path, row.name, after.status, after.body)
		}
		sameAnswer(t, row.name, after, missing)
	}
}

// A role that shrinks takes effect as well.
func TestShrunkPermission(t *testing.T) {
	c := newTown(t, "", options{})
	c.repo("acme/api", map[string]string{"ada": "push"})
	ada := c.signIn("ada")
	c.put(ada, "acme/api", entries{"k": "2"})
	c.hub.Allow("ada", "acme/api", "pull")
	c.clock.Add(5*time.Minute + time.Second)
	wantStatus(t, "reading", c.do(request{path: memory("acme/api"), token: ada}), 200, "")
	wantStatus(t, "writing", c.do(request{method: http.MethodPut, path: memory("acme/api"), body: `{"entries":{"k":"3"}}`, token: ada}), 403, "forbidden")
}

// settle returns when the server has noticed the sign-ins before: what happens to
// open requests from then on has another cause.
func (c *town) settle() {
	c.t.Helper()
	// The next look that begins sees them all, and has told of them when the one
	// after it begins.
	seen := c.looks.begun.Load() + 2
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); c.looks.begun.Load() < seen; {
		select {
		case <-tick.C:
		case <-late:
			c.t.Fatal("nobody looks for changes")
		}
	}
}

// Streams and long polls that are open when a permission goes end, by a webhook
// at once; nothing that happens after it reaches them.
func TestOpenRequestsEnd(t *testing.T) {
	for name, lose := range map[string]func(*town, int64) answer{
		"member": func(c *town, _ int64) answer {
			return c.hook("member", `{"action":"removed","repository":{"id":1,"full_name":"acme/api"}}`)
		},
		"organization": func(c *town, _ int64) answer {
			return c.hook("organization", `{"action":"member_removed","organization":{"login":"acme"}}`)
		},
		"team": func(c *town, _ int64) answer {
			return c.hook("team", `{"action":"removed_from_repository","organization":{"login":"ACME"}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newTown(t, "", options{})
			id := c.repo("acme/api", map[string]string{"ada": "push", "bob": "push"})
			ada, bob := c.signIn("ada"), c.signIn("bob")
			c.settle()
			stream, kept := c.listen(t, ada, "acme/api"), c.listen(t, bob, "acme/api")
			stream.notice()
			kept.notice()
			polled := make(chan answer, 1)
			go func() {
				a, err := c.try(request{path: memory("acme/api", "wait=25", "after=1"), token: ada})
				if err != nil {
					t.Error(err)
				}
				polled <- a
			}()
			c.hub.Allow("ada", "acme/api", "none")
			c.hub.Forgot()
			wantStatus(t, "the message", lose(c, id), 200, "")
			if rest := strings.Join(stream.rest(), "\n"); !strings.Contains(rest, "access ended") || strings.Contains(rest, "data:") {
				t.Errorf("the stream ended with %q", rest)
			}
			select {
			case a := <-polled:
				wantStatus(t, "the long poll", a, 404, "not_found")
			case <-time.After(patience):
				t.Error("the long poll goes on")
			}
			c.put(bob, "acme/api", entries{"k": "2"})
			if _, n := kept.notice(); n.Version != 2 {
				t.Errorf("who kept access hears of version %d", n.Version)
			}
			wantStatus(t, "reading", c.do(request{path: memory("acme/api"), token: ada}), 404, "not_found")
		})
	}
}

// Without a webhook an open stream asks again when its permission runs out.
func TestStreamAsksAgain(t *testing.T) {
	c := newTown(t, "", options{})
	c.repo("acme/api", map[string]string{"ada": "push"})
	ada := c.signIn("ada")
	c.settle()
	// The permission was found out some time ago. Its age stays what it is until
	// there is another, however long this takes.
	const old = 5*time.Minute - time.Second
	c.clock.Add(-old)
	wantStatus(t, "reading", c.do(request{path: memory("acme/api"), token: ada}), 200, "")
	stream := c.listen(t, ada, "acme/api")
	stream.notice()
	c.hub.Allow("ada", "acme/api", "none")
	c.hub.Forgot()
	c.clock.Add(old)
	if rest := strings.Join(stream.rest(), "\n"); !strings.Contains(rest, "access ended") {
		t.Errorf("the stream ended with %q", rest)
	}
}

// While the forge is down who was let in stays in, who was not hears 503, for
// what exists and what does not alike.
func TestOutageAtTheDoor(t *testing.T) {
	c := newTown(t, "", options{})
	c.repo("acme/api", map[string]string{"ada": "push"})
	c.repo("other/api", nil)
	ada := c.signIn("ada")
	wantStatus(t, "before", c.do(request{path: memory("acme/api"), token: ada}), 200, "")
	c.hub.Suffer(forgetest.Down)
	c.clock.Add(30 * time.Minute)
	wantStatus(t, "half an hour later", c.do(request{path: memory("acme/api"), token: ada}), 200, "")
	exists, missing := c.do(request{path: memory("other/api"), token: ada}), c.do(request{path: memory("other/missing"), token: ada})
	wantStatus(t, "what nobody knows", exists, 503, "unavailable")
	exists.header.Del("Retry-After") // counts down
	missing.header.Del("Retry-After")
	sameAnswer(t, "during the outage", exists, missing)
	c.clock.Add(31 * time.Minute)
	wantStatus(t, "after an hour", c.do(request{path: memory("acme/api"), token: ada}), 503, "unavailable")
	if log := c.logged.String(); strings.Contains(log, c.hub.Person("ada")) {
		t.Error("a token of the forge is in the log")
	}
}

// A client that still uses the old name of a repository reads and writes its
// memory, and finds the name that it asked for in every answer.
func TestFormerName(t *testing.T) {
	c := newTown(t, "", options{})
	old, now := repoOf(t, "acme/old"), repoOf(t, "acme/new")
	id := c.hub.Repo("acme/old", "private")
	c.hub.Allow("ada", "acme/old", "maintain")
	ada := c.signIn("ada")
	wantStatus(t, "before it is written", c.do(request{path: memory("acme/old"), token: ada}), 404, "not_found")
	c.hub.Rename("acme/old", "acme/new")
	c.hub.Forgot()
	wantStatus(t, "the rename", c.hook("repository", jsonOf(t, map[string]any{
		"action": "renamed", "repository": map[string]any{"id": id, "full_name": "acme/new"},
		"changes": map[string]any{"repository": map[string]any{"name": map[string]any{"from": "old"}}},
	})), 200, "")
	if home, err := c.names.Resolve(t.Context(), old); err != nil || home != now {
		t.Fatalf("the data is at %v, %v", home, err)
	}

	stream := c.listen(t, ada, "acme/old", "acme/new")
	for _, want := range []api.Repo{old, now} {
		if _, n := stream.notice(); n.Repo != want {
			t.Errorf("the stream tells of %v first, want %v", n.Repo, want)
		}
	}
	if pushed := c.put(ada, "acme/old", entries{"k": "1"}); pushed.Repo != old {
		t.Errorf("PUT answers for %v", pushed.Repo)
	}
	for _, want := range []api.Repo{old, now} {
		if _, n := stream.notice(); n.Repo != want || n.Version != 1 {
			t.Errorf("the stream tells of %v at %d", n.Repo, n.Version)
		}
	}
	for _, row := range matrixRows {
		if row.make == nil || row.open {
			continue
		}
		b := bearer{"ada", ada, api.Maintainer}
		byOld, byNew := c.matrixSend(row, b, "acme/old"), c.matrixSend(row, b, "acme/new")
		if byOld.status != byNew.status {
			t.Errorf("%s %s (%s): %d by the old name, %d by the new: %s", row.method, row.path, row.name, byOld.status, byNew.status, byOld.body)
			continue
		}
		var named struct {
			Repo string `json:"repo"`
		}
		if byOld.status != 200 || byOld.header.Get("Content-Encoding") != "" || row.path == api.PathJoinCodes || json.Unmarshal(byOld.body, &named) != nil {
			continue
		}
		if bytes.Contains(byOld.body, []byte(`"repo"`)) && named.Repo != "acme/old" {
			t.Errorf("%s %s (%s) by the old name answers for %q", row.method, row.path, row.name, named.Repo)
		}
	}
	etags := c.do(request{path: memory("acme/old"), token: ada}).header.Get("ETag") + " " + c.do(request{path: memory("acme/new"), token: ada}).header.Get("ETag")
	if parts := strings.Fields(etags); len(parts) != 2 || parts[0] != parts[1] {
		t.Errorf("ETags: %q", etags)
	}
}

// Messages that the forge did not sign do nothing, and few are looked at.
func TestUnsignedMessages(t *testing.T) {
	c := newTown(t, "", options{})
	c.repo("acme/api", map[string]string{"ada": "push"})
	ada := c.signIn("ada")
	wantStatus(t, "before", c.do(request{path: memory("acme/api"), token: ada}), 200, "")
	asked := c.hub.Answered(0)
	body := `{"action":"removed","repository":{"id":1,"full_name":"acme/api"}}`
	status := map[int]int{}
	for range 40 {
		status[c.do(request{method: http.MethodPost, path: api.PathWebhookGitHub, body: body, header: map[string]string{
			"X-GitHub-Event": "member", "X-Hub-Signature-256": "sha256=" + strings.Repeat("0", 64),
		}}).status]++
	}
	if status[403] < 15 || status[429] < 10 || status[403]+status[429] != 40 {
		t.Errorf("answers by status: %v", status)
	}
	wantStatus(t, "after", c.do(request{path: memory("acme/api"), token: ada}), 200, "")
	if got := c.hub.Answered(0); got != asked {
		t.Errorf("%d questions more reached the forge", got-asked)
	}
	if strings.Contains(c.logged.String(), hookSecret) {
		t.Error("the secret is in the log")
	}
}

func TestMessageLimits(t *testing.T) {
	c := newTown(t, "", options{})
	wantStatus(t, "a large one", c.hook("member", `{"x":"`+strings.Repeat("x", 1<<20)+`"}`), 413, "body_too_large")
	wantStatus(t, "no JSON", c.hook("member", `{`), 400, "bad_request")
	wantStatus(t, "of no concern", c.hook("push", `{}`), 200, "")
	w := newWorld(t, options{})
	for _, path := range []string{api.PathWebhookGitHub, api.PathWebhookGitLab, api.PathWebhookGitea} {
		got := w.do(request{method: http.MethodPost, path: path, body: "{}"})
		sameAnswer(t, path, got, w.do(request{method: http.MethodPost, path: "/nothing/here", body: "{}"}))
	}
}

// Whoever signs in with a token that the forge does not take any more is told to
// sign in again, not that the repo is gone.
func TestForgeRefusesToken(t *testing.T) {
	c := newTown(t, "", options{})
	c.repo("acme/api", map[string]string{"ada": "push"})
	ada := c.signIn("ada")
	c.hub.Refuse(c.hub.Person("ada"))
	wantStatus(t, "reading", c.do(request{path: memory("acme/api"), token: ada}), 401, "signed_out")
}

// Who listens to a repo under its old name hears of what is written after it was
// renamed, though nobody told this server by a webhook.
func TestStreamFollowsRename(t *testing.T) {
	c := newTown(t, "", options{})
	c.repo("acme/old", map[string]string{"ada": "push"})
	ada, service := c.signIn("ada"), c.token("acme/*", api.Reader)
	wantStatus(t, "before", c.do(request{path: memory("acme/old"), token: ada}), 200, "")
	c.settle()
	stream := c.listen(t, service, "acme/old")
	stream.notice()
	c.hub.Rename("acme/old", "acme/new")
	c.hub.Forgot()
	c.put(ada, "acme/new", entries{"k": "2"}) // the first that the server hears of it
	if rest := strings.Join(stream.rest(), "\n"); !strings.Contains(rest, "access ended") {
		t.Errorf("the stream ended with %q", rest)
	}
	again := c.listen(t, service, "acme/old")
	if _, n := again.notice(); n.Version != 2 || n.Repo != repoOf(t, "acme/old") {
		t.Errorf("after it connected again: %+v", n)
	}
}
