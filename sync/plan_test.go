package sync_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

var (
	none = api.Checksum{}
	x    = api.SumString("x")
	y    = api.SumString("y")
	z    = api.SumString("z")
	old  = api.SumString("old")
)

func live(sum api.Checksum) api.Base { return api.Base{Sum: sum, Ring: []api.Checksum{old}} }

func TestPlanRows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		row  string
		f    teamsync.Facts
		want teamsync.Action
	}{
		{"same on both sides and remembered", teamsync.Facts{Local: x, Remote: x, Base: live(x)}, teamsync.Nothing},
		{"same on both sides, base older", teamsync.Facts{Local: x, Remote: x, Base: live(y)}, teamsync.Agree},
		{"same on both sides, no base", teamsync.Facts{Local: x, Remote: x}, teamsync.Agree},
		{"same on both sides, base a tombstone", teamsync.Facts{Local: x, Remote: x, Base: api.Base{Tomb: 3}}, teamsync.Agree},
		{"a teammate changed it", teamsync.Facts{Local: x, Remote: y, Base: live(x)}, teamsync.Pull},
		{"I changed it", teamsync.Facts{Local: y, Remote: x, Base: live(x)}, teamsync.Push},
		{"both changed it", teamsync.Facts{Local: y, Remote: z, Base: live(x)}, teamsync.Displace},
		{"both have it, nothing agreed", teamsync.Facts{Local: y, Remote: z}, teamsync.Displace},
		{"went back to a former content while a teammate changed it", teamsync.Facts{Local: old, Remote: z, Base: live(x)}, teamsync.Displace},
		{"deleted here", teamsync.Facts{Remote: x, Base: live(x)}, teamsync.Restore},
		{"new from the server", teamsync.Facts{Remote: x}, teamsync.Pull},
		{"deleted here, changed there", teamsync.Facts{Remote: y, Base: live(x)}, teamsync.Pull},
		{"new here", teamsync.Facts{Local: x}, teamsync.Push},
		{"retired there, unchanged here", teamsync.Facts{Local: x, Tomb: 7, Base: live(x)}, teamsync.Bury},
		{"retired there, a former content here", teamsync.Facts{Local: old, Tomb: 7, Base: live(x)}, teamsync.Bury},
		{"retired there, edited here", teamsync.Facts{Local: y, Tomb: 7, Base: live(x)}, teamsync.HoldForgotten},
		{"retired there, a new file here", teamsync.Facts{Local: y, Tomb: 7}, teamsync.HoldForgotten},
		{"retired there, absent here", teamsync.Facts{Tomb: 7, Base: live(x)}, teamsync.MarkBuried},
		{"retired there, absent here, remembered", teamsync.Facts{Tomb: 7, Base: api.Base{Tomb: 7}}, teamsync.Nothing},
		{"the server lost it", teamsync.Facts{Local: x, Base: live(x)}, teamsync.Push},
		{"changed here, lost there", teamsync.Facts{Local: y, Base: live(x)}, teamsync.Push},
		{"revived on purpose", teamsync.Facts{Remote: x, Base: api.Base{Tomb: 7}}, teamsync.Pull},
		{"revived there, held as forgotten here", teamsync.Facts{Local: y, Remote: x, Base: api.Base{Tomb: 7}}, teamsync.Displace},
		{"gone on both sides", teamsync.Facts{Base: live(x)}, teamsync.Forget},
		{"never there", teamsync.Facts{}, teamsync.Nothing},
		{"held here, changed there", teamsync.Facts{Local: y, Held: true, Remote: z, Base: live(x)}, teamsync.Nothing},
		{"held here, retired there", teamsync.Facts{Held: true, Tomb: 7, Base: live(x)}, teamsync.Nothing},
		{"a secret on the server", teamsync.Facts{Local: x, Remote: y, Base: api.Base{Sum: x, Bad: y}}, teamsync.HoldBad},
		{"a secret on the server, new", teamsync.Facts{Remote: y, Base: api.Base{Bad: y}}, teamsync.HoldBad},
		{"a secret on both sides", teamsync.Facts{Local: x, Remote: x, Base: api.Base{Sum: x, Bad: x}}, teamsync.Nothing},
		{"a secret on both sides, taken out here", teamsync.Facts{Local: y, Remote: x, Base: api.Base{Sum: x, Bad: x}}, teamsync.Push},
		{"a secret on both sides, deleted here", teamsync.Facts{Remote: x, Base: api.Base{Sum: x, Bad: x}}, teamsync.HoldBad},
		{"the secret on the server was replaced", teamsync.Facts{Local: x, Remote: z, Base: api.Base{Sum: x, Bad: y}}, teamsync.Pull},
	}
	for _, tt := range tests {
		if got := teamsync.Plan(tt.f); got != tt.want {
			t.Errorf("%s: Plan = %v, want %v", tt.row, got, tt.want)
		}
	}
}

// TestPlanEveryState walks every combination over a small alphabet and checks
// what no plan may ever do.
func TestPlanEveryState(t *testing.T) {
	t.Parallel()
	sums := []api.Checksum{none, x, y, z, old}
	bases := []api.Base{{}, {Tomb: 5}, {Tomb: 7}, {Tomb: 5, Ring: []api.Checksum{x}}}
	for _, s := range sums[1:] {
		bases = append(bases, live(s), api.Base{Sum: s}, api.Base{Sum: s, Bad: y}, api.Base{Bad: s})
	}
	states := 0
	for _, local := range sums {
		for _, remote := range sums {
			for _, tomb := range []uint64{0, 5, 7} {
				for _, base := range bases {
					for _, held := range []bool{false, true} {
						f := teamsync.Facts{Local: local, Held: held, Remote: remote, Tomb: tomb, Base: base}
						if tomb != 0 {
							f.Remote = none
						}
						checkPlan(t, f)
						states++
					}
				}
			}
		}
	}
	if states != 3000 {
		t.Errorf("%d states were checked, want 3000", states)
	}
}

func TestPlanRandomStates(t *testing.T) {
	t.Parallel()
	sum := rapid.SampledFrom([]api.Checksum{none, x, y, z, old})
	rapid.Check(t, func(rt *rapid.T) {
		f := teamsync.Facts{
			Local: sum.Draw(rt, "local"), Held: rapid.Bool().Draw(rt, "held"), Remote: sum.Draw(rt, "remote"),
			Tomb: rapid.SampledFrom([]uint64{0, 0, 3, 4}).Draw(rt, "tomb"),
			Base: api.Base{Sum: sum.Draw(rt, "base"), Bad: sum.Draw(rt, "bad"), Ring: rapid.SliceOfN(sum, 0, 3).Draw(rt, "ring")},
		}
		if f.Tomb != 0 {
			f.Remote = none
		}
		checkPlan(rt, f)
	})
}

type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkPlan states the promises, each from the rule that a person was given and
// not from the code.
func checkPlan(t failer, f teamsync.Facts) {
	t.Helper()
	action := teamsync.Plan(f)
	known := f.Local == f.Base.Sum
	for _, s := range f.Base.Ring {
		known = known || s == f.Local
	}
	switch action {
	case teamsync.Push:
		if f.Local == none || f.Local == f.Remote || f.Tomb != 0 {
			t.Errorf("%+v: pushes nothing, the same, or over a tombstone", f)
		}
		if f.Remote != none && f.Remote != f.Base.Sum {
			t.Errorf("%+v: pushes over a content that was not the base", f)
		}
	case teamsync.Pull:
		if f.Local != none && f.Local != f.Base.Sum {
			t.Errorf("%+v: displaces unknown text without a saved copy", f)
		}
	case teamsync.Restore:
		if f.Local != none || f.Remote != f.Base.Sum {
			t.Errorf("%+v: restores what was not deleted", f)
		}
	case teamsync.Bury:
		if f.Tomb == 0 || f.Local == none || !known {
			t.Errorf("%+v: buries what was not retired, or text that the server never had", f)
		}
	case teamsync.Forget:
		if f.Local != none || f.Remote != none || f.Tomb != 0 {
			t.Errorf("%+v: forgets a key that somebody has", f)
		}
	}
	writes := action == teamsync.Pull || action == teamsync.Restore || action == teamsync.Displace
	if writes && (f.Remote == none || f.Remote == f.Base.Bad) {
		t.Errorf("%+v: writes nothing, or a content with a secret, into the tree", f)
	}
	if f.Held && action != teamsync.Nothing {
		t.Errorf("%+v: %v of a held file", f, action)
	}
	settled := f.Local == f.Remote && f.Remote == f.Base.Sum && f.Tomb == 0
	if settled && action != teamsync.Nothing && action != teamsync.Forget {
		t.Errorf("%+v: %v of what is in sync", f, action)
	}
}
