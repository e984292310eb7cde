package bench

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// copyist is a contender that is two directories and what a test makes of them.
type copyist struct {
	sides   [2]string
	resolve func(c *copyist) error // once for each time that the sides differ
	copies  []savedCopy
	misses  bool // restores nothing
}

func (c *copyist) name() string                      { return "copyist" }
func (c *copyist) begin(context.Context, *rig) error { return nil }
func (c *copyist) dirs() [2]string                   { return c.sides }

func (c *copyist) settled(context.Context, time.Duration) (bool, error) {
	return true, c.resolve(c)
}

func (c *copyist) saved(context.Context) ([]savedCopy, error) {
	fresh := c.copies
	c.copies = nil
	return fresh, nil
}

func (c *copyist) restore(_ context.Context, k savedCopy) error {
	if c.misses {
		return nil
	}
	for _, dir := range c.sides { // as if it had travelled
		if err := writeTexts(dir, snapshot{k.key: k.text}); err != nil {
			return err
		}
	}
	return nil
}

func writeTexts(dir string, all snapshot) error {
	for key, text := range all {
		if err := os.WriteFile(filepath.Join(dir, key), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// firstWins lets the first side win. keep makes copies of the other's texts;
// litter puts them into the directories.
func firstWins(keep, litter bool) func(*copyist) error {
	return func(c *copyist) error {
		sides, err := readBoth(c.sides)
		if err != nil {
			return err
		}
		for key, text := range sides[1] {
			if text == sides[0][key] || !strings.HasPrefix(key, "note-") {
				continue
			}
			if keep {
				c.copies = append(c.copies, savedCopy{side: 1, id: key, key: key, text: text})
			}
			if litter {
				sides[0]["conflict-"+key] = text
			}
		}
		return writeTexts(c.sides[1], sides[0])
	}
}

// TestRaceIsJudged races programs that lose edits, litter, do not converge or
// cannot restore: each fault is counted, and none is seen where there is none.
func TestRaceIsJudged(t *testing.T) {
	for _, tt := range []struct {
		name    string
		resolve func(*copyist) error
		misses  bool
		want    RaceResult
		good    bool
	}{
		{"keeps copies", firstWins(true, false), false, RaceResult{Equal: 6, Copies: 6, Restorable: 6}, true},
		{"loses", firstWins(false, false), false, RaceResult{Lost: 6, Equal: 6}, false},
		{"litters", firstWins(false, true), false, RaceResult{Equal: 6, Extra: 3}, false},
		{"does nothing", func(*copyist) error { return nil }, false, RaceResult{}, false},
		{"cannot restore", firstWins(true, false), true, RaceResult{Equal: 6, Copies: 6}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &copyist{sides: [2]string{t.TempDir(), t.TempDir()}, resolve: tt.resolve, misses: tt.misses}
			for i := range 3 { // what the race begins with, as if it had travelled
				if err := writeTexts(c.sides[1], snapshot{noteKey(i): noteText("the beginning", i)}); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Race{Rounds: 2, Files: 3}.run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Name, tt.want.Rounds, tt.want.Files, tt.want.Edits = "copyist", 2, 6, 12
			good := got.AsPromised()
			got.Within, got.Settled = 0, 0
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if good != tt.good {
				t.Errorf("as promised: %v, want %v", good, tt.good)
			}
		})
	}
}
