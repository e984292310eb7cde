package sync_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// strict is a guard whose rules change: it finds words, of which those with a
// plus are in two pieces, lets some pass that a
// person allowed or the server vouches for, and counts what it is asked.
type strict struct {
	rules   string
	words   []string
	allowed map[string]bool // words
	asked   atomic.Int32
}

func (g *strict) Rules() string { return g.rules }

func (g *strict) Check(_ context.Context, k api.Key, content string, vouched api.Vouched) ([]api.Finding, error) {
	g.asked.Add(1)
	var found []api.Finding
	for _, word := range g.words {
		if slices.ContainsFunc(strings.Split(word, "+"), func(part string) bool { return !strings.Contains(content, part) }) {
			continue
		}
		f := api.Finding{Key: k.String(), Line: 1, Column: 1, Rule: "rule-" + word, Tier: api.TierBlock3, Reason: "it says so"}
		if g.allowed[word] {
			f.Allowed = "example"
		} else if vouched.Sum == api.SumString(content) {
			f.Allowed = vouched.Rules[f.Rule]
		}
		found = append(found, f)
	}
	return found, nil
}

// ruled is a rig with a strict guard.
func ruled(t *testing.T, g *strict) *rig {
	t.Helper()
	r := newRig(t)
	r.start(t, func(o *teamsync.Options) { o.OnDemand, o.Guard = true, g })
	return r
}

func heldAs(r teamsync.Report, name string) (teamsync.Held, bool) {
	for _, h := range r.Held {
		if h.Path == name {
			return h, true
		}
	}
	return teamsync.Held{}, false
}

// TestNewRulesJudgeEverything: texts that both sides have are judged again when
// the rules change, once; what is found is told until it is taken out, and the
// clean text then travels.
func TestNewRulesJudgeEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &strict{rules: "1"}
		r := ruled(t, g)
		r.tree.write("bad.md", "swordfish")
		r.tree.write("good.md", "plain")
		r.sync(t, teamsync.Mode{})
		g.asked.Store(0)
		if got := r.sync(t, teamsync.Mode{}); g.asked.Load() != 0 || len(got.Held) != 0 {
			t.Fatalf("the same rules judged %d texts again and hold %v", g.asked.Load(), got.Held)
		}

		g.rules, g.words = "2", []string{"swordfish"}
		for range 2 {
			got := r.sync(t, teamsync.Mode{})
			h, ok := heldAs(got, "bad.md")
			if !ok || h.Reason != api.HeldSecret || !h.OnServer || h.Rule != "rule-swordfish" || h.Line != 1 || len(got.Held) != 1 {
				t.Errorf("held %+v", got.Held)
			}
		}
		if got := g.asked.Load(); got != 3 {
			t.Errorf("%d texts were judged, want both, then the bad one", got)
		}
		r.remote.want("judged anew", "bad.md", "swordfish")
		r.tree.want("judged anew", "bad.md", "swordfish")

		r.tree.write("bad.md", "scrubbed")
		if got := r.sync(t, teamsync.Mode{}); got.Sent != 1 || len(got.Held) != 0 {
			t.Errorf("%d sent and %v held after it was taken out", got.Sent, got.Held)
		}
	})
}

// TestNewRulesSurviveARestart: an engine that ends in between judges all the
// same, because the rules are part of what is remembered.
func TestNewRulesSurviveARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &strict{rules: "1"}
		r := newRig(t)
		stop := r.start(t, func(o *teamsync.Options) { o.OnDemand, o.Guard = true, g })
		r.tree.write("bad.md", "swordfish")
		r.sync(t, teamsync.Mode{})
		stop()
		g = &strict{rules: "2", words: []string{"swordfish"}}
		stop = r.start(t, func(o *teamsync.Options) { o.OnDemand, o.Guard = true, g })
		if _, ok := heldAs(r.sync(t, teamsync.Mode{}), "bad.md"); !ok {
			t.Error("not held after the rules changed")
		}
		stop()
		g = &strict{rules: "2", words: []string{"swordfish"}}
		r.start(t, func(o *teamsync.Options) { o.OnDemand, o.Guard = true, g })
		if _, ok := heldAs(r.sync(t, teamsync.Mode{}), "bad.md"); !ok {
			t.Error("forgotten by a restart")
		}
	})
}

// TestHalfACycleIsNotAll: a cycle that leaves something out does not count as one
// that judged everything.
func TestHalfACycleIsNotAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &strict{rules: "1"}
		r := ruled(t, g)
		r.tree.write("a.md", "plain")
		r.sync(t, teamsync.Mode{})
		g.rules = "2"
		r.sync(t, teamsync.Mode{NoPull: true})
		r.sync(t, teamsync.Mode{DryRun: true})
		if got := r.state.memory.Rules; got != "1" {
			t.Errorf("judged by %q after half a cycle and a dry one, want 1", got)
		}
		r.sync(t, teamsync.Mode{})
		if got := r.state.memory.Rules; got != "2" {
			t.Errorf("judged by %q, want 2", got)
		}
	})
}

// TestFirstMeetingIsJudged: a text that both sides have before anything was
// agreed on is judged as well.
func TestFirstMeetingIsJudged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &strict{rules: "1", words: []string{"swordfish"}}
		r := ruled(t, g)
		r.remote.set("bad.md", "swordfish")
		r.tree.write("bad.md", "swordfish")
		if h, ok := heldAs(r.sync(t, teamsync.Mode{}), "bad.md"); !ok || !h.OnServer {
			t.Errorf("held %+v", h)
		}
		// Later as well, when everything else was judged long ago.
		r.remote.set("worse.md", "another swordfish")
		r.tree.write("worse.md", "another swordfish")
		if h, ok := heldAs(r.sync(t, teamsync.Mode{}), "worse.md"); !ok || !h.OnServer {
			t.Errorf("held %+v", h)
		}
	})
}

// TestBadTextComesWithOtherRules: what was kept away is asked for again when the
// rules change, and comes when it is good by then.
func TestBadTextComesWithOtherRules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &strict{rules: "1", words: []string{"swordfish"}}
		r := ruled(t, g)
		r.remote.set("bad.md", "swordfish")
		if h, ok := heldAs(r.sync(t, teamsync.Mode{}), "bad.md"); !ok || h.Reason != api.HeldSecretOnServer {
			t.Errorf("held %+v", h)
		}
		g.rules, g.allowed = "1 and more", map[string]bool{"swordfish": true}
		if got := r.sync(t, teamsync.Mode{}); got.Received != 1 || len(got.Held) != 0 {
			t.Errorf("%d received and %v held", got.Received, got.Held)
		}
	})
}

// TestAllowedTravels: what a person let pass is said beside the text, and what
// the server vouches for is taken from it.
func TestAllowedTravels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &strict{rules: "1", words: []string{"swordfish", "other"}, allowed: map[string]bool{"swordfish": true}}
		r := ruled(t, g)
		r.tree.write("a.md", "swordfish")
		r.tree.write("b.md", "swordfish and other")
		got := r.sync(t, teamsync.Mode{})
		if h, ok := heldAs(got, "b.md"); got.Sent != 1 || !ok || h.Rule != "rule-other" {
			t.Errorf("%d sent, held %+v", got.Sent, got.Held)
		}
		want := map[string]string{"rule-swordfish": "example"}
		if diff := cmp.Diff(want, r.remote.pushes[0].Entries[0].Allowed); diff != "" {
			t.Error(diff)
		}

		r.remote.vouch("c.md", "other", map[string]string{"rule-other": "revoked"})
		if got := r.sync(t, teamsync.Mode{}); got.Received != 1 {
			t.Errorf("%d received, held %+v", got.Received, got.Held)
		}
		g.rules = "2" // judged again where it stands, it is still vouched for
		got = r.sync(t, teamsync.Mode{})
		if h, ok := heldAs(got, "c.md"); ok {
			t.Errorf("held %+v", h)
		}
	})
}

// TestMergeOutputIsJudged: two edits that are harmless each make a secret
// together: it does not leave.
func TestMergeOutputIsJudged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &strict{rules: "1", words: []string{"ONE+SEVEN"}}
		r, _ := divided(t, func(o *teamsync.Options) { o.Merge, o.Guard = true, g }, mine, theirs)
		r.tree.merges = map[string]string{both: theirs}
		got := r.sync(t, teamsync.Mode{})
		r.tree.want("merged", "a.md", both)
		if h, ok := heldAs(got, "a.md"); !ok || h.Reason != api.HeldSecret {
			t.Errorf("held %+v", got.Held)
		}
		r.remote.want("merged", "a.md", theirs)
	})
}
