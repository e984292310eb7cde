package sync_test

import (
	"errors"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// ledgered is a view with a ledger of redactions.
func ledgered(epoch string, version uint64, sums map[api.Key]api.Checksum, gone ...string) teamsync.Viewed {
	v := viewed(epoch, version, sums)
	for _, text := range gone {
		v.View.Redacted = append(v.View.Redacted, api.SumString(text))
	}
	return v
}

// TestConfirmsWhatWasCleaned: at the very end of a cycle that carried out the
// ledger the server is told so, once, and again where it may not have heard it, has
// redacted more, or was restored.
func TestConfirmsWhatWasCleaned(t *testing.T) {
	t.Parallel()
	key := aKey(t)
	same := map[api.Key]api.Checksum{key: api.SumString("clean")}
	s := newScript(t, api.Memory{Epoch: "e", Version: 3, Bases: map[api.Key]api.Base{key: {Sum: api.SumString("clean"), Ring: []api.Checksum{api.SumString("leaked")}}}})
	look := func(wake teamsync.Event) {
		s.t.Helper()
		s.now = s.now.Add(time.Hour) // past any wait
		step[teamsync.Scan](s, wake)
		step[teamsync.Look](s, scanned(key, "clean"))
	}
	confirms := func(after teamsync.Event, want api.Position) {
		s.t.Helper()
		if got := step[teamsync.Confirm](s, after); got.At != want {
			s.t.Errorf("confirmed %v, want %v", got.At, want)
		}
	}

	look(teamsync.Ticked{})
	step[teamsync.Purge](s, ledgered("e", 4, same, "leaked"))
	commit := step[teamsync.Commit](s, teamsync.Purged{})
	if base := commit.Record.Bases[key]; len(base.Ring) != 0 {
		t.Errorf("the base is recorded as %+v", base)
	}
	confirms(teamsync.Committed{}, api.Position{Epoch: "e", Version: 4})
	s.ends(teamsync.Confirmed{Err: errors.New("the answer was lost")})

	look(teamsync.Ticked{})
	step[teamsync.Commit](s, ledgered("e", 5, same, "leaked"))
	confirms(teamsync.Committed{}, api.Position{Epoch: "e", Version: 5})
	s.ends(teamsync.Confirmed{})

	look(teamsync.Ticked{})
	step[teamsync.Commit](s, ledgered("e", 6, same, "leaked"))
	s.ends(teamsync.Committed{}) // nothing new about the ledger

	look(teamsync.Ticked{})
	step[teamsync.Purge](s, ledgered("e", 7, same, "leaked", "leaked later"))
	step[teamsync.Commit](s, teamsync.Purged{})
	confirms(teamsync.Committed{}, api.Position{Epoch: "e", Version: 7})
	s.ends(teamsync.Confirmed{})

	look(teamsync.Resolved{How: teamsync.AcceptServer})
	step[teamsync.Commit](s, ledgered("restored", 5, same, "leaked", "leaked later"))
	step[teamsync.Commit](s, teamsync.Committed{})
	confirms(teamsync.Committed{}, api.Position{Epoch: "restored", Version: 5})
	s.ends(teamsync.Confirmed{})
}

// TestBasesAreWashedForGood: what could not be recorded of a purge is recorded by
// the next cycle, and nothing is confirmed before.
func TestBasesAreWashedForGood(t *testing.T) {
	t.Parallel()
	key := aKey(t)
	same := map[api.Key]api.Checksum{key: api.SumString("clean")}
	s := newScript(t, api.Memory{Epoch: "e", Version: 4, Bases: map[api.Key]api.Base{key: {Sum: api.SumString("clean"), Ring: []api.Checksum{api.SumString("leaked")}}}})
	step[teamsync.Scan](s, teamsync.Ticked{})
	step[teamsync.Look](s, scanned(key, "clean"))
	step[teamsync.Purge](s, ledgered("e", 4, same, "leaked"))
	step[teamsync.Commit](s, teamsync.Purged{})
	full := errors.New("no space left on device")
	step[teamsync.Commit](s, teamsync.Committed{Err: full}) // once more, at the end
	s.ends(teamsync.Committed{Err: full})
	s.now = s.now.Add(time.Hour)
	step[teamsync.Scan](s, teamsync.Ticked{})
	step[teamsync.Look](s, scanned(key, "clean"))
	commit := step[teamsync.Commit](s, ledgered("e", 4, same, "leaked"))
	if base, ok := commit.Record.Bases[key]; !ok || len(base.Ring) != 0 {
		t.Errorf("the base is recorded as %+v, %v", base, ok)
	}
	step[teamsync.Confirm](s, teamsync.Committed{})
	s.ends(teamsync.Confirmed{})
}

// TestDoesNotConfirmWhatIsLeft: nothing is confirmed by a cycle that failed, that
// must not change anything, or that leaves such a text in the tree.
func TestDoesNotConfirmWhatIsLeft(t *testing.T) {
	t.Parallel()
	key := aKey(t)
	for name, c := range map[string]struct {
		wake teamsync.Event
		here string
		end  func(s *script)
	}{
		"the purge failed": {teamsync.Ticked{}, "clean", func(s *script) { s.ends(teamsync.Purged{Err: errors.New("no space left")}) }},
		"the text is held": {teamsync.Ticked{}, "leaked", func(s *script) { step[teamsync.Commit](s, teamsync.Purged{}); s.ends(teamsync.Committed{}) }},
		"pushing alone":    {teamsync.Asked{Mode: teamsync.Mode{NoPull: true}}, "clean", func(s *script) { step[teamsync.Commit](s, teamsync.Purged{}); s.ends(teamsync.Committed{}) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, api.Memory{Epoch: "e", Version: 3, Bases: map[api.Key]api.Base{key: {Sum: api.SumString(c.here)}}})
			sums := map[api.Key]api.Checksum{}
			if c.here == "clean" {
				sums[key] = api.SumString("clean")
			}
			step[teamsync.Scan](s, c.wake)
			step[teamsync.Look](s, scanned(key, c.here))
			step[teamsync.Purge](s, ledgered("e", 4, sums, "leaked"))
			c.end(s)
		})
	}
}
