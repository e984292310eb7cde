package export_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/export"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// told is a store whose history has what an export must get right.
type told struct {
	store.Backend
	t    *testing.T
	repo api.Repo
	n    int
}

func tell(t *testing.T) *told {
	t.Helper()
	repo, err := api.ParseRepo("acme/api")
	if err != nil {
		t.Fatal(err)
	}
	h := &told{sqlitetest.Serve(t, t.TempDir()), t, repo, 0}
	h.put("ada", "deploy.md", "on tuesdays\n", "notes/a.md", "a\n", "notes/.git/config", "no configuration\n")
	h.put("ben", "deploy.md", "the value is here\n")
	h.put("ada", "deploy.md", "on wednesdays\n", "notes/a.b.md", "between\n", "notes.md", "sorts before the folder\n")
	h.retire("carol <evil>\nname", "notes/a.md")
	h.put("ben", "leak-of-ben.md", "another value\n")
	h.change(store.Change{Redact: []api.Checksum{api.SumString("the value is here\n"), api.SumString("another value\n")}, Retire: []api.Key{h.key("leak-of-ben.md")}})
	h.put("ada", "deploy.md", "on fridays\n")
	return h
}

func (h *told) key(name string) api.Key {
	h.t.Helper()
	key, err := api.ParseKey(name)
	if err != nil {
		h.t.Fatal(err)
	}
	return key
}

func (h *told) change(c store.Change) {
	h.t.Helper()
	h.n++
	c.At = noon.Add(time.Duration(h.n) * time.Minute)
	if c.Actor == (api.Actor{}) {
		c.Actor = api.Actor{Token: "keeper"}
	}
	if _, err := h.Update(h.t.Context(), h.repo, func(store.Tx) (store.Change, error) { return c, nil }); err != nil {
		h.t.Fatal(err)
	}
}

func (h *told) put(person string, pairs ...string) {
	h.t.Helper()
	c := store.Change{Actor: api.Actor{Token: "t", Person: person, Device: "lap", Agent: "claude"}}
	for i := 0; i < len(pairs); i += 2 {
		c.Puts = append(c.Puts, store.Put{Key: h.key(pairs[i]), Content: pairs[i+1], Sum: api.SumString(pairs[i+1])})
	}
	h.change(c)
}

func (h *told) retire(person, name string) {
	h.t.Helper()
	h.change(store.Change{Actor: api.Actor{Person: person}, Retire: []api.Key{h.key(name)}})
}

// git runs git, which judges what was written.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIP: there is no git to judge the export")
	}
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestGit(t *testing.T) {
	h := tell(t)
	dir := filepath.Join(t.TempDir(), "api.git")
	sum, err := export.Git(t.Context(), h, h.repo, dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := (export.Summary{Repos: 1, Entries: 4, Versions: 5}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
	git(t, dir, "fsck", "--strict", "--full")
	log := git(t, dir, "log", "--reverse", "--format=%an|%cn|%at|%s", "main")
	at := func(n int) string { return strconv.FormatInt(noon.Add(time.Duration(n)*time.Minute).Unix(), 10) }
	want := "ada|teammemd|" + at(1) + "|put deploy.md and 2 more\n" +
		"ada|teammemd|" + at(3) + "|put deploy.md and 2 more\n" +
		"carol evil name|teammemd|" + at(4) + "|retire notes/a.md\n" +
		"keeper|teammemd|" + at(6) + "|retire leak-of-ben.md\n" +
		"ada|teammemd|" + at(7) + "|put deploy.md\n"
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, "", "clone", "-q", dir, clone)
	got := map[string]string{}
	err = fs.WalkDir(os.DirFS(clone), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if !d.IsDir() {
			raw, err := os.ReadFile(filepath.Join(clone, path))
			got[path] = string(raw)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"deploy.md": "on fridays\n", "notes/a.b.md": "between\n", "notes.md": "sorts before the folder\n", "notes/.git_/config": "no configuration\n",
	}
	if diff := cmp.Diff(files, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if old := git(t, dir, "show", "main~4:deploy.md"); old != "on tuesdays\n" {
		t.Errorf("the first version is %q", old)
	}
	message := git(t, dir, "log", "-1", "--format=%B", "main")
	for _, want := range []string{"Version: 7\n", "Token: t\n", "Device: lap\n", "Agent: claude\n"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message has no %q: %q", want, message)
		}
	}
	everything := git(t, dir, "log", "-p", "--all") + git(t, dir, "cat-file", "--batch-all-objects", "--batch")
	for _, gone := range []string{"the value is here", "another value"} {
		if strings.Contains(everything, gone) {
			t.Errorf("%q was redacted, and is exported", gone)
		}
	}
}

// TestGitIsDeterministic: two exports have one hash.
func TestGitIsDeterministic(t *testing.T) {
	h := tell(t)
	var hashes []string
	for range 2 {
		dir := filepath.Join(t.TempDir(), "api.git")
		if _, err := export.Git(t.Context(), h, h.repo, dir); err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, git(t, dir, "rev-parse", "main"))
	}
	if hashes[0] != hashes[1] {
		t.Errorf("hashes %q", hashes)
	}
}

func TestTar(t *testing.T) {
	h := tell(t)
	var one, other bytes.Buffer
	sum, err := export.Tar(t.Context(), h, []api.Repo{h.repo}, &one)
	if err != nil {
		t.Fatal(err)
	}
	if want := (export.Summary{Repos: 1, Entries: 4, Versions: 5}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
	if _, err := export.Tar(t.Context(), h, []api.Repo{h.repo}, &other); err != nil || !bytes.Equal(one.Bytes(), other.Bytes()) {
		t.Errorf("two tars of one state differ, %v", err)
	}
	files := map[string]string{}
	for r := tar.NewReader(&one); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(raw)
	}
	history := files["acme/api/history.jsonl"]
	delete(files, "acme/api/history.jsonl")
	want := map[string]string{
		"acme/api/entries/deploy.md": "on fridays\n", "acme/api/entries/notes.md": "sorts before the folder\n",
		"acme/api/entries/notes/.git/config": "no configuration\n", "acme/api/entries/notes/a.b.md": "between\n",
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	redacted, contents := 0, 0
	for line := range strings.Lines(history) {
		var l export.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Redacted {
			redacted++
			if l.Key != "" || l.Content != nil || !l.Checksum.IsZero() || l.Actor.Person != "ben" {
				t.Errorf("redacted: %s", line)
			}
		}
		if l.Content != nil {
			contents++
			if api.SumString(*l.Content) != l.Checksum {
				t.Errorf("the checksum is another's: %s", line)
			}
		}
	}
	if redacted != 2 || contents != 7 {
		t.Errorf("%d redacted, %d with a content:\n%s", redacted, contents, history)
	}
	if strings.Contains(one.String()+history, "the value is here") || strings.Contains(history, "another value") {
		t.Error("what was redacted is exported")
	}
}

// TestPruned: contents that retention took are absent, what is live is whole.
func TestPruned(t *testing.T) {
	h := tell(t)
	if _, err := h.Prune(t.Context(), h.repo, store.Retention{Keep: 1}, api.Actor{}, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "api.git")
	if _, err := export.Git(t.Context(), h, h.repo, dir); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "fsck", "--strict", "--full")
	if got := git(t, dir, "show", "main:deploy.md"); got != "on fridays\n" {
		t.Errorf("live: %q", got)
	}
	if all := git(t, dir, "log", "-p", "--all"); strings.Contains(all, "on tuesdays") {
		t.Error("what was pruned is exported")
	}
}

func TestNoSuchRepo(t *testing.T) {
	h := tell(t)
	none, err := api.ParseRepo("acme/none")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := export.Git(t.Context(), h, none, t.TempDir()); !errors.Is(err, store.ErrNoRepo) {
		t.Errorf("%v", err)
	}
	if _, err := export.Tar(t.Context(), h, []api.Repo{none}, io.Discard); !errors.Is(err, store.ErrNoRepo) {
		t.Errorf("%v", err)
	}
}
