package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
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
	copies  []keptCopy
	misses  bool // restores nothing
}

func (c *copyist) name() string                      { return "copyist" }
func (c *copyist) begin(context.Context, *rig) error { return nil }
func (c *copyist) dirs() [2]string                   { return c.sides }

func (c *copyist) settled(context.Context, time.Duration) (bool, error) {
	return true, c.resolve(c)
}

func (c *copyist) kept(context.Context) ([]keptCopy, error) {
	fresh := c.copies
	c.copies = nil
	return fresh, nil
}

func (c *copyist) restore(_ context.Context, k keptCopy) error {
	if c.misses {
		return nil
	}
	for _, dir := range c.sides { // as if it had travelled
		if err := writeLeaves(dir, leaves{k.key: k.text}); err != nil {
			return err
		}
	}
	return nil
}

func writeLeaves(dir string, all leaves) error {
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
				c.copies = append(c.copies, keptCopy{side: 1, id: key, key: key, text: text})
			}
			if litter {
				sides[0]["conflict-"+key] = text
			}
		}
		return writeLeaves(c.sides[1], sides[0])
	}
}

// TestRaceIsJudged races programs that lose edits, litter, do not converge or
// cannot restore: each fault is counted, and none is seen where there is none.
func TestRaceIsJudged(t *testing.T) {
	for _, tt := range []struct {
		name    string
		resolve func(*copyist) error
		misses  bool
		want    raceResult
		good    bool
	}{
		{"keeps copies", firstWins(true, false), false, raceResult{Equal: 6, Copies: 6, Restorable: 6}, true},
		{"loses", firstWins(false, false), false, raceResult{Lost: 6, Equal: 6}, false},
		{"litters", firstWins(false, true), false, raceResult{Equal: 6, Extra: 3}, false},
		{"does nothing", func(*copyist) error { return nil }, false, raceResult{}, false},
		{"cannot restore", firstWins(true, false), true, raceResult{Equal: 6, Copies: 6}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &copyist{sides: [2]string{t.TempDir(), t.TempDir()}, resolve: tt.resolve, misses: tt.misses}
			for i := range 3 { // what the race begins with, as if it had travelled
				if err := writeLeaves(c.sides[1], leaves{raceKey(i): raceText("the beginning", i)}); err != nil {
					t.Fatal(err)
				}
			}
			got, err := race{rounds: 2, files: 3}.run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Name, tt.want.Rounds, tt.want.Files, tt.want.Edits = "copyist", 2, 6, 12
			good := got.asPromised()
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

func TestLatencyOf(t *testing.T) {
	ms := func(all ...int) (out []time.Duration) {
		for _, n := range all {
			out = append(out, time.Duration(n)*time.Millisecond)
		}
		return out
	}
	for _, tt := range []struct {
		took []time.Duration
		want latencyResult
	}{
		{ms(7), latencyResult{"x", 1, 7, 7, 7, 7}},
		{ms(3, 1, 2), latencyResult{"x", 3, 2, 3, 1, 3}},
		{ms(20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1), latencyResult{"x", 20, 10, 19, 1, 20}},
	} {
		if diff := cmp.Diff(tt.want, latencyOf("x", tt.took)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestSyncthingKeepsToItself reads the configuration that Syncthing is given.
func TestSyncthingKeepsToItself(t *testing.T) {
	s := &syncthing{delay: 1}
	for i, id := range []string{"ONE", "TWO"} {
		s.sides[i] = syncthingSide{house: house{dir: t.TempDir()}, id: id, port: 1000 + i}
		if err := os.MkdirAll(s.sides[i].home(), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.configure(&s.sides[1]); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.sides[1].home(), "config.xml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(text, &stConfig{}); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"<listenAddress>tcp://127.0.0.1:1001</listenAddress>", "<address>tcp://127.0.0.1:1000</address>",
		"<globalAnnounceEnabled>false<", "<localAnnounceEnabled>false<", "<relaysEnabled>false<", "<natEnabled>false<",
		"<stunKeepaliveStartS>0<", "<urAccepted>-1<", "<crashReportingEnabled>false<", "<autoUpgradeIntervalH>0<",
		"<startBrowser>false<", `<gui enabled="false">`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestFirstLine(t *testing.T) {
	f := newFirstLine()
	line := f.line
	for _, part := range []string{"listen", "ing http://", "x\nmore\n", "and more\n"} {
		if n, err := f.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if got := <-line; got != "listening http://x" {
		t.Errorf("%q", got)
	}
}

func TestBenchAnswerHasNoNull(t *testing.T) {
	text, err := json.Marshal(newBenchAnswer(benchFlags{debounce: 1500 * time.Microsecond}, []raceResult{}, nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); strings.Contains(got, "null") || !strings.Contains(got, `"debounce_ms":1.5`) {
		t.Errorf("%s", got)
	}
}
