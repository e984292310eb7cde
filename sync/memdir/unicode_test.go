package memdir_test

import (
	"errors"
	"os"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/memdir"
)

const (
	nfc = "gr\u00f6\u00dfe/caf\u00e9.md"
	nfd = "gro\u0308\u00dfe/cafe\u0301.md"
)

// keepsBytes skips on file systems that normalize names.
func (w *world) keepsBytes(a, b string) {
	w.Helper()
	w.write(a, "probe")
	_, err := os.Lstat(w.path(b))
	if err == nil {
		w.Skip("SKIP: the file system takes both names for one")
	}
	if err := os.Remove(w.path(a)); err != nil {
		w.Fatal(err)
	}
}

func TestDecomposedNameKeepsItsSpelling(t *testing.T) {
	w := newWorld(t)
	w.keepsBytes(nfd, nfc)
	w.write(nfd, "one")
	// Both before a snapshot knows the spelling, and after.
	for _, next := range []struct{ from, to string }{{"one", "two"}, {"two", "three"}} {
		if got, err := w.tree.Load(t.Context(), key(t, nfc), settled); err != nil || got.Content != next.from {
			t.Errorf("Load: %q, %v", got.Content, err)
		}
		w.mustPlace(put(t, nfc, next.to, next.from))
		w.wantContent(nfd, next.to)
		diff(t, "files", files(w.snapshot(settled)), sums(map[string]string{nfc: next.to}))
	}
	if err := w.tree.Retire(t.Context(), key(t, nfc), []api.Checksum{api.SumString("three")}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(w.path(nfd)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("retired, but there: %v", err)
	}
	// The directory stays as it is spelled; no second one beside it.
	w.mustPlace(put(t, nfc, "four", ""))
	entries, err := os.ReadDir(w.root)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d directories, %v", len(entries), err)
	}
}

func TestF16BothNormalForms(t *testing.T) {
	w := newWorld(t)
	composed, decomposed := "caf\u00e9.md", "cafe\u0301.md"
	w.keepsBytes(decomposed, composed)
	w.write(composed, "composed")
	w.write(decomposed, "decomposed")
	for range 10 {
		snap := w.snapshot(settled)
		diff(t, "files", files(snap), sums(map[string]string{composed: "composed"}))
		diff(t, "held", held(snap), map[string]api.Reason{decomposed: api.HeldCaseTwin})
		w.mustPlace(put(t, composed, "composed", ""))
	}
	w.wantContent(decomposed, "decomposed")
}

func TestF15CaseTwins(t *testing.T) {
	names := []string{"README.md", "Readme.md", "readme.md", "stra\u00dfe.md", "STRASSE.md", "Dir/x.md", "dir/x.md"}
	w := newWorld(t, func(o *memdir.Options) {
		o.Prefer = func(k api.Key) bool { return k.String() == "Readme.md" }
	})
	w.keepsBytes("README.md", "readme.md")
	for _, name := range names {
		w.write(name, name)
	}
	for range 3 {
		snap := w.snapshot(settled)
		diff(t, "files", files(snap), sums(map[string]string{
			"Readme.md": "Readme.md", "STRASSE.md": "STRASSE.md", "Dir/x.md": "Dir/x.md",
		}))
		diff(t, "held", held(snap), map[string]api.Reason{
			"README.md": api.HeldCaseTwin, "readme.md": api.HeldCaseTwin, "stra\u00dfe.md": api.HeldCaseTwin, "dir/x.md": api.HeldCaseTwin,
		})
	}
	// A twin that cannot be read just now keeps its place.
	w.write("Readme.md", string(make([]byte, api.MaxEntryBytes+1)))
	snap := w.snapshot(settled)
	if _, ok := files(snap)["README.md"]; ok || held(snap)["Readme.md"] != api.HeldTooLarge {
		t.Errorf("a held twin lost its place: %v", held(snap))
	}
}
