package statedir_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/statedir"
)

var keys = []string{"a.md", "b.md", "dir/c.md", "größe.md", "MEMORY.md"}

func anySum(t *rapid.T) api.Checksum {
	return api.SumString(rapid.SampledFrom([]string{"1", "2", "3", "4"}).Draw(t, "content"))
}

func anyBase(t *rapid.T) api.Base {
	if rapid.IntRange(0, 4).Draw(t, "forget") == 0 {
		return api.Base{}
	}
	b := api.Base{Sum: anySum(t)}
	if rapid.Bool().Draw(t, "retired") {
		b.Sum, b.Tomb = api.Checksum{}, rapid.Uint64Range(1, 9).Draw(t, "tomb")
	}
	for range rapid.IntRange(0, api.RingSize).Draw(t, "ring") {
		b.Ring = append(b.Ring, anySum(t))
	}
	if rapid.Bool().Draw(t, "refused") {
		b.Bad = anySum(t)
	}
	return b
}

func anyRecord(t *rapid.T) api.Record {
	var r api.Record
	if rapid.Bool().Draw(t, "moved") {
		r.View = &api.Position{Epoch: rapid.SampledFrom([]string{"", "e1", "e2"}).Draw(t, "epoch"), Version: rapid.Uint64Range(0, 5).Draw(t, "version")}
	}
	if rapid.Bool().Draw(t, "judged") {
		r.Rules = rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rules")
	}
	if rapid.Bool().Draw(t, "pushed") {
		r.LastPush = noon.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "push")))
	}
	if rapid.Bool().Draw(t, "pulled") {
		r.LastPull = noon.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "pull")))
	}
	r.Bases = map[api.Key]api.Base{}
	for range rapid.IntRange(0, len(keys)).Draw(t, "bases") {
		k, err := api.ParseKey(rapid.SampledFrom(keys).Draw(t, "key"))
		if err != nil {
			t.Fatal(err)
		}
		r.Bases[k] = anyBase(t)
	}
	return r
}

// model is what a State must do, in three lines each.
func applyToModel(m api.Memory, r api.Record) api.Memory {
	m.Bases = maps.Clone(m.Bases)
	if r.View != nil {
		m.Epoch, m.Version = r.View.Epoch, r.View.Version
	}
	if r.Rules != "" {
		m.Rules = r.Rules
	}
	if !r.LastPush.IsZero() {
		m.LastPush = r.LastPush
	}
	if !r.LastPull.IsZero() {
		m.LastPull = r.LastPull
	}
	for k, b := range r.Bases {
		m.Bases[k] = b
		if cmp.Equal(b, api.Base{}) {
			delete(m.Bases, k)
		}
	}
	return m
}

// TestModel: any sequence of commits and restarts ends in what a map would hold,
// and a file that ends anywhere holds the state after one of the commits.
func TestModel(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		path, err := os.MkdirTemp(base, "") //nolint:usetesting // one for each history
		if err != nil {
			rt.Fatal(err)
		}
		d := open(t, path)
		want := api.Memory{Bases: map[api.Key]api.Base{}}
		history := []api.Memory{want}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			if rapid.IntRange(0, 5).Draw(rt, "restart") == 0 {
				d = open(t, path)
			}
			r := anyRecord(rt)
			if err := d.Commit(t.Context(), r); err != nil {
				rt.Fatal(err)
			}
			want = applyToModel(want, r)
			history = append(history, want)
			if diff := cmp.Diff(want, load(t, d)); diff != "" {
				rt.Fatalf("memory (-want +got):\n%s", diff)
			}
		}
		if diff := cmp.Diff(want, load(t, open(t, path))); diff != "" {
			rt.Fatalf("memory after a restart (-want +got):\n%s", diff)
		}
		cutAnywhere(t, rt, path, history)
	})
}

func cutAnywhere(t *testing.T, rt *rapid.T, path string, history []api.Memory) {
	t.Helper()
	whole, err := os.ReadFile(filepath.Join(path, "journal"))
	if os.IsNotExist(err) {
		return // nothing was ever recorded
	}
	if err != nil {
		rt.Fatal(err)
	}
	// The first line, and what was written with it, is in place whole or not at
	// all: the file was created by replacement.
	created := strings.IndexByte(string(whole), '\n') + 1
	cut := rapid.IntRange(created, len(whole)).Draw(rt, "cut")
	torn := append(whole[:cut:cut], rapid.SampledFrom([]string{"", "\x00\x00\x00", "garbage"}).Draw(rt, "tail")...)
	if err := os.WriteFile(filepath.Join(path, "journal"), torn, 0o600); err != nil {
		rt.Fatal(err)
	}
	got := load(t, open(t, path))
	for _, was := range history {
		if cmp.Equal(was, got) {
			return
		}
	}
	// Between the lines of the first replacement there is a state that no commit
	// made; only a damaged disk shows it.
	if second := created + strings.IndexByte(string(whole[created:]), '\n') + 1; cut >= second {
		rt.Fatalf("cut at byte %d of %d: a state that never was: %+v", cut, len(whole), got)
	}
}

// FuzzJournal: no file makes loading panic, or is changed by it.
func FuzzJournal(f *testing.F) {
	d := open(f, f.TempDir())
	k, err := api.ParseKey("a.md")
	if err != nil {
		f.Fatal(err)
	}
	for i := range uint64(3) {
		commit(f, d, api.Record{View: &api.Position{Epoch: "e", Version: i + 1}, Bases: map[api.Key]api.Base{k: base("x", "y")}})
		f.Add(journal(f, d))
	}
	f.Add("")
	f.Add("7bb2ff1c {\"format\":2}\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(filepath.Join(dir, "journal"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := statedir.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		memory, err := d.Load(t.Context())
		if err == nil && memory.Bases == nil {
			t.Error("no error and no memory")
		}
		if got := journal(t, d); got != text {
			t.Error("loading changed the file")
		}
	})
}
