package statedir_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// holding lists the files below dir that hold the text.
func holding(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) {
			names = append(names, d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// What was purged is in no file, is not kept again by this process or by the
// next, and takes nothing else with it.
func TestPurge(t *testing.T) {
	const leaked, other = "the leaked text", "another text"
	d := open(t, t.TempDir())
	for _, name := range []string{"a.md", "b.md"} {
		save(t, d, name, leaked, "conflict", time.Unix(1, 0))
	}
	kept := save(t, d, "a.md", other, "conflict", time.Unix(2, 0))
	keep(t, d, leaked)
	text := keep(t, d, other)
	if len(holding(t, d.Path(), leaked)) == 0 {
		t.Fatal("the text was nowhere before")
	}
	gone := []api.Checksum{api.SumString(leaked), api.SumString("never seen")}
	for range 2 {
		if err := d.Purge(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	if names := holding(t, d.Path(), leaked); len(names) > 0 {
		t.Errorf("purged, and still in %q", names)
	}
	copies, err := d.Copies()
	if err != nil || len(copies) != 1 || copies[0].ID != kept {
		t.Errorf("copies left: %v, %v", copies, err)
	}
	if got, err := d.Text(t.Context(), text); err != nil || got != other {
		t.Errorf("the other text: %q, %v", got, err)
	}
	again := open(t, d.Path())
	id, err := again.Save(t.Context(), api.SavedCopy{Key: key(t, "c.md"), Content: leaked, Sum: gone[0], Why: "displaced"})
	if id != "" || err != nil {
		t.Errorf("saving it again: %q, %v", id, err)
	}
	if err := again.Keep(t.Context(), gone[0], leaked); err != nil {
		t.Error(err)
	}
	if names := holding(t, d.Path(), leaked); len(names) > 0 {
		t.Errorf("kept again in %q", names)
	}
}

// A list that cannot be read keeps everything from being kept: what must not be
// kept is then not known.
func TestPurgeDamagedList(t *testing.T) {
	d := open(t, t.TempDir())
	if err := os.WriteFile(filepath.Join(d.Path(), "redacted"), []byte("no sum\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Save(t.Context(), api.SavedCopy{Key: key(t, "c.md"), Content: "x", Sum: api.SumString("x")}); err == nil {
		t.Error("a copy was saved")
	}
	if err := d.Purge(t.Context(), nil); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("purging: %v", err)
	}
}
