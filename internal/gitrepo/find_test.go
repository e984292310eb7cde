package gitrepo_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/gitrepo"
)

// machine is a home directory with its own git, cut off from the real one.
type machine struct {
	t    *testing.T
	home string
	env  map[string]string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIP: git is not installed")
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, home: home, env: map[string]string{"HOME": home}}
	m.write(".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.com\n[protocol \"file\"]\n\tallow = always\n[init]\n\tdefaultBranch = main\n")
	return m
}

func (m *machine) path(rel string) string { return filepath.Join(m.home, filepath.FromSlash(rel)) }

func (m *machine) write(rel, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.path(rel)), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.path(rel), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// git runs the real git in directory rel.
func (m *machine) git(rel string, args ...string) {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), "git", args...)
	cmd.Dir = m.path(rel)
	cmd.Env = []string{
		"HOME=" + m.home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_GLOBAL=" + m.path(".gitconfig"),
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// repo makes a repository with one commit and, unless url is empty, an origin.
func (m *machine) repo(rel, url string) {
	m.t.Helper()
	m.git("", "init", "-q", rel)
	m.git(rel, "commit", "-q", "--allow-empty", "-m", "first")
	if url != "" {
		m.git(rel, "remote", "add", "origin", url)
	}
}

func (m *machine) finder() gitrepo.Finder {
	return gitrepo.Finder{Getenv: func(name string) string { return m.env[name] }}
}

func (m *machine) find(rel string) gitrepo.Info {
	m.t.Helper()
	info, err := m.finder().Find(m.path(rel))
	if err != nil {
		m.t.Fatalf("find %s: %v", rel, err)
	}
	return info
}

func TestFindInsideACheckout(t *testing.T) {
	m := newMachine(t)
	m.repo("api", "git@github.com:Acme/API.git")
	m.write("api/deep/er/file.go", "package er\n")
	for _, rel := range []string{"api", "api/deep/er", "api/deep/er/file.go", "api/.git", "api/.git/refs"} {
		info := m.find(rel)
		if info.Repo.String() != "acme/api" || info.Root != m.path("api") || info.CanonicalRoot != m.path("api") {
			t.Errorf("%s: got %q in %s (%s)", rel, info.Repo, info.Root, info.CanonicalRoot)
		}
		if info.RemoteName != "origin" || info.Remote != "ssh://github.com/Acme/API.git" || info.Local {
			t.Errorf("%s: got remote %q %q local %v", rel, info.RemoteName, info.Remote, info.Local)
		}
	}
}

func TestFindThroughALink(t *testing.T) {
	m := newMachine(t)
	m.repo("api", "https://github.com/acme/api")
	if err := os.Symlink(m.path("api"), m.path("link")); err != nil {
		t.Skip("SKIP: no symbolic links here")
	}
	if got := m.find("link").Root; got != m.path("api") {
		t.Errorf("root through a link is %s, want %s", got, m.path("api"))
	}
}

func TestFindWorktrees(t *testing.T) {
	m := newMachine(t)
	m.repo("api", "https://github.com/acme/api")
	m.git("api", "worktree", "add", "-q", "../feature")
	m.git("api", "worktree", "add", "-q", "inner/tree")
	for _, rel := range []string{"feature", "api/inner/tree"} {
		info := m.find(rel)
		if info.Root != m.path(rel) || info.CanonicalRoot != m.path("api") || info.Repo.String() != "acme/api" {
			t.Errorf("%s: got %+v", rel, info)
		}
	}
}

func TestFindWorktreeOfABareRepository(t *testing.T) {
	m := newMachine(t)
	m.repo("seed", "")
	m.git("", "clone", "-q", "--bare", m.path("seed"), "api.git")
	m.git("api.git", "remote", "set-url", "origin", "https://github.com/acme/api")
	m.git("api.git", "worktree", "add", "-q", "../tree")
	info := m.find("tree")
	if info.Root != m.path("tree") || info.CanonicalRoot != m.path("api.git") || info.Repo.String() != "acme/api" {
		t.Errorf("got %+v", info)
	}
	info = m.find("api.git")
	if info.Root != m.path("api.git") || info.CanonicalRoot != m.path("api.git") || info.Repo.String() != "acme/api" {
		t.Errorf("the bare repository itself: got %+v", info)
	}
}

func TestFindRefusesAWorktreeThatClaimsAnother(t *testing.T) {
	m := newMachine(t)
	m.repo("victim", "https://github.com/acme/victim")
	m.git("victim", "worktree", "add", "-q", "../tree")
	m.write("evil/.git", "gitdir: "+m.path("victim/.git/worktrees/tree")+"\n")
	if info := m.find("evil"); info.CanonicalRoot != m.path("evil") {
		t.Errorf("a stray .git file took %s for its main checkout", info.CanonicalRoot)
	}
}

func TestFindSubmodule(t *testing.T) {
	m := newMachine(t)
	m.repo("lib", "")
	m.repo("api", "https://github.com/acme/api")
	m.git("api", "-c", "protocol.file.allow=always", "submodule", "add", "-q", m.path("lib"), "third/lib")
	m.git("api/third/lib", "remote", "set-url", "origin", "https://gitlab.com/acme/group/lib.git")
	info := m.find("api/third/lib")
	if info.Root != m.path("api/third/lib") || info.CanonicalRoot != info.Root || info.Repo.String() != "gitlab.com/acme/group/lib" {
		t.Errorf("got %+v", info)
	}
	m.git("api/third/lib", "worktree", "add", "-q", m.path("libtree"))
	info = m.find("libtree")
	if info.CanonicalRoot != m.path("api/third/lib") || info.Repo.String() != "gitlab.com/acme/group/lib" {
		t.Errorf("a worktree of the submodule: got %+v", info)
	}
}

func TestFindOddRepositories(t *testing.T) {
	const url = "https://github.com/acme/api"
	tests := []struct {
		name string
		make func(m *machine)
	}{
		{"detached head", func(m *machine) {
			m.repo("api", url)
			m.git("api", "checkout", "-q", "--detach")
		}},
		{"unborn branch", func(m *machine) {
			m.git("", "init", "-q", "api")
			m.git("api", "remote", "add", "origin", url)
		}},
		{"sha256 objects", func(m *machine) {
			m.git("", "init", "-q", "--object-format=sha256", "api")
			m.git("api", "remote", "add", "origin", url)
		}},
		{"separate git dir", func(m *machine) {
			m.git("", "init", "-q", "--separate-git-dir", m.path("elsewhere"), "api")
			m.git("api", "remote", "add", "origin", url)
		}},
		{"worktree configuration", func(m *machine) {
			m.repo("api", "https://github.com/acme/other")
			m.git("api", "config", "extensions.worktreeConfig", "true")
			m.write("api/.git/config.worktree", "[remote \"origin\"]\n\turl =\n\turl = "+url+"\n")
		}},
		{"unknown extension", func(m *machine) {
			m.repo("api", url)
			m.git("api", "config", "core.repositoryFormatVersion", "1")
			m.git("api", "config", "extensions.relativeWorktrees", "true")
		}},
		{"a section that cannot be read", func(m *machine) {
			m.repo("api", url)
			text, err := os.ReadFile(m.path("api/.git/config"))
			if err != nil {
				m.t.Fatal(err)
			}
			m.write("api/.git/config", "\xef\xbb\xbf[alias.old]\n\tx = \\q\n"+string(text)+"[broken\n")
		}},
		{"the only remote", func(m *machine) {
			m.repo("api", "")
			m.git("api", "remote", "add", "upstream", url)
		}},
		{"the branch's remote", func(m *machine) {
			m.repo("api", "")
			m.git("api", "remote", "add", "zeta", url)
			m.git("api", "remote", "add", "alpha", "https://github.com/acme/fork")
			m.git("api", "config", "branch.main.remote", "zeta")
		}},
		{"the preferred remote", func(m *machine) {
			m.repo("api", "")
			m.git("api", "remote", "add", "zeta", url)
			m.git("api", "remote", "add", "alpha", "https://github.com/acme/fork")
			m.git("api", "config", "checkout.defaultRemote", "zeta")
		}},
		{"a push URL alone", func(m *machine) {
			m.repo("api", "")
			m.git("api", "config", "remote.origin.pushurl", url)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			tt.make(m)
			if info := m.find("api"); info.Repo.String() != "acme/api" || info.CanonicalRoot != m.path("api") {
				t.Errorf("got %+v", info)
			}
		})
	}
}

func TestFindRefusals(t *testing.T) {
	tests := []struct {
		name string
		make func(m *machine)
		want error
		text string
	}{
		{"no repository", func(m *machine) { m.write("api/readme", "") }, gitrepo.ErrNoRepository, "no git repository at "},
		{"no remote", func(m *machine) { m.repo("api", "") }, gitrepo.ErrNoRemote, "has no remote"},
		{"several remotes", func(m *machine) {
			m.repo("api", "")
			m.git("api", "remote", "add", "a", "https://github.com/acme/a")
			m.git("api", "remote", "add", "b", "https://github.com/acme/b")
		}, gitrepo.ErrNoRemote, "2 remotes and none is called origin"},
		{"a transport helper", func(m *machine) { m.repo("api", "codecommit::eu-west-1://api") }, gitrepo.ErrUnknownRemote, "helper"},
		{"a git directory without objects", func(m *machine) { m.write("api/.git/HEAD", "ref: refs/heads/main\n") }, gitrepo.ErrNoRepository, "no git"},
		{"a .git file that leads nowhere", func(m *machine) { m.write("api/.git", "gitdir: /nowhere/at/all\n") }, gitrepo.ErrNoRepository, "no git"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			tt.make(m)
			_, err := m.finder().Find(m.path("api"))
			if !errors.Is(err, tt.want) || !errors.Is(err, api.ErrUsage) || !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("got %v", err)
			}
			var hinted interface{ Hint() string }
			if !errors.As(err, &hinted) || hinted.Hint() == "" {
				t.Error("the error has no hint")
			}
		})
	}
	t.Run("no such path", func(t *testing.T) {
		m := newMachine(t)
		if _, err := m.finder().Find(m.path("absent")); !errors.Is(err, api.ErrUsage) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
}

func TestFindNeverShowsCredentials(t *testing.T) {
	secret := strings.Join([]string{"ghp", "AbCdEf0123456789"}, "_")
	for _, url := range []string{
		"https://ada:" + secret + "@github.com/acme/api.git",
		"https://" + secret + "@github.com/acme/api",
		"https://github.com/acme/api?private_token=" + secret,
		"https://github.com/acme/api#" + secret,
		"https://ada:" + secret + "@github.com/only-owner",
		"https://ada:" + secret + "@/acme/api",
		"https://ada:" + secret + "@github.com/acme/a%zz",
		"foo::https://ada:" + secret + "@github.com/acme/api",
		"ssh://ada:" + secret + "@host.example/a/b",
		"weird://ada:" + secret + "@host.example/a/b",
	} {
		m := newMachine(t)
		m.repo("api", url)
		info, err := m.finder().Find(m.path("api"))
		text := info.Remote + info.Repo.String()
		if err != nil {
			var hinted interface{ Hint() string }
			errors.As(err, &hinted)
			text += err.Error() + hinted.Hint()
		}
		if strings.Contains(strings.ToLower(text), strings.ToLower(secret)) {
			t.Errorf("the credentials of the URL show in %q", strings.ReplaceAll(text, secret, "<secret>"))
		}
	}
}

func TestFindFollowsLocalOrigins(t *testing.T) {
	m := newMachine(t)
	m.repo("first", "git@gitlab.example.com:group/sub/api.git")
	m.git("", "clone", "-q", m.path("first"), "second")
	m.git("", "clone", "-q", "file://"+m.path("second"), "third")
	for _, rel := range []string{"second", "third"} {
		if info := m.find(rel); info.Repo.String() != "gitlab.example.com/group/sub/api" || info.Local {
			t.Errorf("%s: got %+v", rel, info)
		}
	}
}

func TestFindNamesLocalRepositories(t *testing.T) {
	m := newMachine(t)
	m.git("", "init", "-q", "--bare", "My Api.git")
	m.repo("work", m.path("My Api.git"))
	m.repo("gone", "/nowhere/Old.git/")
	m.repo("relative", "../My Api")
	m.repo("loop", m.path("loop"))
	for rel, want := range map[string]string{
		"work": "local/my+api", "gone": "local/old", "relative": "local/my+api", "loop": "local/loop",
	} {
		info := m.find(rel)
		if info.Repo.String() != want || !info.Local {
			t.Errorf("%s: got %q local %v, want %q", rel, info.Repo, info.Local, want)
		}
	}
}

func TestFindRewrites(t *testing.T) {
	tests := []struct {
		name, url, config, want string
	}{
		{"insteadOf", "gh:acme/api", `[url "git@github.com:"]` + "\n\tinsteadOf = gh:\n", "acme/api"},
		{"longest match", "work:acme/api", `[url "https://a.example/"]` + "\n\tinsteadOf = work:\n" + `[url "https://github.com/acme/"]` + "\n\tinsteadOf = work:acme/\n", "acme/api"},
		{"several values", "gh:acme/api", `[url "https://github.com/"]` + "\n\tinsteadOf = x:\n\tinsteadOf = gh:\n", "acme/api"},
		{"pushInsteadOf for an alias", "gh:acme/api", `[url "https://github.com/"]` + "\n\tpushInsteadOf = gh:\n", "acme/api"},
		{"pushInsteadOf moves no real URL", "https://github.com/acme/api", `[url "https://b.example/"]` + "\n\tpushInsteadOf = https://github.com/\n", "acme/api"},
		{"include", "gh:acme/api", "[include]\n\tpath = extra.inc\n", "acme/api"},
		{"include from home", "gh:acme/api", "[include]\n\tpath = ~/extra.inc\n", "acme/api"},
		{"includeIf gitdir", "gh:acme/api", "[includeIf \"gitdir:~/api/\"]\n\tpath = extra.inc\n", "acme/api"},
		{"includeIf gitdir, relative and folded", "gh:acme/api", "[includeIf \"gitdir/i:API/\"]\n\tpath = extra.inc\n", "acme/api"},
		{"includeIf onbranch", "gh:acme/api", "[includeIf \"onbranch:m*n\"]\n\tpath = extra.inc\n", "acme/api"},
		{"includeIf for others", "gh:acme/api", "[includeIf \"gitdir:~/elsewhere/\"]\n\tpath = extra.inc\n", "gh/acme/api"},
		{"an include of itself", "https://github.com/acme/api", "[include]\n\tpath = .gitconfig\n", "acme/api"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.repo("api", tt.url)
			m.write("extra.inc", "[url \"https://github.com/\"]\n\tinsteadOf = gh:\n")
			m.write(".gitconfig", tt.config)
			if got := m.find("api").Repo.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFindReadsGitsEnvironment(t *testing.T) {
	rule := "[url \"https://github.com/\"]\n\tinsteadOf = gh:\n"
	tests := []struct {
		name string
		env  map[string]string
	}{
		{"GIT_CONFIG_SYSTEM", map[string]string{"GIT_CONFIG_SYSTEM": "rule"}},
		{"GIT_CONFIG_GLOBAL", map[string]string{"GIT_CONFIG_GLOBAL": "rule"}},
		{"XDG_CONFIG_HOME", map[string]string{"XDG_CONFIG_HOME": "xdg"}},
		{"GIT_CONFIG_COUNT", map[string]string{
			"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "url.https://github.com/.insteadOf", "GIT_CONFIG_VALUE_0": "gh:",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.repo("api", "gh:acme/api")
			m.write("rule", rule)
			m.write("xdg/git/config", rule)
			for name, value := range tt.env {
				if value == "rule" || value == "xdg" {
					value = m.path(value)
				}
				m.env[name] = value
			}
			if got := m.find("api").Repo.String(); got != "acme/api" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestFindResolvesSSHAliases(t *testing.T) {
	m := newMachine(t)
	m.write(".ssh/config", strings.Join([]string{
		"# accounts",
		"Include conf.d/*",
		"Host github.com-work \"gh-?\" !gh-x",
		"  HostName ssh.github.com",
		"Host=corp",
		"  HostName=git.corp.example",
		"Host real.example",
		"  HostName inner.example",
		"Host nas",
		"  HostName 192.0.2.7",
		"Match exec true",
		"  HostName never.example",
	}, "\n"))
	m.write(".ssh/conf.d/lab", "Host lab\n\tHostName gitlab.com\n")
	for url, want := range map[string]string{
		"git@github.com-work:acme/api.git": "acme/api",
		"git@gh-1:acme/api.git":            "acme/api",
		"git@gh-x:acme/api.git":            "gh-x/acme/api",
		"ssh://git@corp:2222/acme/api":     "git.corp.example/acme/api",
		"git@real.example:acme/api":        "real.example/acme/api",
		"git@nas:acme/api":                 "nas/acme/api",
		"git@lab:acme/api":                 "gitlab.com/acme/api",
		"https://corp/acme/api":            "corp/acme/api",
		"git@other:acme/api":               "other/acme/api",
	} {
		dir := strings.Map(func(r rune) rune {
			if strings.ContainsRune("/:@?", r) {
				return '-'
			}
			return r
		}, url)
		m.repo(dir, url)
		if got := m.find(dir).Repo.String(); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	dir := b.TempDir()
	skeleton(b, dir, "git@github.com:acme/api.git")
	for b.Loop() {
		if _, err := gitrepo.Find(dir); err != nil {
			b.Fatal(err)
		}
	}
}
