package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/teammem/teammemd/internal/atomicfile"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	for _, content := range []string{"one", "", "a longer third content"} {
		if err := atomicfile.WriteFile(path, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != content {
			t.Errorf("content %q, want %q", got, content)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o640 {
		t.Errorf("mode %v, want 0640 whatever the umask", got)
	}
	wantNames(t, dir, "state.json")
}

func TestWriteFileLeavesOldContentOnError(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteFile(taken, []byte("x"), 0o600); err == nil {
		t.Error("replacing a directory succeeded")
	}
	wantNames(t, dir, "taken")
	err := atomicfile.WriteFile(filepath.Join(dir, "absent", "x"), nil, 0o600)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in an absent directory: %v, want fs.ErrNotExist", err)
	}
}

func TestExchange(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	write(t, filepath.Join(a, "one"), "1")
	write(t, filepath.Join(b, "two"), "2")
	err := atomicfile.Exchange(open(t, a), "one", open(t, b), "two")
	if errors.Is(err, atomicfile.ErrNoExchange) {
		t.Skip("SKIP: the temporary directory's file system has no exchange")
	}
	if err != nil {
		t.Fatal(err)
	}
	if one, two := read(t, filepath.Join(a, "one")), read(t, filepath.Join(b, "two")); one != "2" || two != "1" {
		t.Errorf("after the exchange: %q and %q", one, two)
	}
	err = atomicfile.Exchange(open(t, a), "one", open(t, b), "absent")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("with an absent name: %v, want fs.ErrNotExist", err)
	}
	if got := read(t, filepath.Join(a, "one")); got != "2" {
		t.Errorf("a failed exchange changed the first name to %q", got)
	}
}

func TestExchangeTakesLinksForWhatTheyAre(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "outside"), "outside")
	write(t, filepath.Join(dir, "new"), "new")
	if err := os.Symlink("outside", filepath.Join(dir, "link")); err != nil {
		t.Skipf("SKIP: no symbolic links here: %v", err)
	}
	if err := atomicfile.Exchange(open(t, dir), "new", open(t, dir), "link"); err != nil {
		t.Skipf("SKIP: no exchange here: %v", err)
	}
	if got := read(t, filepath.Join(dir, "outside")); got != "outside" {
		t.Errorf("the link's target became %q", got)
	}
	if target, err := os.Readlink(filepath.Join(dir, "new")); err != nil || target != "outside" {
		t.Errorf("the displaced link: %q, %v", target, err)
	}
}

func TestRenameNoReplace(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		write(t, filepath.Join(dir, name), name)
	}
	d := open(t, dir)
	if err := atomicfile.RenameNoReplace(d, "a", d, "b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto a taken name: %v, want fs.ErrExist", err)
	}
	if got := read(t, filepath.Join(dir, "b")); got != "b" {
		t.Errorf("the taken name now holds %q", got)
	}
	if err := atomicfile.RenameNoReplace(d, "a", d, "c"); err != nil {
		t.Fatal(err)
	}
	wantNames(t, dir, "b", "c")
	if err := atomicfile.RenameNoReplace(d, "a", d, "e"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of an absent name: %v, want fs.ErrNotExist", err)
	}
}

func TestHasWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "x")
	reader := open(t, path)
	got, err := atomicfile.HasWriter(reader)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("SKIP: %v", err)
	}
	if err != nil || got {
		t.Fatalf("without a writer: %v, %v", got, err)
	}
	writer, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := atomicfile.HasWriter(reader); err != nil || !got {
		t.Errorf("with a writer: %v, %v", got, err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := atomicfile.HasWriter(reader); err != nil || got {
		t.Errorf("after the writer closed: %v, %v", got, err)
	}
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if len(got) != len(want) {
		t.Fatalf("names %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("names %q, want %q", got, want)
		}
	}
}
