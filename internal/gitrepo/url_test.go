package gitrepo_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"pgregory.net/rapid"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/gitrepo"
)

func TestFromURL(t *testing.T) {
	tests := map[string][]string{
		"acme/api": {
			"git@github.com:acme/api.git",
			"git@github.com:acme/api",
			"git@github.com:/acme/api.git/",
			"github.com:acme/api.git",
			"org-1234@github.com:Acme/API.git",
			"git@GitHub.com:acme/api.git",
			"git@github.com:22:acme/api.git",
			"git@[github.com]:acme/api",
			"git@[github.com:22]:acme/api",
			"ssh://git@github.com/acme/api.git",
			"ssh://git@github.com:22/acme/api.git",
			"ssh://git@github.com:acme/api.git",
			"ssh://git@ssh.github.com:443/acme/api.git",
			"git@ssh.github.com:acme/api.git",
			"SSH://git@github.com/acme/api",
			"git+ssh://git@github.com/acme/api",
			"ssh+git://git@github.com/acme/api",
			"git://github.com/acme/api.git",
			"http://github.com/acme/api",
			"https://github.com/acme/api",
			"https://github.com/acme/api/",
			"https://github.com/acme/api.git",
			"https://github.com/acme/api.git/",
			"https://github.com/acme/api.git//",
			"https://github.com//acme//api.git",
			"https://www.github.com/acme/api",
			"https://github.com./acme/api",
			"https://github.com:443/acme/api",
			"https://ada@github.com/acme/api",
			"https://ada:pw@github.com/acme/api.git",
			"https://ada:p@w@github.com/acme/api.git",
			"https://github.com/acme/api?x=1",
			"https://github.com/acme/api.git#readme",
			"HTTPS://GITHUB.COM/ACME/API",
			"  https://github.com/acme/api  ",
			"https://github.com/acme/%61pi",
		},
		"acme/api.js":                                         {"https://github.com/acme/api.js.git", "git@github.com:acme/api.js"},
		"gitlab.com/group/sub/deep/api":                       {"git@gitlab.com:group/sub/deep/api.git", "https://gitlab.com/group/sub/deep/api", "ssh://git@altssh.gitlab.com:443/group/sub/deep/api.git"},
		"git.example.com/a/b":                                 {"ssh://git@git.example.com:2222/a/b.git", "https://user:tok@git.example.com/a/b.git/", "https://git.example.com:8443/a/b", "git.example.com:a/b", "git@git.example.com:/a/b.git"},
		"git.example.com/api":                                 {"https://git.example.com/api.git", "git@git.example.com:api"},
		"nas/~/api":                                           {"ssh://nas/api.git", "nas:api"},
		"nas/srv/git/api":                                     {"ssh://nas/srv/git/api.git", "nas:srv/git/api.git", "nas:/srv/git/api"},
		"git.sr.ht/~ada/api":                                  {"https://git.sr.ht/~ada/api", "git@git.sr.ht:~ada/api"},
		"host.example/~ada/api":                               {"ssh://host.example/~ada/api.git", "ada@host.example:~/api.git", "ssh://ada@host.example/~/api"},
		"bitbucket.org/team/api":                              {"git@bitbucket.org:team/api.git", "https://ada@bitbucket.org/team/api.git", "ssh://git@altssh.bitbucket.org:443/team/api.git"},
		"code.example.com/proj/api":                           {"https://code.example.com/scm/PROJ/api.git", "ssh://git@code.example.com:7999/proj/api.git", "https://code.example.com/bitbucket/scm/proj/api.git"},
		"code.example.com/~ada/api":                           {"https://code.example.com/scm/~ada/api.git", "ssh://git@code.example.com:7999/~ada/api.git"},
		"gitlab.com/scm/team/api":                             {"https://gitlab.com/scm/team/api"},
		"dev.azure.com/org/project/api":                       {"https://dev.azure.com/org/project/_git/api", "https://org@dev.azure.com/org/project/_git/api", "git@ssh.dev.azure.com:v3/org/project/api", "https://org.visualstudio.com/project/_git/api", "https://org.visualstudio.com/DefaultCollection/project/_git/api", "org@vs-ssh.visualstudio.com:v3/org/project/api", "ssh://org@vs-ssh.visualstudio.com:22/project/_ssh/api", "https://dev.azure.com/org/project/_git/_full/api"},
		"dev.azure.com/org/my+project/api":                    {"https://dev.azure.com/org/My%20Project/_git/api", "git@ssh.dev.azure.com:v3/org/My%20Project/api"},
		"dev.azure.com/org/api/api":                           {"https://dev.azure.com/org/_git/api", "https://org.visualstudio.com/_git/api", "git@ssh.dev.azure.com:v3/org/api/api"},
		"tfs.example.com/tfs/coll/proj/api":                   {"https://tfs.example.com:8080/tfs/Coll/Proj/_git/Api", "ssh://tfs.example.com:22/tfs/Coll/Proj/_git/Api"},
		"192.0.2.1/a/b":                                       {"git@192.0.2.1:a/b", "http://192.0.2.1:3000/a/b.git"},
		"2001:db8::1/a/b":                                     {"ssh://git@[2001:db8::1]:22/a/b.git", "git@[2001:db8::1]:a/b.git", "https://[2001:DB8::1]/a/b"},
		"localhost/a/b":                                       {"http://localhost:3000/a/b.git"},
		"git-codecommit.eu-west-1.amazonaws.com/v1/repos/api": {"https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/api", "ssh://KEY@git-codecommit.eu-west-1.amazonaws.com/v1/repos/api"},
		"gist.github.com/0a1b2c":                              {"https://gist.github.com/0a1b2c.git", "git@gist.github.com:0a1b2c.git"},
	}
	for want, urls := range tests {
		for _, url := range urls {
			repo, err := gitrepo.FromURL(url)
			if err != nil || repo.String() != want {
				t.Errorf("%q: got %q, %v; want %q", url, repo, err, want)
			}
		}
	}
}

func TestFromURLRefuses(t *testing.T) {
	for _, url := range []string{
		"", " ", "foo::bar", "ext::sh -c true", "codecommit::eu-west-1://api", "transport::https://github.com/acme/api",
		"https://", "https:///acme/api", "https://github.com", "https://github.com/", "https://github.com/acme",
		"https://github.com/acme/api/tree/main", "git@github.com:api", "weird://host/a/b", "9p://host/a/b",
		"https://host.example/a/../b", "https://host.example/a/%2e%2e/b", "https://host.example/a%2fb/c", "https://host.example/a%00/b",
		"https://host.example/a/b%zz", "https://host.example/a/b\x00c", "https://host.example/a/b\nc", "https://host.example/a/<b>",
		"https://host.example/", "ssh://[::1/a/b", "/srv/git/api.git", "./api", "../api", "file:///srv/git/api.git", "~/api",
		"://a/b", "host.example:", ":a/b", "http://[]/a",
	} {
		repo, err := gitrepo.FromURL(url)
		if !errors.Is(err, gitrepo.ErrUnknownRemote) || !repo.IsZero() {
			t.Errorf("%q: got %q, %v", url, repo, err)
		}
	}
}

// skeleton is the least that git itself takes for a repository, with one
// origin.
func skeleton(tb testing.TB, dir, url string) {
	tb.Helper()
	for _, sub := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, ".git", sub), 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(url)
	for name, text := range map[string]string{
		"HEAD":   "ref: refs/heads/main\n",
		"config": "[remote \"origin\"]\n\turl = \"" + quoted + "\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, ".git", name), []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestLocalSpellings(t *testing.T) {
	tests := map[string]string{
		"/nowhere/api.git":             "local/api",
		"/nowhere/api.git/":            "local/api",
		"/nowhere/api/.git":            "local/api",
		"/nowhere/api.bundle":          "local/api",
		"./api.git":                    "local/api",
		"../other/api":                 "local/api",
		"~/git/api":                    "local/api",
		"file:///nowhere/api.git":      "local/api",
		"file://localhost/nowhere/api": "local/api",
		"file:///nowhere/my%20api":     "local/my+api",
		"/nowhere/with:colon/api":      "local/api",
		"/nowhere/(odd) näme.git":      "local/-odd-+näme",
	}
	if runtime.GOOS == "windows" {
		tests[`C:\git\api.git`] = "local/api"
	}
	for url, want := range tests {
		dir := t.TempDir()
		skeleton(t, dir, url)
		info, err := gitrepo.Finder{Getenv: func(string) string { return "" }}.Find(dir)
		if err != nil || info.Repo.String() != want || !info.Local {
			t.Errorf("%q: got %q local %v, %v; want %q", url, info.Repo, info.Local, err, want)
		}
	}
}

// TestFromURLAgreesWithGoGit compares with go-git's own parser where both are
// sure: the same host, and the same last segment.
func TestFromURLAgreesWithGoGit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z][a-z0-9_.-]{0,8}[a-z0-9]`)
		host := word.Draw(t, "host") + ".example.com"
		path := strings.Join(rapid.SliceOfN(word, 1, 4).Draw(t, "path"), "/")
		user := rapid.SampledFrom([]string{"", "git@", "ada@"}).Draw(t, "user")
		suffix := rapid.SampledFrom([]string{"", ".git"}).Draw(t, "suffix")
		form := rapid.SampledFrom([]string{"scp", "ssh", "https", "port"}).Draw(t, "form")
		raw := map[string]string{
			"scp": user + host + ":" + path + suffix, "ssh": "ssh://" + user + host + "/" + path + suffix,
			"https": "https://" + user + host + "/" + path + suffix, "port": "ssh://" + user + host + ":2222/" + path + suffix,
		}[form]
		repo, err := gitrepo.FromURL(raw)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		endpoint, err := transport.NewEndpoint(raw)
		if err != nil {
			t.Fatalf("go-git refuses %q: %v", raw, err)
		}
		want := endpoint.Host + "/" + strings.TrimSuffix(strings.Trim(endpoint.Path, "/"), ".git")
		if got := repo.String(); got != want && !strings.Contains(want, ".git/") && !strings.HasSuffix(want, ".git") {
			t.Errorf("%q: got %q, go-git says %q", raw, got, want)
		}
	})
}

func FuzzFromURL(f *testing.F) {
	for _, url := range []string{
		"git@github.com:acme/api.git", "ssh://git@host:2222/a/b.git", "https://user:tok@host/a/b.git/", "foo::bar",
		"git@[::1]:a", "[a:1]:b", "file:///C:/x", "https://a:b@c:d@e/f?g#h", "C:\\a", "a:b:c", "~/x", "https://h/_git/_full",
	} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		repo, err := gitrepo.FromURL(raw)
		if err != nil {
			if !errors.Is(err, gitrepo.ErrUnknownRemote) {
				t.Fatalf("got %v", err)
			}
			return
		}
		again, err := api.ParseRepo(repo.String())
		if err != nil || again != repo {
			t.Fatalf("%q became %q, which is no repo: %v", raw, repo, err)
		}
		if u, err := url.Parse(raw); err == nil && u.User != nil && strings.HasPrefix(strings.ToLower(raw), "http") {
			if pw, ok := u.User.Password(); ok && len(pw) > 8 && !strings.Contains(strings.ToLower(u.Host+u.Path), strings.ToLower(pw)) &&
				strings.Contains(repo.String(), strings.ToLower(pw)) {
				t.Fatal("the password of the URL is in the repo")
			}
		}
	})
}

func FuzzConfig(f *testing.F) {
	f.Add("[remote \"origin\"]\n\turl = git@github.com:acme/api\n")
	f.Add("[include]\n\tpath = config\n[url \"x\"]\n\tinsteadOf = \"\\\n")
	f.Add("[includeIf \"gitdir:**/[a-\"]\n\tpath=~/x\n")
	f.Add("[core]\n\tworktree\n[a \"b\\\"]\n")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		skeleton(t, dir, "x")
		if err := os.WriteFile(filepath.Join(dir, ".git", "config"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		info, err := gitrepo.Finder{Getenv: func(string) string { return "" }}.Find(dir)
		if err != nil && !errors.Is(err, api.ErrUsage) {
			t.Fatalf("got %v", err)
		}
		if err == nil && info.Repo.IsZero() {
			t.Fatal("neither a repo nor an error")
		}
	})
}
