package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/sync/memdir"
	"github.com/teammem/teammemd/sync/statedir"
)

// workbench is a team directory with one file, and its state.
type workbench struct {
	dir   string
	key   api.Key
	tree  *memdir.Tree
	state *statedir.Dir
}

func newWorkbench(t *testing.T, text string, base api.Base) workbench {
	t.Helper()
	state, err := statedir.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	key, err := api.ParseKey("a.md")
	if err != nil {
		t.Fatal(err)
	}
	w := workbench{dir: t.TempDir(), key: key, state: state}
	if err := os.WriteFile(filepath.Join(w.dir, "a.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := state.Commit(t.Context(), api.Record{Bases: map[api.Key]api.Base{key: base}}); err != nil {
		t.Fatal(err)
	}
	if w.tree, err = (copiesOf{root: config.Root{Dir: w.dir}, state: state}).tree(machine{}); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestPlaceOverWhatWasSeen puts a merge in place while another text may have come
// into the tree: only the one that was merged goes without a copy, and only if
// the server has it.
func TestPlaceOverWhatWasSeen(t *testing.T) {
	t.Parallel()
	seen, other := api.SumString("seen"), api.SumString("other")
	tests := []struct {
		name, there string
		base        api.Base
		saved       bool
	}{
		{"the base", "seen", api.Base{Sum: seen}, false},
		{"an earlier base", "seen", api.Base{Sum: other, Ring: []api.Checksum{seen}}, false},
		{"an edit that was not sent", "seen", api.Base{Sum: other}, true},
		{"pulled meanwhile", "other", api.Base{Sum: other, Ring: []api.Checksum{seen}}, true},
		{"edited meanwhile", "edited", api.Base{Sum: seen}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkbench(t, test.there, test.base)
			p := api.Placement{Key: w.key, Content: "merged", Sum: api.SumString("merged"), Expect: seen}
			if err := place(t.Context(), w.tree, w.state, p); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(w.dir, "a.md")); string(got) != "merged" {
				t.Errorf("in the tree: %q, %v", got, err)
			}
			copies, err := w.state.Copies()
			if err != nil || len(copies) > 1 || (len(copies) == 1) != test.saved {
				t.Fatalf("%d copies, %v", len(copies), err)
			}
			if test.saved && copies[0].Sum != api.SumString(test.there) {
				t.Errorf("the copy is not what stood there: %+v", copies[0])
			}
		})
	}
}

// TestPlaceWhereNothingWas does not replace a file that has appeared.
func TestPlaceWhereNothingWas(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t, "appeared", api.Base{})
	err := place(t.Context(), w.tree, w.state, api.Placement{Key: w.key, Content: "x", Sum: api.SumString("x")})
	if got, _ := os.ReadFile(filepath.Join(w.dir, "a.md")); err == nil || string(got) != "appeared" {
		t.Errorf("%v, in the tree %q", err, got)
	}
}

// TestBaseOf reads the text that a copy was made from as far as it is kept.
func TestBaseOf(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t, "x", api.Base{})
	kept := api.SumString("kept")
	if err := w.state.Keep(t.Context(), kept, "kept"); err != nil {
		t.Fatal(err)
	}
	for sum, want := range map[api.Checksum]bool{kept: true, {}: false, api.SumString("gone"): false} {
		text, known, err := baseOf(t.Context(), w.state, statedir.Copy{Base: sum})
		if err != nil || known != want || known && text != "kept" {
			t.Errorf("base %s: %q, %t, %v", sum, text, known, err)
		}
	}
}
