package statedir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
	"github.com/teammem/teammemd/sync/statedir"
)

var _ teamsync.Texts = (*statedir.Dir)(nil)

func keep(tb testing.TB, d *statedir.Dir, text string) api.Checksum {
	tb.Helper()
	sum := api.SumString(text)
	if err := d.Keep(tb.Context(), sum, text); err != nil {
		tb.Fatal(err)
	}
	return sum
}

func TestTexts(t *testing.T) {
	d := open(t, t.TempDir())
	sum := keep(t, d, "text")
	keep(t, d, "text")
	keep(t, d, "")
	if got, err := open(t, d.Path()).Text(t.Context(), sum); err != nil || got != "text" {
		t.Errorf("text %q, %v", got, err)
	}
	if _, err := d.Text(t.Context(), api.SumString("other")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a text that was never kept: %v", err)
	}
	info, err := os.Stat(filepath.Join(d.Path(), "texts", sum.Hex()))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// A power loss may leave a text torn: then it counts as not kept, and is written
// again.
func TestTornText(t *testing.T) {
	d := open(t, t.TempDir())
	sum := keep(t, d, "text")
	if err := os.WriteFile(filepath.Join(d.Path(), "texts", sum.Hex()), []byte("\x00\x00\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Text(t.Context(), sum); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a torn text reads as %q, %v", got, err)
	}
	keep(t, d, "text")
	if got, err := d.Text(t.Context(), sum); err != nil || got != "text" {
		t.Errorf("written again: %q, %v", got, err)
	}
}

func TestPruneKeepsTheTextsThatAreNeeded(t *testing.T) {
	d := open(t, t.TempDir())
	ofBase, ofCopy, old := keep(t, d, "of a base"), keep(t, d, "of a copy"), keep(t, d, "of nothing")
	commit(t, d, api.Record{Bases: map[api.Key]api.Base{key(t, "a.md"): {Sum: ofBase}}})
	saved := api.SavedCopy{Key: key(t, "a.md"), Content: "mine", Sum: api.SumString("mine"), At: noon, Why: "conflict", Base: ofCopy}
	if _, err := d.Save(t.Context(), saved); err != nil {
		t.Fatal(err)
	}
	if got := copies(t, d)[0].Base; got != ofCopy {
		t.Errorf("the copy's base is %s, want %s", got, ofCopy)
	}
	for i, now := range []time.Time{time.Now(), time.Now().Add(2 * time.Hour)} {
		if _, err := d.Prune(now); err != nil {
			t.Fatal(err)
		}
		for _, sum := range []api.Checksum{ofBase, ofCopy} {
			if _, err := d.Text(t.Context(), sum); err != nil {
				t.Errorf("after prune %d: %v", i, err)
			}
		}
		_, err := d.Text(t.Context(), old)
		if gone := errors.Is(err, fs.ErrNotExist); gone != (i == 1) {
			t.Errorf("after prune %d the text that nothing names: %v", i, err)
		}
	}
}

// A text that was found while it was displaced was made from the present base; of
// a conflict the engine knows better.
func TestBaseOfDisplacedText(t *testing.T) {
	d := open(t, t.TempDir())
	name := key(t, "a.md")
	base, other := api.SumString("base"), api.SumString("other")
	if err := d.Commit(t.Context(), api.Record{Bases: map[api.Key]api.Base{name: {Sum: base}}}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		why         string
		given, want api.Checksum
	}{
		{"displaced", api.Checksum{}, base},
		{"displaced", other, other},
		{"conflict", api.Checksum{}, api.Checksum{}},
		{"conflict", other, other},
	} {
		text := test.why + test.given.String()
		d := open(t, d.Path())
		id, err := d.Save(t.Context(), api.SavedCopy{Key: name, Content: text, Sum: api.SumString(text), Why: test.why, Base: test.given})
		if err != nil {
			t.Fatal(err)
		}
		if c, _, err := d.ReadCopy(id); err != nil || c.Base != test.want {
			t.Errorf("%s, given %s: base %s, %v", test.why, test.given, c.Base, err)
		}
	}
}
