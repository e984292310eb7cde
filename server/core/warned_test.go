package core_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
)

// tally counts findings.
type tally struct {
	mu    sync.Mutex
	found map[string]int
}

func (t *tally) Found(tier string, allowed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if allowed {
		tier += " let pass"
	}
	t.found[tier]++
}

func (t *tally) Wrote(int, int)        {}
func (t *tally) Scanned(time.Duration) {}
func (t *tally) Rescanning(int)        {}
func (t *tally) Rescanned(int, int)    {}

// TestWarningsAreCounted: a finding that never blocks is told to the meter by its
// tier, once for a text, and whatever else is in the text.
func TestWarningsAreCounted(t *testing.T) {
	t.Parallel()
	meter := &tally{found: map[string]int{}}
	c := newCore(t, core.Options{Meter: meter, Scan: func(_ context.Context, key, content string) ([]api.Finding, error) {
		var found []api.Finding
		for range strings.Count(content, "perhaps") {
			found = append(found, api.Finding{Key: key, Line: 1, Rule: "guess", Tier: api.TierWarn})
		}
		if strings.Contains(content, "surely") {
			found = append(found, api.Finding{Key: key, Line: 1, Rule: "mark", Tier: "block1"})
		}
		return found, nil
	}})
	push := func(key, content string) error {
		_, err := c.Push(t.Context(), core.Push{
			Repo: repoOf(t, "a/b"), Role: api.Writer, Request: api.PushRequest{Entries: map[string]string{key: content}},
		})
		return err
	}
	for range 2 { // the second is known
		if err := push("a.md", "perhaps, perhaps"); err != nil {
			t.Fatalf("a warning blocks: %v", err)
		}
	}
	if err := push("b.md", "perhaps, and surely"); err == nil {
		t.Error("a finding that blocks passed beside a warning")
	}
	if diff := cmp.Diff(map[string]int{"warn let pass": 3, "block1": 1}, meter.found); diff != "" {
		t.Errorf("counted (-want +got)\n%s", diff)
	}
}
