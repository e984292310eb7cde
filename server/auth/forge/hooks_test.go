package forge_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/forge"
)

var hookSecret = strings.Repeat("hook", 5)

// message is what a forge sends, signed as it does.
func message(kind, event, body, secret string) http.Header {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	sum := hex.EncodeToString(mac.Sum(nil))
	h := http.Header{}
	switch kind {
	case "github":
		h.Set("X-GitHub-Event", event)
		h.Set("X-Hub-Signature-256", "sha256="+sum)
	case "gitea":
		h.Set("X-Gitea-Event", event)
		h.Set("X-Gitea-Signature", sum)
	case "gitlab":
		h.Set("X-Gitlab-Event", event)
		h.Set("X-Gitlab-Token", secret)
	}
	return h
}

func newHooks(t *testing.T, kind string) *forge.Hooks {
	t.Helper()
	o := forge.Options{Kind: kind}
	if kind != "github" {
		o.URL = "https://git.example.com"
	}
	f, err := forge.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h, err := f.Hooks(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHooks(t *testing.T) {
	repo := func(s string) api.Repo {
		if s == "" {
			return api.Repo{}
		}
		r, err := api.ParseRepo(s)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	tests := []struct {
		kind, event, body string
		repos, owners     string // joined by spaces
		identity          string
		from, to          string
	}{
		{
			"github", "repository", `{"action":"renamed","repository":{"id":7,"full_name":"Acme/New"},"changes":{"repository":{"name":{"from":"Old"}}},"organization":{"login":"Acme"}}`,
			"acme/new acme/old", "", "github.com#7", "acme/old", "acme/new",
		},
		{
			"github", "repository", `{"action":"transferred","repository":{"id":7,"full_name":"new/api"},"changes":{"owner":{"from":{"user":{"login":"ada"}}}}}`,
			"new/api ada/api", "", "github.com#7", "ada/api", "new/api",
		},
		{"github", "member", `{"action":"removed","repository":{"id":7,"full_name":"acme/api"},"member":{"login":"bob"}}`, "acme/api", "", "github.com#7", "", ""},
		{"github", "membership", `{"action":"removed","scope":"team","organization":{"login":"Acme"}}`, "", "acme", "", "", ""},
		{"github", "team", `{"action":"edited","repository":{"id":7,"full_name":"acme/api"},"organization":{"login":"acme"}}`, "acme/api", "acme", "github.com#7", "", ""},
		{"github", "organization", `{"action":"member_removed","organization":{"login":"acme"}}`, "", "acme", "", "", ""},
		{"github", "installation_repositories", `{"action":"removed","installation":{"account":{"login":"acme"}}}`, "", "acme", "", "", ""},
		{"github", "push", `{"repository":{"id":7,"full_name":"acme/api"}}`, "", "", "", "", ""},
		{"github", "ping", `{"zen":"x"}`, "", "", "", "", ""},
		{"github", "repository", `{"repository":{"id":7,"full_name":"no slash"}}`, "", "", "github.com#7", "", ""},
		{"gitea", "repository", `{"action":"deleted","repository":{"id":9,"full_name":"acme/api"},"organization":{"username":"acme"}}`, "git.example.com/acme/api", "", "git.example.com#9", "", ""},
		{
			"gitlab", "System Hook", `{"event_name":"project_transfer","project_id":5,"path_with_namespace":"g/sub/api","old_path_with_namespace":"ada/api"}`,
			"git.example.com/ada/api git.example.com/g/sub/api", "", "git.example.com#5", "git.example.com/ada/api", "git.example.com/g/sub/api",
		},
		{"gitlab", "System Hook", `{"event_name":"user_remove_from_team","project_id":5,"project_path_with_namespace":"g/api"}`, "git.example.com/g/api", "", "git.example.com#5", "", ""},
		{"gitlab", "Member Hook", `{"event_name":"user_remove_from_group","group_path":"sub"}`, "", "git.example.com", "", "", ""},
		{"gitlab", "Push Hook", `{"event_name":"push","project_id":5}`, "", "", "", "", ""},
	}
	for _, tt := range tests {
		got, err := newHooks(t, tt.kind).Read(message(tt.kind, tt.event, tt.body, hookSecret), []byte(tt.body))
		if err != nil {
			t.Errorf("%s %s: %v", tt.kind, tt.event, err)
			continue
		}
		want := forge.Event{Identity: tt.identity, From: repo(tt.from), To: repo(tt.to), Owners: strings.Fields(tt.owners)}
		for name := range strings.FieldsSeq(tt.repos) {
			want.Repos = append(want.Repos, repo(name))
		}
		if len(want.Owners) == 0 {
			want.Owners = nil
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b api.Repo) bool { return a == b })); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.kind, tt.event, diff)
		}
	}
}

// Nothing is read of a message that the forge did not sign.
func TestHooksRefuse(t *testing.T) {
	const body = `{"repository":{"id":7,"full_name":"acme/api"}}`
	for _, kind := range []string{"github", "gitea", "gitlab"} {
		hooks := newHooks(t, kind)
		name := map[string]string{"github": "X-Hub-Signature-256", "gitea": "X-Gitea-Signature", "gitlab": "X-Gitlab-Token"}[kind]
		good := message(kind, "repository", body, hookSecret)
		if _, err := hooks.Read(good, []byte(body)); err != nil {
			t.Errorf("%s: a good one: %v", kind, err)
		}
		bad := map[string]http.Header{
			"another secret": message(kind, "repository", body, strings.Repeat("other", 5)),
			"no secret":      message(kind, "repository", body, ""),
			"no signature":   {},
			"cut":            {name: {good.Get(name)[:len(good.Get(name))-2]}},
			"twice":          {name: {good.Get(name), good.Get(name)}},
			"not hex":        {name: {"sha256=zz"}},
			"empty":          {name: {""}},
		}
		if kind != "gitlab" {
			bad["of another body"] = message(kind, "repository", body+" ", hookSecret)
		}
		for what, header := range bad {
			if e, err := hooks.Read(header, []byte(body)); !errors.Is(err, forge.ErrSignature) || len(e.Repos) > 0 {
				t.Errorf("%s, %s: %+v, %v", kind, what, e, err)
			}
		}
		if _, err := hooks.Read(message(kind, "repository", "{", hookSecret), []byte("{")); err == nil || errors.Is(err, forge.ErrSignature) {
			t.Errorf("%s: no JSON: %v", kind, err)
		}
	}
	f, err := forge.New(forge.Options{Kind: "github"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Hooks("short"); !errors.Is(err, api.ErrConfig) {
		t.Errorf("a short secret: %v", err)
	}
}

// The tokens of github.com go to its interface, those of a GitHub Enterprise to
// its own.
func TestWhereItAsks(t *testing.T) {
	tests := []struct {
		o    forge.Options
		repo string
		want string
	}{
		{forge.Options{Kind: "github"}, "acme/api", "https://api.github.com/repos/acme/api"},
		{forge.Options{Kind: "github", URL: "https://ghe.example.com"}, "ghe.example.com/acme/api", "https://ghe.example.com/api/v3/repos/acme/api"},
		{forge.Options{Kind: "gitea", URL: "https://git.example.com/sub/"}, "git.example.com/acme/api", "https://git.example.com/sub/api/v1/repos/acme/api"},
		{forge.Options{Kind: "gitlab"}, "gitlab.com/g/sub/api", "https://gitlab.com/api/v4/projects/g%2Fsub%2Fapi"},
	}
	for _, tt := range tests {
		var asked string
		tt.o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			return nil, errors.New("no network here")
		})
		f, err := forge.New(tt.o)
		if err != nil {
			t.Fatal(err)
		}
		repo, err := api.ParseRepo(tt.repo)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Permission(t.Context(), "upstream", repo, forge.Answer{}); err == nil || strings.Contains(err.Error(), "network") {
			t.Errorf("%s: %v, want an error without what lies below", tt.repo, err)
		}
		if asked != tt.want {
			t.Errorf("%s: asked %s, want %s", tt.repo, asked, tt.want)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func FuzzHooks(f *testing.F) {
	f.Add("github", "repository", `{"repository":{"id":7,"full_name":"acme/api"},"changes":{"repository":{"name":{"from":"x"}}}}`)
	f.Add("gitlab", "", `{"event_name":"project_rename","path_with_namespace":"a/b"}`)
	f.Add("gitea", "organization", `{"organization":null,"installation":{"account":null}}`)
	f.Fuzz(func(t *testing.T, kind, event, body string) {
		if kind != "github" && kind != "gitlab" && kind != "gitea" {
			return
		}
		e, err := newHooks(t, kind).Read(message(kind, event, body, hookSecret), []byte(body))
		if errors.Is(err, forge.ErrSignature) {
			t.Fatal("its own signature is refused")
		}
		for _, repo := range e.Repos {
			if repo.IsZero() {
				t.Fatal("an event about no repo")
			}
		}
		if e.From.IsZero() != e.To.IsZero() {
			t.Fatalf("half a rename: %+v", e)
		}
	})
}
