package gitrepo_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/internal/gitrepo"
)

// staged returns what the next commit in rel would have, by path.
func (m *machine) staged(rel string) map[string]string {
	m.t.Helper()
	finder := gitrepo.Finder{Getenv: func(name string) string { return m.env[name] }}
	files, err := finder.Staged(m.path(rel), 100, func(path string) bool { return strings.HasSuffix(path, ".md") })
	if err != nil {
		m.t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range files {
		if f.Err != nil {
			m.t.Errorf("%s: %v", f.Path, f.Err)
		}
		found[f.Path] = f.Content
	}
	return found
}

func (m *machine) wantStaged(when, rel string, want map[string]string) {
	m.t.Helper()
	if diff := cmp.Diff(want, m.staged(rel)); diff != "" {
		m.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

func TestStaged(t *testing.T) {
	m := newMachine(t)
	m.write("co/x", "")
	m.git("co", "init", "-q")
	m.wantStaged("before anything was added", "co", map[string]string{})
	m.write("co/a.md", "one\n")
	m.write("co/deep/er/b.md", "two\n")
	m.write("co/c.go", "package c\n")
	m.git("co", "add", ".")
	m.write("co/a.md", "changed after it was added\n")
	m.wantStaged("before the first commit", "co", map[string]string{"a.md": "one\n", "deep/er/b.md": "two\n"})
	m.git("co", "commit", "-qm", "one")
	m.wantStaged("after it", "co", map[string]string{})

	m.git("co", "add", "a.md")
	m.write("co/deep/er/new.md", strings.Repeat("x", 1000))
	m.git("co", "add", "deep")
	m.git("co", "rm", "-q", "deep/er/b.md")
	m.wantStaged("changes, seen from below", "co/deep/er", map[string]string{"a.md": "changed after it was added\n", "deep/er/new.md": strings.Repeat("x", 100)})

	// Another index, as git tells its hooks of in a commit of single files.
	index, err := os.ReadFile(m.path("co/.git/index"))
	if err != nil {
		t.Fatal(err)
	}
	m.write("co/.git/other", string(index))
	m.git("co", "reset", "-q")
	m.wantStaged("after a reset", "co", map[string]string{})
	m.env["GIT_INDEX_FILE"] = ".git/other"
	if got := m.staged("co"); len(got) != 2 {
		t.Errorf("the index that git names: %v", got)
	}
	delete(m.env, "GIT_INDEX_FILE")
}

// TestStagedElsewhere: packed objects, a linked worktree, a clone that borrows
// objects, a directory that became a file.
func TestStagedElsewhere(t *testing.T) {
	m := newMachine(t)
	m.write("co/notes.md/x.md", "one\n")
	m.write("co/b.md", "two\n")
	m.git("co", "init", "-q")
	m.git("co", "add", ".")
	m.git("co", "commit", "-qm", "one")
	m.git("co", "gc", "-q")
	m.git("co", "worktree", "add", "-q", "../linked")
	m.git("", "clone", "-q", "--shared", "co", "shared")
	for _, rel := range []string{"co", "linked", "shared"} {
		m.wantStaged(rel+" as it was cloned", rel, map[string]string{})
		m.git(rel, "rm", "-q", "-r", "notes.md", "b.md")
		m.write(rel+"/notes.md", "a file now\n")
		m.write(rel+"/b.md/y.md", "a directory now\n")
		m.git(rel, "add", ".")
		m.wantStaged(rel, rel, map[string]string{"notes.md": "a file now\n", "b.md/y.md": "a directory now\n"})
	}
}

func TestStagedRefuses(t *testing.T) {
	m := newMachine(t)
	m.write("plain/a.md", "text")
	finder := gitrepo.Finder{Getenv: func(name string) string { return m.env[name] }}
	if _, err := finder.Staged(m.path("plain"), 100, func(string) bool { return true }); !errors.Is(err, gitrepo.ErrNoRepository) {
		t.Errorf("outside of a repository: %v", err)
	}
	m.write("co/a.md", "text")
	m.git("co", "init", "-q")
	m.git("co", "add", ".")
	m.write("co/.git/index", "no index")
	if _, err := finder.Staged(m.path("co"), 100, func(string) bool { return true }); err == nil {
		t.Error("a damaged index was read")
	}
}
