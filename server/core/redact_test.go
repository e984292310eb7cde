package core_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

// leaked is what is to be found nowhere.
const leaked = "the phrase that leaked"

// redacting is a core over a store whose files can be looked at.
func redacting(t *testing.T) (c *core.Core, dir string) {
	t.Helper()
	dir = t.TempDir()
	backend := sqlitetest.Serve(t, dir)
	return newCore(t, core.Options{Store: backend, Scrub: backend.Scrub}), dir
}

// filesWith lists the files below dir that hold the text.
func filesWith(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), text) {
			names = append(names, d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func redact(t *testing.T, c *core.Core, r api.RedactRequest) api.RedactAnswer {
	t.Helper()
	answer, err := c.Redact(t.Context(), api.Maintainer, api.Actor{Token: "lead"}, r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func contents(t *testing.T, c *core.Core, repo api.Repo) entries {
	t.Helper()
	view, err := c.View(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	return fullAnswer(t, c, view, core.Selection{}).Content.Entries
}

// A value is found in every version that holds it, goes from each, from what is
// live, and from the files; all else stays.
func TestRedactValue(t *testing.T) {
	c, dir := redacting(t)
	repo := repoOf(t, "acme/api")
	put(t, c, repo, entries{"a.md": "before " + leaked + " after", "b.md": "harmless"})
	put(t, c, repo, entries{"a.md": leaked + " again", "c.md": "gone later: " + leaked})
	put(t, c, repo, entries{"c.md": "clean"})
	if len(filesWith(t, dir, leaked)) == 0 {
		t.Fatal("the value is in no file before")
	}
	ask := api.RedactRequest{Repo: repo, Value: leaked}

	dry := ask
	dry.DryRun = true
	if got := redact(t, c, dry); got.Contents != 3 || len(got.Versions) != 3 || got.Scrubbed || got.Live["a.md"] != "replaced" {
		t.Errorf("a dry run: %+v", got)
	}
	if got := contents(t, c, repo); got["a.md"] != leaked+" again" {
		t.Errorf("a dry run changed something: %q", got)
	}

	got := redact(t, c, ask)
	if got.Contents != 3 || len(got.Versions) != 3 || !got.Scrubbed || got.Version != 4 {
		t.Errorf("redacted: %+v", got)
	}
	if diff := cmp.Diff(map[string]string{"a.md": "replaced"}, got.Live); diff != "" {
		t.Errorf("live (-want +got):\n%s", diff)
	}
	want := entries{"a.md": api.RedactedText + " again", "b.md": "harmless", "c.md": "clean"}
	if diff := cmp.Diff(want, contents(t, c, repo)); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
	if names := filesWith(t, dir, leaked); len(names) > 0 {
		t.Errorf("the value is still in %q", names)
	}
	// It is not taken back, and asking again finds nothing.
	_, err := c.Push(t.Context(), core.Push{Repo: repo, Role: api.Writer, Request: api.PushRequest{Entries: entries{"d.md": leaked + " again"}}})
	if !errors.Is(err, api.ErrRedacted) {
		t.Errorf("pushing it again: %v", err)
	}
	if again := redact(t, c, ask); again.Contents != 0 || len(again.Versions) != 0 || again.Version != 4 || !again.Scrubbed {
		t.Errorf("asked again: %+v", again)
	}
}

// One version goes alone; a live one only together with its key.
func TestRedactVersion(t *testing.T) {
	c, dir := redacting(t)
	repo := repoOf(t, "acme/api")
	put(t, c, repo, entries{"a.md": leaked})
	put(t, c, repo, entries{"a.md": "later"})
	first := api.RedactRequest{Repo: repo, Key: "a.md", Version: 1}
	if got := redact(t, c, first); got.Contents != 1 || len(got.Versions) != 1 || got.Versions[0].Key != "a.md" || len(got.Live) != 0 {
		t.Errorf("the first version: %+v", got)
	}
	if names := filesWith(t, dir, leaked); len(names) > 0 {
		t.Errorf("the text is still in %q", names)
	}
	live := api.RedactRequest{Repo: repo, Key: "a.md", Version: 2}
	if _, err := c.Redact(t.Context(), api.Maintainer, api.Actor{}, live); !errors.Is(err, api.ErrPrecondition) {
		t.Errorf("a live version: %v, want a refusal", err)
	}
	live.Retire = true
	if got := redact(t, c, live); got.Live["a.md"] != "retired" {
		t.Errorf("a live version, retired: %+v", got)
	}
	if got := contents(t, c, repo); len(got) != 0 {
		t.Errorf("still live: %q", got)
	}
}

func TestRedactRefuses(t *testing.T) {
	c, _ := redacting(t)
	repo := repoOf(t, "acme/api")
	put(t, c, repo, entries{"a.md": "text"})
	for _, tt := range []struct {
		name string
		role api.Role
		ask  api.RedactRequest
		want error
	}{
		{"nobody", api.NoRole, api.RedactRequest{Repo: repo, Value: leaked}, api.ErrNotFound},
		{"a writer", api.Writer, api.RedactRequest{Repo: repo, Value: leaked}, api.ErrForbidden},
		{"nothing", api.Maintainer, api.RedactRequest{Repo: repo}, api.ErrBadRequest},
		{"both", api.Maintainer, api.RedactRequest{Repo: repo, Value: leaked, Key: "a.md", Version: 1}, api.ErrBadRequest},
		{"half", api.Maintainer, api.RedactRequest{Repo: repo, Key: "a.md"}, api.ErrBadRequest},
		{"a short value", api.Maintainer, api.RedactRequest{Repo: repo, Value: "1234567"}, api.ErrBadRequest},
		{"what stands for it", api.Maintainer, api.RedactRequest{Repo: repo, Value: "redacted"}, api.ErrBadRequest},
		{"no such version", api.Maintainer, api.RedactRequest{Repo: repo, Key: "a.md", Version: 9}, api.ErrNotFound},
		{"no such repo", api.Maintainer, api.RedactRequest{Repo: repoOf(t, "acme/none"), Value: leaked}, api.ErrNotFound},
	} {
		if _, err := c.Redact(context.Background(), tt.role, api.Actor{}, tt.ask); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}
