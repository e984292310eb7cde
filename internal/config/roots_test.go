package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

func somePaths(tb testing.TB) config.Paths {
	tb.Helper()
	p, err := config.FindPaths(env(map[string]string{"HOME": tb.TempDir()}))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func repo(t *testing.T, name string) api.Repo {
	t.Helper()
	r, err := api.ParseRepo(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var compareRepos = cmpopts.EquateComparable(api.Repo{})

func TestRootsComeBack(t *testing.T) {
	p := somePaths(t)
	if roots, err := config.LoadRoots(p); err != nil || len(roots) != 0 {
		t.Fatalf("with none registered: %v, %v", roots, err)
	}
	full := config.Root{
		Path: "/src/api", Dir: `/teams/a "quoted" \ dir	with tab/é`, Repo: repo(t, "git.example.com/group/sub/api"),
		Server: "https://Memory.Example/", TokenFile: "/run/token",
	}
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: the paths of this test are those of Unix")
	}
	added, err := config.AddRoot(p, full)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(added.ID, "git.example.com-group-sub-api-") {
		t.Errorf("id %q", added.ID)
	}
	bare, err := config.AddRoot(p, config.Root{Dir: "/teams/b", Repo: repo(t, "acme/api"), Server: "http://127.0.0.1:8787"})
	if err != nil {
		t.Fatal(err)
	}
	full.ID, full.Server = added.ID, "https://memory.example"
	roots, err := config.LoadRoots(p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]config.Root{bare, full}, roots, compareRepos); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	bare.Server, bare.Path = "https://other.example", "/src/b"
	if err := config.UpdateRoot(p, bare); err != nil {
		t.Fatal(err)
	}
	if err := config.RemoveRoot(p, full.ID); err != nil {
		t.Fatal(err)
	}
	if err := config.RemoveRoot(p, full.ID); err != nil {
		t.Errorf("removing twice: %v", err)
	}
	roots, err = config.LoadRoots(p)
	if diff := cmp.Diff([]config.Root{bare}, roots, compareRepos); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	full.ID = "absent"
	if err := config.UpdateRoot(p, full); !errors.Is(err, api.ErrUsage) {
		t.Errorf("updating what is not there: %v", err)
	}
	for _, id := range []string{"", "../config", ".lock", "a/b"} {
		if err := config.RemoveRoot(p, id); !errors.Is(err, api.ErrUsage) {
			t.Errorf("removing %q: %v", id, err)
		}
	}
}

func TestAnyPathComesBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := somePaths(t)
		dir := filepath.Join(t.TempDir(), rapid.StringMatching(`[^/\\\x00]{1,20}`).Draw(rt, "dir"))
		added, err := config.AddRoot(p, config.Root{Dir: dir, Repo: repo(t, "acme/api"), Server: "http://a"})
		if err != nil {
			rt.Fatalf("%q: %v", dir, err)
		}
		roots, err := config.LoadRoots(p)
		if err != nil || len(roots) != 1 || roots[0] != added || added.Dir != filepath.Clean(dir) {
			rt.Fatalf("%q: got %v, %v", dir, roots, err)
		}
	})
}

func TestOneDirectoryOneRoot(t *testing.T) {
	p := somePaths(t)
	base := t.TempDir()
	dir := filepath.Join(base, "memory", "team")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	link := func(target, name string) string {
		path := filepath.Join(base, name)
		if err := os.Symlink(target, path); err != nil {
			t.Skip("SKIP: no symbolic links here")
		}
		return path
	}
	first := config.Root{Dir: dir, Repo: repo(t, "acme/api"), Server: "http://a"}
	holder, err := config.AddRoot(p, first)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		dir    string
		nested bool
	}{
		"the same":                     {dir, false},
		"uncleaned":                    {dir + "/../team/.", false},
		"a link to it":                 {link(dir, "direct"), false},
		"a link above it":              {filepath.Join(link(filepath.Dir(dir), "above"), "team"), false},
		"inside it":                    {filepath.Join(dir, "sub", "deeper"), true},
		"around it":                    {base, true},
		"inside, through a link":       {filepath.Join(base, "direct", "sub"), true},
		"around, through a link":       {link(base, "whole"), true},
		"through a link, not yet here": {filepath.Join(base, "whole", "memory", "team", "x"), true},
	} {
		_, err := config.AddRoot(p, config.Root{Dir: tt.dir, Repo: repo(t, "acme/other"), Server: "http://a"})
		var taken *config.TakenError
		if !errors.As(err, &taken) || !errors.Is(err, config.ErrRootTaken) || !errors.Is(err, api.ErrUsage) {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		if taken.Holder != holder || taken.Nested != tt.nested || !strings.Contains(err.Error(), "acme/api") {
			t.Errorf("%s: got %+v: %v", name, taken, err)
		}
	}
	for _, free := range []string{dir + "-evil", filepath.Join(base, "memory", "tea"), filepath.Join(base, "elsewhere")} {
		if _, err := config.AddRoot(p, config.Root{Dir: free, Repo: repo(t, "acme/api"), Server: "http://a"}); err != nil {
			t.Errorf("%s: %v", free, err)
		}
	}
	holder.Dir = filepath.Join(base, "elsewhere")
	if err := config.UpdateRoot(p, holder); !errors.Is(err, config.ErrRootTaken) {
		t.Errorf("moving onto another: %v", err)
	}
}

func TestOneDirectoryNotYetThere(t *testing.T) {
	p := somePaths(t)
	dir := filepath.Join(t.TempDir(), "not", "yet")
	root := config.Root{Dir: dir, Repo: repo(t, "acme/api"), Server: "http://a"}
	if _, err := config.AddRoot(p, root); err != nil {
		t.Fatal(err)
	}
	if _, err := config.AddRoot(p, root); !errors.Is(err, config.ErrRootTaken) {
		t.Errorf("got %v", err)
	}
}

func TestAddingAtOnce(t *testing.T) {
	p := somePaths(t)
	shared := filepath.Join(t.TempDir(), "team")
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			dir := shared
			if i%2 == 1 {
				dir = fmt.Sprintf("%s-%d", shared, i)
			}
			_, errs[i] = config.AddRoot(p, config.Root{Dir: dir, Repo: repo(t, "acme/api"), Server: "http://a"})
		})
	}
	wg.Wait()
	taken := 0
	for i, err := range errs {
		switch {
		case errors.Is(err, config.ErrRootTaken) && i%2 == 0:
			taken++
		case err != nil:
			t.Errorf("%d: %v", i, err)
		}
	}
	roots, err := config.LoadRoots(p)
	if err != nil || len(roots) != 9 || taken != 7 {
		t.Errorf("%d roots, %d refused, %v; want 9, 7", len(roots), taken, err)
	}
}

func TestBrokenRootFilesDoNotHideOthers(t *testing.T) {
	p := somePaths(t)
	good, err := config.AddRoot(p, config.Root{Dir: filepath.Join(t.TempDir(), "team"), Repo: repo(t, "acme/api"), Server: "http://a"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(p.RootsDir(), "bad1.toml"), "dir = \"relative\"\nrepo = \"one\"\nserver = \"x\"\nwhat = 1\n")
	write(t, filepath.Join(p.RootsDir(), "bad2.toml"), "dir = \"relative\"\nrepo = \"one\"\nserver = \"x\"\ntoken_file = \"y\"\n")
	write(t, filepath.Join(p.RootsDir(), "notes.txt"), "not ours")
	roots, err := config.LoadRoots(p)
	if len(roots) != 1 || roots[0] != good || !errors.Is(err, api.ErrConfig) {
		t.Fatalf("got %v, %v", roots, err)
	}
	for _, want := range []string{"bad1.toml:4: unknown key", "bad2.toml:2: repo: ", "line 1: dir: ", "line 3: server: ", "line 4: token_file: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	// Nothing is added beside a file that may hold the same directory.
	if _, err := config.AddRoot(p, config.Root{Dir: "/x", Repo: repo(t, "acme/api"), Server: "http://a"}); !errors.Is(err, api.ErrConfig) {
		t.Errorf("adding: %v", err)
	}
}

func TestRootsThatCannotBeStored(t *testing.T) {
	p := somePaths(t)
	for _, root := range []config.Root{
		{},
		{Dir: "relative", Repo: repo(t, "acme/api"), Server: "http://a"},
		{Dir: "/x", Server: "http://a"},
		{Dir: "/x", Repo: repo(t, "acme/api"), Server: "a"},
		{Dir: "/x\xff", Repo: repo(t, "acme/api"), Server: "http://a"},
		{Dir: "/x", Path: "y", Repo: repo(t, "acme/api"), Server: "http://a"},
	} {
		if _, err := config.AddRoot(p, root); !errors.Is(err, api.ErrConfig) {
			t.Errorf("%+v: got %v", root, err)
		}
	}
	if roots, err := config.LoadRoots(p); err != nil || len(roots) != 0 {
		t.Errorf("left behind: %v, %v", roots, err)
	}
}

func TestRootFor(t *testing.T) {
	base := t.TempDir()
	at := func(rel string) string { return filepath.Join(base, filepath.FromSlash(rel)) }
	roots := []config.Root{
		{ID: "outer", Path: at("src"), Dir: at("teams/outer")},
		{ID: "inner", Path: at("src/inner"), Dir: at("teams/inner")},
		{ID: "dir", Dir: at("teams/dir")},
	}
	if err := os.MkdirAll(at("src/inner/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"src": "outer", "src/x/y": "outer", "src/inner": "inner", "src/inner/deep": "inner", "src/inner2": "outer",
		"teams/dir/a.md": "dir", "teams/inner": "inner", "teams": "", "srcs": "",
	} {
		got, ok := config.RootFor(roots, at(path))
		if got.ID != want || ok != (want != "") {
			t.Errorf("%s: got %q", path, got.ID)
		}
	}
	if err := os.Symlink(at("src/inner"), at("link")); err == nil {
		if got, _ := config.RootFor(roots, at("link/deep")); got.ID != "inner" {
			t.Errorf("through a link: got %q", got.ID)
		}
	}
}
