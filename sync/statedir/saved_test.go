package statedir_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/statedir"
)

var noon = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func save(tb testing.TB, d *statedir.Dir, name, content, why string, at time.Time) string {
	tb.Helper()
	id, err := d.Save(tb.Context(), api.SavedCopy{Key: key(tb, name), Content: content, Sum: api.SumString(content), At: at, Why: why})
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

func copies(tb testing.TB, d *statedir.Dir) []statedir.Copy {
	tb.Helper()
	all, err := d.Copies()
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

func TestSaved(t *testing.T) {
	d := open(t, t.TempDir())
	if got := copies(t, d); len(got) != 0 {
		t.Errorf("a new directory has copies: %v", got)
	}
	a := save(t, d, "a.md", "text", "conflict", noon)
	b := save(t, d, "dir/ü.md", "text", "displaced", noon.Add(time.Minute))
	empty := save(t, d, "a.md", "", "retired", noon.Add(time.Hour))
	if a == b || a == empty || len(a) != 8 {
		t.Errorf("ids %q, %q, %q", a, b, empty)
	}
	if again := save(t, open(t, d.Path()), "a.md", "text", "conflict", noon); again != a {
		t.Errorf("the same copy again has the id %q, not %q", again, a)
	}
	want := []statedir.Copy{
		{ID: empty, Key: key(t, "a.md"), SavedAt: noon.Add(time.Hour), Sum: api.SumString(""), Why: "retired"},
		{ID: b, Key: key(t, "dir/ü.md"), SavedAt: noon.Add(time.Minute), Bytes: 4, Sum: api.SumString("text"), Why: "displaced"},
		{ID: a, Key: key(t, "a.md"), SavedAt: noon, Bytes: 4, Sum: api.SumString("text"), Why: "conflict"},
	}
	if diff := cmp.Diff(want, copies(t, d), cmpopts.EquateComparable(api.Key{})); diff != "" {
		t.Errorf("copies, newest first (-want +got):\n%s", diff)
	}
	got, content, err := d.ReadCopy(b)
	if err != nil || content != "text" || got != want[1] {
		t.Errorf("ReadCopy: %+v, %q, %v", got, content, err)
	}
	wantPrivate(t, filepath.Join(d.Path(), "saved"))
}

func wantPrivate(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSaveRefusesAWrongSum(t *testing.T) {
	d := open(t, t.TempDir())
	for _, bad := range []api.SavedCopy{
		{Key: key(t, "a.md"), Content: "text", Sum: api.SumString("other")},
		{Content: "text", Sum: api.SumString("text")},
	} {
		if _, err := d.Save(t.Context(), bad); err == nil {
			t.Errorf("saved %+v", bad)
		}
	}
}

func TestSavedAgain(t *testing.T) {
	d := open(t, t.TempDir())
	id := save(t, d, "a.md", "text", "displaced", noon)
	if err := d.MarkRead(id); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		why     string
		at      time.Time
		wantWhy string
		wantAt  time.Time
	}{
		{"displaced", noon.Add(-time.Hour), "displaced", noon},
		{"conflict", noon.Add(time.Hour), "conflict", noon.Add(time.Hour)},
		{"displaced", noon.Add(2 * time.Hour), "conflict", noon.Add(2 * time.Hour)},
	}
	for _, step := range steps {
		save(t, d, "a.md", "text", step.why, step.at)
		got := copies(t, d)
		if len(got) != 1 || got[0].Why != step.wantWhy || !got[0].SavedAt.Equal(step.wantAt) || !got[0].Read {
			t.Errorf("after %+v: %+v", step, got)
		}
	}
}

func TestDropAndMarkRead(t *testing.T) {
	d := open(t, t.TempDir())
	a := save(t, d, "a.md", "shared", "conflict", noon)
	b := save(t, d, "b.md", "shared", "conflict", noon)
	for range 2 {
		if err := d.MarkRead(a); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Drop(a); err != nil {
		t.Fatal(err)
	}
	if _, content, err := d.ReadCopy(b); err != nil || content != "shared" {
		t.Errorf("dropping one of two copies of a text: %q, %v", content, err)
	}
	if err := d.Drop(b); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(d.Path(), "saved"))
	if err != nil || len(entries) != 0 {
		t.Errorf("%d files left, %v", len(entries), err)
	}
}

func TestUnknownIDs(t *testing.T) {
	d := open(t, t.TempDir())
	save(t, d, "a.md", "text", "conflict", noon)
	for _, id := range []string{"", "12345678", "x", "../../x", "../journal", "ABCDEF12", "1234567", strings.Repeat("a", 72), "12345678/../12345678"} {
		_, _, err := d.ReadCopy(id)
		for what, err := range map[string]error{"ReadCopy": err, "MarkRead": d.MarkRead(id), "Drop": d.Drop(id)} {
			if !errors.Is(err, api.ErrUsage) {
				t.Errorf("%s(%q): %v, want %v", what, id, err, api.ErrUsage)
			}
		}
	}
}

func TestDamagedCopies(t *testing.T) {
	d := open(t, t.TempDir())
	good := save(t, d, "good.md", "good", "conflict", noon)
	bad := save(t, d, "bad.md", "bad", "conflict", noon)
	saved := filepath.Join(d.Path(), "saved")
	if err := os.WriteFile(filepath.Join(saved, api.SumString("bad").Hex()), []byte("rot"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, content, err := d.ReadCopy(bad); err == nil {
		t.Errorf("a damaged text was returned: %q", content)
	}
	// Saving it again mends it.
	save(t, d, "bad.md", "bad", "conflict", noon)
	if _, content, err := d.ReadCopy(bad); err != nil || content != "bad" {
		t.Errorf("saved again: %q, %v", content, err)
	}
	for _, text := range []string{"", "{", `{"id":"00000000","key":"a.md"}`} {
		if err := os.WriteFile(filepath.Join(saved, bad+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := d.Copies()
		if err == nil || !strings.Contains(err.Error(), bad) || len(all) != 1 || all[0].ID != good {
			t.Errorf("with the description %q: %v, %v", text, all, err)
		}
		if err := d.Drop(good); err == nil {
			t.Error("dropped a text that a damaged description may need")
		}
		if _, err := d.Prune(noon.AddDate(1, 0, 0)); err == nil {
			t.Error("pruned beside a damaged description")
		}
	}
}

func TestPrune(t *testing.T) {
	d := open(t, t.TempDir())
	old, young := noon.Add(-statedir.KeepFor-time.Hour), noon.Add(-statedir.KeepFor+time.Hour)
	unread := save(t, d, "a.md", "unread conflict", "conflict", old.Add(-time.Hour))
	read := save(t, d, "a.md", "read conflict", "conflict", old.Add(-time.Minute))
	if err := d.MarkRead(read); err != nil {
		t.Fatal(err)
	}
	var kept []string
	for i := range statedir.KeepPerKey {
		kept = append(kept, save(t, d, "a.md", fmt.Sprint("displaced ", i), "displaced", old.Add(time.Duration(i)*time.Second)))
	}
	gone := save(t, d, "a.md", "one too many", "displaced", old.Add(-time.Second))
	lonely := save(t, d, "b.md", "old but the last of its key", "retired", old)
	for i := range statedir.KeepPerKey + 5 {
		kept = append(kept, save(t, d, "c.md", fmt.Sprint("young ", i), "displaced", young))
	}
	n, err := d.Prune(noon)
	if err != nil || n != 2 {
		t.Errorf("%d pruned, %v, want the copies %s and %s", n, err, read, gone)
	}
	left := map[string]bool{}
	for _, c := range copies(t, d) {
		left[c.ID] = true
		if _, _, err := d.ReadCopy(c.ID); err != nil {
			t.Error(err)
		}
	}
	for _, id := range append(kept, unread, lonely) {
		if !left[id] {
			t.Errorf("copy %s was dropped", id)
		}
		delete(left, id)
	}
	if len(left) != 0 {
		t.Errorf("copies %v were kept", left)
	}
	if n, err := d.Prune(noon); err != nil || n != 0 {
		t.Errorf("pruning again: %d, %v", n, err)
	}
}

func TestPruneSweepsWhatACrashLeft(t *testing.T) {
	d := open(t, t.TempDir())
	id := save(t, d, "a.md", "text", "conflict", noon)
	saved := filepath.Join(d.Path(), "saved")
	garbage := []string{api.SumString("orphan").Hex(), ".1234.json.abc.tmp"}
	for _, name := range append(garbage, "README") {
		if err := os.WriteFile(filepath.Join(saved, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names := func() string {
		entries, err := os.ReadDir(saved)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, entry := range entries {
			all = append(all, entry.Name())
		}
		return strings.Join(all, " ")
	}
	before := names()
	if _, err := d.Prune(time.Now()); err != nil || names() != before {
		t.Errorf("young files were swept: %q, %v", names(), err)
	}
	if _, err := d.Prune(time.Now().Add(2 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, name := range garbage {
		if strings.Contains(names(), name) {
			t.Errorf("%s is still there", name)
		}
	}
	if _, content, err := d.ReadCopy(id); err != nil || content != "text" || !strings.Contains(names(), "README") {
		t.Errorf("swept too much: %q, %v, %q", content, err, names())
	}
}

func TestFirstTime(t *testing.T) {
	d := open(t, t.TempDir())
	for i, want := range []bool{true, false, false} {
		if i == 2 {
			d = open(t, d.Path())
		}
		if got, err := d.FirstTime("deletions come back", noon); err != nil || got != want {
			t.Errorf("call %d: %v, %v, want %v", i, got, err, want)
		}
	}
	if got, err := d.FirstTime("another", noon); err != nil || !got {
		t.Errorf("another notice: %v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(d.Path(), "notices.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.FirstTime("another", noon); err == nil {
		t.Error("a damaged file was taken for an empty one")
	}
}

func TestTendPrunesOnceADay(t *testing.T) {
	d := open(t, t.TempDir())
	old := noon.Add(-statedir.KeepFor - 48*time.Hour)
	more := func(n int) {
		for i := range n {
			save(t, d, "a.md", fmt.Sprint(len(copies(t, d)), " ", i), "displaced", old.Add(time.Duration(i)*time.Second))
		}
	}
	tend := func(after time.Duration, want int) {
		t.Helper()
		if n, err := d.Tend(noon.Add(after)); n != want || err != nil {
			t.Errorf("%s later: %d copies went, %v; want %d", after, n, err, want)
		}
	}
	more(statedir.KeepPerKey + 3)
	tend(0, 3)
	more(2)
	tend(23*time.Hour, 0)
	if again, err := statedir.Open(d.Path()); err != nil {
		t.Fatal(err)
	} else if n, err := again.Tend(noon.Add(23 * time.Hour)); n != 0 || err != nil {
		t.Errorf("by another process: %d, %v", n, err)
	}
	tend(25*time.Hour, 2)
	more(1)
	tend(-time.Hour, 1) // a clock that was set back stops nothing for long
}
