package sync_test

import (
	"slices"
	"testing"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// table is the table of rules, a row each. In every state exactly one row
// holds, and the plan does what it says.
var table = []struct {
	meaning string
	when    func(teamsync.Facts) bool
	action  teamsync.Action
}{
	{"held", func(f teamsync.Facts) bool { return f.Held }, teamsync.Nothing},
	{"same, and remembered", free(func(f teamsync.Facts) bool { return isLive(f) && f.Local == f.Remote && f.Base.Sum == f.Remote }), teamsync.Nothing},
	{"same", free(func(f teamsync.Facts) bool { return isLive(f) && f.Local == f.Remote && f.Base.Sum != f.Remote }), teamsync.Agree},
	{
		"the server's text holds a secret", free(func(f teamsync.Facts) bool {
			return isLive(f) && f.Local != f.Remote && f.Base.Bad == f.Remote && (!here(f) || f.Base.Sum != f.Remote)
		}),
		teamsync.HoldBad,
	},
	{
		"it holds a secret, and I changed it", free(func(f teamsync.Facts) bool {
			return isLive(f) && f.Local != f.Remote && f.Base.Bad == f.Remote && here(f) && f.Base.Sum == f.Remote
		}),
		teamsync.Push,
	},
	{
		"a teammate changed it", clean(func(f teamsync.Facts) bool { return here(f) && f.Local == f.Base.Sum && f.Remote != f.Base.Sum }),
		teamsync.Pull,
	},
	{
		"I changed it", clean(func(f teamsync.Facts) bool { return here(f) && f.Local != f.Base.Sum && f.Remote == f.Base.Sum }),
		teamsync.Push,
	},
	{
		"conflict", clean(func(f teamsync.Facts) bool { return here(f) && f.Local != f.Base.Sum && f.Remote != f.Base.Sum }),
		teamsync.Displace,
	},
	{"I deleted the file", clean(func(f teamsync.Facts) bool { return !here(f) && f.Remote == f.Base.Sum }), teamsync.Restore},
	{
		"new from the server, deleted here and changed there, or revived",
		clean(func(f teamsync.Facts) bool { return !here(f) && f.Remote != f.Base.Sum }), teamsync.Pull,
	},
	{
		"the text here was redacted", func(f teamsync.Facts) bool {
			return gone(f) && isLive(f) && f.Local != f.Remote && f.Base.Bad != f.Remote
		},
		teamsync.Pull,
	},
	{
		"the text here was redacted, and the server's holds a secret",
		func(f teamsync.Facts) bool {
			return gone(f) && isLive(f) && f.Local != f.Remote && f.Base.Bad == f.Remote
		}, teamsync.HoldBad,
	},
	{"redacted, and on the server all the same", func(f teamsync.Facts) bool { return gone(f) && f.Local == f.Remote && f.Base.Sum == f.Remote }, teamsync.Nothing},
	{"redacted, on the server, and new here", func(f teamsync.Facts) bool { return gone(f) && f.Local == f.Remote && f.Base.Sum != f.Remote }, teamsync.Agree},
	{"redacted, with nothing in its place", func(f teamsync.Facts) bool { return gone(f) && absent(f) }, teamsync.HoldRedacted},
	{"redacted and retired", func(f teamsync.Facts) bool { return gone(f) && f.Tomb != 0 }, teamsync.Bury},
	{"new here, or lost there", free(func(f teamsync.Facts) bool { return absent(f) && here(f) }), teamsync.Push},
	{"gone", free(func(f teamsync.Facts) bool { return absent(f) && !here(f) && remembers(f.Base) }), teamsync.Forget},
	{"never there", free(func(f teamsync.Facts) bool { return absent(f) && !here(f) && !remembers(f.Base) }), teamsync.Nothing},
	{"retired, and known here", free(func(f teamsync.Facts) bool { return f.Tomb != 0 && here(f) && knows(f) }), teamsync.Bury},
	{"retired, and edited here", free(func(f teamsync.Facts) bool { return f.Tomb != 0 && here(f) && !knows(f) }), teamsync.HoldForgotten},
	{"retired", free(func(f teamsync.Facts) bool { return f.Tomb != 0 && !here(f) && f.Base.Tomb != f.Tomb }), teamsync.MarkBuried},
	{"retired, and remembered", free(func(f teamsync.Facts) bool { return f.Tomb != 0 && !here(f) && f.Base.Tomb == f.Tomb }), teamsync.Nothing},
}

func free(when func(teamsync.Facts) bool) func(teamsync.Facts) bool {
	return func(f teamsync.Facts) bool { return !f.Held && !f.Redacted && when(f) }
}

// clean is a live content of the server that may be used, and is not here.
func clean(when func(teamsync.Facts) bool) func(teamsync.Facts) bool {
	return free(func(f teamsync.Facts) bool {
		return isLive(f) && f.Local != f.Remote && f.Base.Bad != f.Remote && when(f)
	})
}

// gone is a text here that the team took away for good.
func gone(f teamsync.Facts) bool { return !f.Held && f.Redacted }

func here(f teamsync.Facts) bool   { return f.Local != none }
func isLive(f teamsync.Facts) bool { return f.Remote != none && f.Tomb == 0 }
func absent(f teamsync.Facts) bool { return f.Remote == none && f.Tomb == 0 }

func knows(f teamsync.Facts) bool {
	return f.Local == f.Base.Sum || slices.Contains(f.Base.Ring, f.Local)
}

func remembers(b api.Base) bool {
	return b.Sum != none || b.Tomb != 0 || b.Bad != none || len(b.Ring) > 0
}

func TestPlanIsTheTable(t *testing.T) {
	t.Parallel()
	states, seen := 0, map[string]int{}
	everyState(func(f teamsync.Facts) {
		states++
		var rows []string
		for _, row := range table {
			if !row.when(f) {
				continue
			}
			rows = append(rows, row.meaning)
			seen[row.meaning]++
			if got := teamsync.Plan(f); got != row.action {
				t.Errorf("%s: %+v is planned as %v, want %v", row.meaning, f, got, row.action)
			}
		}
		if len(rows) != 1 {
			t.Errorf("%+v is in %d rows: %q", f, len(rows), rows)
		}
	})
	for _, row := range table {
		if seen[row.meaning] == 0 {
			t.Errorf("none of %d states is in the row %q", states, row.meaning)
		}
	}
}

// everyState walks all states over an alphabet of four contents, a tombstone or
// another, and bases with all of them.
func everyState(visit func(teamsync.Facts)) {
	sums := []api.Checksum{none, x, y, z, old}
	rings := [][]api.Checksum{nil, {x}, {old, y}}
	for _, local := range sums {
		for _, remote := range sums {
			for _, tomb := range []uint64{0, 5, 7} {
				if tomb != 0 && remote != none {
					continue // a key is live or retired
				}
				for _, sum := range sums {
					for _, bad := range []api.Checksum{none, y, z} {
						for _, ring := range rings {
							for _, buried := range []uint64{0, 5, 7} {
								if buried != 0 && sum != none {
									continue
								}
								f := teamsync.Facts{Local: local, Remote: remote, Tomb: tomb, Base: api.Base{Sum: sum, Tomb: buried, Ring: ring, Bad: bad}}
								visit(f)
								if f.Redacted = here(f); f.Redacted {
									visit(f)
								}
								f.Held = true
								visit(f)
							}
						}
					}
				}
			}
		}
	}
}
