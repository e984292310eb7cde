package statedir_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
	"github.com/teammem/teammemd/sync/statedir"
)

var _ teamsync.State = (*statedir.Dir)(nil)

func open(tb testing.TB, path string) *statedir.Dir {
	tb.Helper()
	d, err := statedir.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { d.Close() })
	return d
}

func key(tb testing.TB, s string) api.Key {
	tb.Helper()
	k, err := api.ParseKey(s)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func commit(tb testing.TB, d *statedir.Dir, change api.Record) {
	tb.Helper()
	if err := d.Commit(tb.Context(), change); err != nil {
		tb.Fatal(err)
	}
}

func load(tb testing.TB, d *statedir.Dir) api.Memory {
	tb.Helper()
	memory, err := d.Load(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return memory
}

// wantMemory compares what d says and what a reader of the same files says.
func wantMemory(tb testing.TB, d *statedir.Dir, want api.Memory) {
	tb.Helper()
	if diff := cmp.Diff(want, load(tb, d)); diff != "" {
		tb.Errorf("memory (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, load(tb, open(tb, d.Path()))); diff != "" {
		tb.Errorf("memory on disk (-want +got):\n%s", diff)
	}
}

func base(content string, ring ...string) api.Base {
	b := api.Base{Sum: api.SumString(content)}
	for _, former := range ring {
		b.Ring = append(b.Ring, api.SumString(former))
	}
	return b
}

func TestEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	d := open(t, path)
	wantMemory(t, d, api.Memory{Bases: map[api.Key]api.Base{}})
	commit(t, d, api.Record{})
	commit(t, d, api.Record{Bases: map[api.Key]api.Base{key(t, "a.md"): {}}})
	if _, err := os.Stat(filepath.Join(path, "journal")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing was recorded, but there is a journal: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("directory mode %v, want 0700", got)
	}
}

func TestOpenMakesPrivate(t *testing.T) {
	path := t.TempDir()
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	commit(t, open(t, path), api.Record{View: &api.Position{Epoch: "e", Version: 1}})
	for name, want := range map[string]os.FileMode{"": 0o700, "journal": 0o600} {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %q is %v, want %v", name, got, want)
		}
	}
}

func TestCommit(t *testing.T) {
	d := open(t, t.TempDir())
	when := time.Date(2025, 1, 2, 3, 4, 5, 678, time.FixedZone("", 3600))
	a, b := key(t, "a.md"), key(t, "dir/ü b.md")
	retired := api.Base{Tomb: 7, Ring: []api.Checksum{api.SumString("old")}, Bad: api.SumString("bad")}

	commit(t, d, api.Record{
		View: &api.Position{Epoch: "e1", Version: 9}, LastPull: when,
		Bases: map[api.Key]api.Base{a: base("one", "zero", "minus one"), b: retired},
	})
	want := api.Memory{
		Epoch: "e1", Version: 9, LastPull: when.UTC(),
		Bases: map[api.Key]api.Base{a: base("one", "zero", "minus one"), b: retired},
	}
	wantMemory(t, d, want)

	commit(t, d, api.Record{LastPush: when, Bases: map[api.Key]api.Base{a: {}}})
	delete(want.Bases, a)
	want.LastPush = when.UTC()
	wantMemory(t, d, want)
}

func TestMemoryIsTheCallers(t *testing.T) {
	d := open(t, t.TempDir())
	a := key(t, "a.md")
	given := base("one", "zero")
	commit(t, d, api.Record{Bases: map[api.Key]api.Base{a: given}})
	given.Ring[0] = api.SumString("scribble")
	got := load(t, d)
	got.Bases[a].Ring[0] = api.SumString("scribble")
	delete(got.Bases, a)
	wantMemory(t, d, api.Memory{Bases: map[api.Key]api.Base{a: base("one", "zero")}})
}

func TestBasesTellWhatIsCommitted(t *testing.T) {
	d := open(t, t.TempDir())
	base, err := d.Bases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k, first, second := key(t, "a.md"), api.SumString("first"), api.SumString("second")
	if got := base(k); !got.Sum.IsZero() {
		t.Errorf("before the first commit: %+v", got)
	}
	for _, want := range []api.Base{{Sum: first}, {Sum: second, Ring: []api.Checksum{first}}, {}} {
		commit(t, d, api.Record{Bases: map[api.Key]api.Base{k: want}})
		if diff := cmp.Diff(want, base(k)); diff != "" {
			t.Errorf("after a commit (-want +got):\n%s", diff)
		}
	}
}

func TestNothingChangedNothingWritten(t *testing.T) {
	d := open(t, t.TempDir())
	change := api.Record{
		View: &api.Position{Epoch: "e", Version: 3}, LastPush: time.Now(),
		Bases: map[api.Key]api.Base{key(t, "a.md"): base("one", "zero")},
	}
	commit(t, d, change)
	before := journal(t, d)
	commit(t, d, change)
	commit(t, open(t, d.Path()), change)
	if after := journal(t, d); after != before {
		t.Errorf("the journal grew from %d to %d bytes", len(before), len(after))
	}
}

func journal(tb testing.TB, d *statedir.Dir) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(d.Path(), "journal"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func TestDamageIsNamed(t *testing.T) {
	d := open(t, t.TempDir())
	for version := range uint64(5) {
		commit(t, d, api.Record{View: &api.Position{Epoch: "e", Version: version + 1}})
	}
	whole := journal(t, d)
	lines := strings.SplitAfter(whole, "\n")
	tests := []struct{ name, text, want string }{
		{"a flipped bit in the middle", strings.Replace(whole, lines[2], "x"+lines[2][1:], 1), "line 3"},
		{"a line cut short in the middle", strings.Replace(whole, lines[3], lines[3][:20]+"\n", 1), "line 4"},
		{"the first line damaged", "0" + whole, "line 1"},
		{"only a torn first line", lines[0][:10], "line 1"},
		{"empty", "", "line 1"},
		{"something else", "hello\n", "line 1"},
		{"a later format", "7bb2ff1c {\"format\":2}\n", "line 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(d.Path(), "journal")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			d := open(t, d.Path())
			_, err := d.Load(t.Context())
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that names %s and %s", err, path, test.want)
			}
			if err := d.Commit(t.Context(), api.Record{View: &api.Position{Version: 1}}); err == nil {
				t.Error("a damaged state took a commit")
			}
			if got := journal(t, d); got != test.text {
				t.Error("the damaged file was changed")
			}
		})
	}
}

func TestTornTail(t *testing.T) {
	d := open(t, t.TempDir())
	commit(t, d, api.Record{View: &api.Position{Epoch: "e", Version: 1}})
	commit(t, d, api.Record{View: &api.Position{Epoch: "e", Version: 2}})
	whole := journal(t, d)
	for _, tail := range []string{"12", "00000000 {}\n", strings.Repeat("\x00", 4096), "deadbeef {\"view\":\n\n"} {
		if err := os.WriteFile(filepath.Join(d.Path(), "journal"), []byte(whole+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		again := open(t, d.Path())
		if got := load(t, again).Version; got != 2 {
			t.Errorf("version %d after a torn tail, want 2", got)
		}
		if got := journal(t, d); got != whole+tail {
			t.Error("loading changed the file")
		}
		commit(t, again, api.Record{View: &api.Position{Epoch: "e", Version: 3}})
		if got := load(t, open(t, d.Path())).Version; got != 3 {
			t.Errorf("version %d after a commit over a torn tail, want 3", got)
		}
	}
}

func TestCompaction(t *testing.T) {
	d := open(t, t.TempDir())
	want := api.Memory{Bases: map[api.Key]api.Base{}}
	largest := 0
	for i := range 3_000 {
		k := key(t, "key-"+string(rune('a'+i%7))+".md")
		want.Bases[k] = base(strings.Repeat("x", i), "former", "and before")
		want.Epoch, want.Version = "e", uint64(i+1)
		commit(t, d, api.Record{
			View:  &api.Position{Epoch: "e", Version: want.Version},
			Bases: map[api.Key]api.Base{k: want.Bases[k]},
		})
		largest = max(largest, len(journal(t, d)))
	}
	if largest > 300<<10 {
		t.Errorf("the journal of 7 keys grew to %d bytes", largest)
	}
	wantMemory(t, d, want)
}

func TestCancelled(t *testing.T) {
	d := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Load: %v", err)
	}
	if err := d.Commit(ctx, api.Record{View: &api.Position{Version: 1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit: %v", err)
	}
	if _, err := d.Save(ctx, api.SavedCopy{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Save: %v", err)
	}
}
