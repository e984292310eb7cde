package access_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/access"
	"github.com/teammem/teammemd/server/auth/access/accesstest"
)

func writePolicy(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func openPolicy(t *testing.T, text string) *access.PolicyFile {
	t.Helper()
	p, err := access.OpenPolicy(writePolicy(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const samplePolicy = `
[groups]
backend = ["ada@https://idp.example.com", "#77@https://idp.example.com/"]

[[rules]]
repos = ["acme/*"]
users = ["*@example.com"]
role = "reader"

[[rules]]
repos = ["acme/api", "git.example.com/**"]
groups = ["backend"]
role = "maintainer"

[[rules]]
repos = ["acme/api"]
users = ["Grace@Example.org", "tom@local"]
groups = ["writers@https://idp.example.com"]
role = "writer"

[[rules]]
repos = ["open/*"]
users = ["*"]
role = "reader"

[[rules]]
repos = ["idp/*"]
users = ["*@https://idp.example.com"]
role = "admin"
`

func TestPolicy(t *testing.T) {
	people := accesstest.NewPeople()
	a := access.New(access.Options{People: people.Of, Policy: openPolicy(t, samplePolicy)})
	const idp = "https://idp.example.com"
	tests := []struct {
		name string
		who  access.Person
		repo string
		want api.Role
	}{
		{"by domain", access.Person{Issuer: idp, Email: "Bob@EXAMPLE.com"}, "acme/web", api.Reader},
		{"a domain that ends alike", access.Person{Issuer: idp, Email: "bob@notexample.com"}, "acme/web", api.NoRole},
		{"a domain below", access.Person{Issuer: idp, Email: "bob@x.example.com"}, "acme/web", api.NoRole},
		{"an address with two ats", access.Person{Issuer: idp, Email: "bob@evil.org@example.com"}, "acme/web", api.NoRole},
		{"without an address", access.Person{Issuer: idp, Login: "bob"}, "acme/web", api.NoRole},
		{"the stronger of two", access.Person{Issuer: idp, Login: "Ada", Email: "ada@example.com"}, "acme/api", api.Maintainer},
		{"the stronger one before the other", access.Person{Issuer: idp, Login: "ada", Groups: []string{"writers"}}, "acme/api", api.Maintainer},
		{"a group of the file", access.Person{Issuer: idp + "/", Login: "ada"}, "git.example.com/a/b", api.Maintainer},
		{"by subject", access.Person{Issuer: idp, Subject: "77"}, "acme/api", api.Maintainer},
		{"a subject of another issuer", access.Person{Issuer: "https://github.com", Subject: "77"}, "acme/api", api.NoRole},
		{"a login of another issuer", access.Person{Issuer: "https://github.com", Login: "ada"}, "acme/api", api.NoRole},
		{"by address", access.Person{Issuer: "https://github.com", Email: "grace@example.org"}, "acme/api", api.Writer},
		{"an address is no login", access.Person{Issuer: idp, Login: "grace@example.org"}, "acme/api", api.NoRole},
		{"a group of the issuer", access.Person{Issuer: idp, Groups: []string{"x", "writers"}}, "acme/api", api.Writer},
		{"a group of another issuer", access.Person{Issuer: "https://github.com", Groups: []string{"writers"}}, "acme/api", api.NoRole},
		{"an issuer's group called as the file's", access.Person{Issuer: idp, Groups: []string{"backend"}}, "acme/api", api.NoRole},
		{"somebody local", access.Person{Issuer: "local", Login: "tom"}, "acme/api", api.Writer},
		{"a login like somebody local's", access.Person{Issuer: idp, Login: "tom"}, "acme/api", api.NoRole},
		{"anyone", access.Person{Issuer: "https://github.com", Login: "eve"}, "open/x", api.Reader},
		{"anyone elsewhere", access.Person{Issuer: "https://github.com", Login: "eve"}, "acme/api", api.NoRole},
		{"anyone of an issuer", access.Person{Issuer: idp}, "idp/x", api.Admin},
	}
	for i, tt := range tests {
		user := string(rune('a' + i))
		people.Add(user, tt.who, "")
		d, err := a.Decide(t.Context(), grant(t, user, "", 0), repoOf(t, tt.repo))
		if err != nil || d.Role != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, d.Role, err, tt.want)
		}
	}
}

// The stronger of policy and forge counts; without the forge the policy stands.
func TestPolicyBesideForge(t *testing.T) {
	w := newWorld(t, "[[rules]]\nrepos = [\"acme/*\"]\nusers = [\"ada@example.com\"]\nrole = \"writer\"\n")
	w.hub.Repo("acme/one", "private")
	w.hub.Repo("acme/two", "private")
	w.hub.Allow("ada", "acme/one", "admin")
	w.decide("ada", "acme/one", api.Maintainer, "acme/one")
	w.decide("ada", "acme/two", api.Writer, "acme/two")
	w.hub.Suffer(1) // down
	w.decide("ada", "acme/three", api.Writer, "acme/three")
	w.hub.Rename("acme/one", "other/one")
	w.hub.Suffer(0)
	w.hub.Forgot()
	w.clock.Add(30 * 60e9)
	w.decide("ada", "acme/one", api.Maintainer, "other/one")
	w.hub.Allow("ada", "other/one", "pull")
	w.clock.Add(10 * 60e9)
	w.decide("ada", "acme/one", api.Reader, "other/one") // the policy speaks of present names
}

func TestPolicyRefused(t *testing.T) {
	_, err := access.OpenPolicy(writePolicy(t, `
[groups]
"a@b" = ["nobody"]

[[rules]]
repo = ["acme/*"]
users = ["ada"]
role = "owner"

[[rules]]
repos = ["acme", "acme/**x"]
groups = ["unknown"]
role = "reader"

[[rules]]
repos = ["acme/*"]
role = "reader"
`))
	if !errors.Is(err, api.ErrConfig) {
		t.Fatalf("OpenPolicy = %v, want a configuration error", err)
	}
	for _, want := range []string{
		"line 6: unknown key rules.repo", `"a@b" cannot be the name`, `"nobody" is not`, "rule 1: repos is missing", `rule 1: users: "ada" is not`,
		"rule 1: role is", `rule 2: repos: "acme"`, `rule 2: repos: "acme/**x"`, `rule 2: groups: "unknown"`, "rule 3: users or groups is missing",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	for _, text := range []string{"rules = 1", "[[rules]", "\x00"} {
		if _, err := access.OpenPolicy(writePolicy(t, text)); !errors.Is(err, api.ErrConfig) || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, user := range []string{
		"", "ada", "@", "@example.com", "ada@", "ada@example", "a*a@example.com", "*@*.example.com", "#@https://x.example", "@https://x.example",
		"ada@https://", "ada@https://u:p@x.example", "ada@https://x.example?q", "a b@https://x.example", "a@b@example.com",
	} {
		text := "[[rules]]\nrepos = [\"*\"]\nrole = \"reader\"\nusers = [\"" + user + "\"]\n"
		if _, err := access.OpenPolicy(writePolicy(t, text)); err == nil {
			t.Errorf("the user %q was accepted", user)
		}
	}
	if _, err := access.OpenPolicy(filepath.Join(t.TempDir(), "none")); !errors.Is(err, api.ErrConfig) {
		t.Errorf("no file: %v", err)
	}
}
