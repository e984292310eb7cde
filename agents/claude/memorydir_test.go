package claude_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/agents/claude"
	"github.com/teammem/teammemd/api"
)

// user is a home directory with an environment.
type user struct {
	t    *testing.T
	home string
	env  map[string]string
}

func newUser(t *testing.T) *user {
	t.Helper()
	return &user{t: t, home: t.TempDir(), env: map[string]string{}}
}

func (u *user) path(rel string) string { return filepath.Join(u.home, filepath.FromSlash(rel)) }

func (u *user) write(rel, text string) {
	u.t.Helper()
	u.mkdir(filepath.Dir(rel))
	if err := os.WriteFile(u.path(rel), []byte(text), 0o644); err != nil {
		u.t.Fatal(err)
	}
}

func (u *user) mkdir(rel string) {
	u.t.Helper()
	if err := os.MkdirAll(u.path(rel), 0o755); err != nil {
		u.t.Fatal(err)
	}
}

// place is a project at root; the policy file is under the test's control.
func (u *user) place(root string) claude.Place {
	return claude.Place{
		Getenv:        func(name string) string { return u.env[name] },
		Home:          u.home,
		CanonicalRoot: root,
		PolicyFiles:   []string{u.path("policy/managed-settings.json"), u.path("policy/managed-settings.d/10.json")},
	}
}

func (u *user) locate(p claude.Place) claude.Location {
	u.t.Helper()
	loc, err := claude.MemoryDir(p)
	if err != nil {
		u.t.Fatal(err)
	}
	return loc
}

func TestOrderOfRules(t *testing.T) {
	// Each step adds a stronger rule to those before it.
	u := newUser(t)
	u.mkdir("src/api")
	u.mkdir("src/tree")
	place := u.place(u.path("src/api"))
	munged := func(path string) string {
		return strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, path)
	}
	project := filepath.Join("projects", munged(place.CanonicalRoot), "memory")
	quote := func(path string) string { return `"` + filepath.ToSlash(path) + `"` }
	steps := []struct {
		how  string
		do   func()
		want string
	}{
		{"project directory", func() {}, filepath.Join(u.home, ".claude", project)},
		{"CLAUDE_CONFIG_DIR", func() { u.env["CLAUDE_CONFIG_DIR"] = u.path("cfg") }, filepath.Join(u.home, "cfg", project)},
		{"CLAUDE_CODE_REMOTE_MEMORY_DIR", func() { u.env["CLAUDE_CODE_REMOTE_MEMORY_DIR"] = u.path("remote") }, filepath.Join(u.home, "remote", project)},
		{"project directory", func() { u.write("src/api/.claude/settings.json", `{"autoMemoryDirectory":`+quote(u.path("evil"))+`}`) }, filepath.Join(u.home, "remote", project)},
		{"user's settings.json", func() { u.write("cfg/settings.json", `{"autoMemoryDirectory":"~/mine/"}`) }, u.path("mine")},
		{"settings.local.json", func() {
			u.write("src/api/.claude/settings.local.json", `{"autoMemoryDirectory":`+quote(u.path("local"))+`}`)
		}, u.path("local")},
		{"administrator's", func() {
			u.write("policy/managed-settings.json", `{"autoMemoryDirectory":`+quote(u.path("policy1"))+`}`)
		}, u.path("policy1")},
		{"administrator's", func() {
			u.write("policy/managed-settings.d/10.json", `{"autoMemoryDirectory":`+quote(u.path("policy2"))+`}`)
		}, u.path("policy2")},
		{"CLAUDE_COWORK_MEMORY_PATH_OVERRIDE", func() { u.env["CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"] = u.path("cowork") }, u.path("cowork")},
	}
	for i, step := range steps {
		step.do()
		loc := u.locate(place)
		if loc.Dir != step.want || !strings.Contains(loc.How, step.how) {
			t.Errorf("step %d: got %s (%s), want %s (%s)", i, loc.Dir, loc.How, step.want, step.how)
		}
		team, err := claude.TeamDir(place)
		if err != nil || team != filepath.Join(step.want, "team") || team != loc.TeamDir() {
			t.Errorf("step %d: team directory %s, %v", i, team, err)
		}
	}
}

func TestProjectNames(t *testing.T) {
	u := newUser(t)
	for root, want := range map[string]string{
		"/home/ada/api":           "-home-ada-api",
		"/home/ada/my_api.v2":     "-home-ada-my-api-v2",
		"/home/ada/näh":           "-home-ada-n-h",
		"/home/ada/na\u0308h":     "-home-ada-n-h", // NFD is composed first
		"/home/ada/\U0001F600x":   "-home-ada---x", // two UTF-16 units
		`C:\Users\ada\api`:        "C--Users-ada-api",
		"/" + rep("a", 199):       "-" + rep("a", 199),
		"/a b/(c) [d] ~e @f #g$h": "-a-b--c---d---e--f--g-h",
	} {
		loc := u.locate(u.place(root))
		if got := filepath.Base(filepath.Dir(loc.Dir)); got != want {
			t.Errorf("%q: got %q, want %q", root, got, want)
		}
	}
}

func rep(s string, n int) string { return strings.Repeat(s, n) }

func TestCandidatesThatExistAreTaken(t *testing.T) {
	u := newUser(t)
	place := u.place("/src/my_api")
	place.Root = "/src/my_tree"
	dirs := []string{"-src-my-api", "-src-my_api", "-src-my-tree", "-src-my_tree"}
	loc := u.locate(place)
	var got []string
	for _, c := range loc.Candidates {
		got = append(got, filepath.Base(filepath.Dir(c.Dir)))
	}
	if diff := cmp.Diff(dirs, got); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
	if !strings.Contains(loc.How, "not there yet") {
		t.Errorf("how: %q", loc.How)
	}
	// The weakest first: each new one must win over those before it.
	for i, dir := range slices.Backward(dirs) {
		u.mkdir(".claude/projects/" + dir + "/memory")
		loc := u.locate(place)
		if filepath.Base(filepath.Dir(loc.Dir)) != dir || strings.Contains(loc.How, "not there yet") {
			t.Errorf("with %s there: got %s (%s)", dir, loc.Dir, loc.How)
		}
		if !loc.Candidates[i].Exists {
			t.Errorf("%s is there and not marked so", dir)
		}
	}
}

func TestLongNamesAreFoundByPrefix(t *testing.T) {
	u := newUser(t)
	place := u.place("/" + rep("long-", 60))
	prefix := ".claude/projects/-" + rep("long-", 60)[:199] + "-"

	_, err := claude.MemoryDir(place)
	if !errors.Is(err, claude.ErrNoDirectory) || !errors.Is(err, api.ErrUsage) {
		t.Fatalf("with nothing there: got %v", err)
	}
	u.mkdir(prefix + "NotAHash/memory")
	u.mkdir(prefix + rep("z", 40) + "/memory")
	u.write(prefix+"1a2b", "a file")
	if _, err := claude.MemoryDir(place); !errors.Is(err, claude.ErrNoDirectory) {
		t.Fatalf("with none that fits: got %v", err)
	}
	u.mkdir(prefix + "k3x9q1/memory")
	if got := u.locate(place).Dir; got != u.path(prefix+"k3x9q1/memory") {
		t.Errorf("got %s", got)
	}
	u.mkdir(prefix + "zz81f0/memory")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(u.path(prefix+"k3x9q1"), old, old); err != nil {
		t.Fatal(err)
	}
	if got := u.locate(place).Dir; got != u.path(prefix+"zz81f0/memory") {
		t.Errorf("of two the one used last is wanted, got %s", got)
	}
}

func TestUnusablePathsArePassedOver(t *testing.T) {
	for _, value := range []string{"", "relative/dir", "/", "//", "~", "~/", "~/.", "~/..", "~/../x", "~other/x", "//server/share", "/a\\u0000b"} {
		u := newUser(t)
		u.write(".claude/settings.json", `{"autoMemoryDirectory":"`+value+`"}`)
		loc := u.locate(u.place("/src/api"))
		if want := u.path(".claude/projects/-src-api/memory"); loc.Dir != want {
			t.Errorf("%q: got %s", value, loc.Dir)
		}
		u.env["CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"] = strings.ReplaceAll(value, "\\u0000", "\x00")
		if loc := u.locate(u.place("/src/api")); loc.Dir != u.path(".claude/projects/-src-api/memory") {
			t.Errorf("override %q: got %s", value, loc.Dir)
		}
	}
}

func TestBrokenSettingsCountAsEmpty(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "null", `{"autoMemoryDirectory":7}`, `{"autoMemoryDirectory":null,"autoMemoryEnabled":"no"}`} {
		u := newUser(t)
		u.write(".claude/settings.json", text)
		place := u.place("/src/api")
		if loc := u.locate(place); loc.Dir != u.path(".claude/projects/-src-api/memory") {
			t.Errorf("%q: got %s", text, loc.Dir)
		}
		if why := claude.Off(place); why != "" {
			t.Errorf("%q: off because %s", text, why)
		}
	}
}

func TestNoHome(t *testing.T) {
	u := newUser(t)
	place := u.place("/src/api")
	place.Home = ""
	if _, err := claude.MemoryDir(place); !errors.Is(err, api.ErrConfig) {
		t.Errorf("got %v", err)
	}
	u.env["CLAUDE_CONFIG_DIR"] = u.path("cfg")
	if got := u.locate(place).Dir; got != u.path("cfg/projects/-src-api/memory") {
		t.Errorf("got %s", got)
	}
}

func TestOff(t *testing.T) {
	u := newUser(t)
	place := u.place(u.path("src/api"))
	check := func(want string) {
		t.Helper()
		if got := claude.Off(place); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check("")
	u.write(".claude/settings.json", `{"autoMemoryEnabled":false}`)
	check("autoMemoryEnabled is false in the user's")
	u.write("src/api/.claude/settings.local.json", `{"autoMemoryEnabled":true}`)
	check("")
	for _, value := range []string{"0", "false", ""} {
		u.env["CLAUDE_CODE_SIMPLE"] = value
		check("")
	}
	u.env["CLAUDE_CODE_SIMPLE"] = "1"
	check("CLAUDE_CODE_SIMPLE")
	u.env["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] = "TRUE"
	check("CLAUDE_CODE_DISABLE_AUTO_MEMORY")
}
