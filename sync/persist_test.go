package sync_test

import (
	"errors"
	"testing"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// TestLooseFilesAreNoBases: a text that was sent, and one that was found equal,
// count as agreed on once their files are durable. A disk that refuses one file
// keeps no other back, is told to people, and costs no second transfer.
func TestLooseFilesAreNoBases(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	broken := errors.New("input/output error")
	r.tree.broken = map[api.Key]error{key(t, "sent.md"): broken, key(t, "equal.md"): broken}
	r.tree.write("sent.md", "mine\n")
	r.tree.write("equal.md", "both\n")
	r.tree.write("fine.md", "also mine\n")
	r.remote.set("equal.md", "both\n")
	r.start(t, onDemand)

	report := r.sync(t, teamsync.Mode{NoPull: true})
	if report.Sent != 2 || report.Word != teamsync.Halted || !errors.Is(report.Err, broken) {
		t.Errorf("a disk that refuses two files: sent %d, %s, %v; want 2, halted, and why", report.Sent, report.Word, report.Err)
	}
	bases := r.bases(t)
	if got := bases[key(t, "fine.md")].Sum; got != api.SumString("also mine\n") {
		t.Errorf("the base of the file that is durable: %s", got)
	}
	for _, name := range []string{"sent.md", "equal.md"} {
		if base, there := bases[key(t, name)]; there {
			t.Errorf("%s has the base %s, and a loss of power may take its file", name, base.Sum)
		}
	}

	r.tree.broken = nil
	report = r.sync(t, teamsync.Mode{})
	if report.Sent+report.Received != 0 || report.Word != teamsync.InSync {
		t.Errorf("the disk works again: sent %d, received %d, %s; want nothing to travel", report.Sent, report.Received, report.Word)
	}
	for name, text := range map[string]string{"sent.md": "mine\n", "equal.md": "both\n"} {
		if got := r.bases(t)[key(t, name)].Sum; got != api.SumString(text) {
			t.Errorf("the base of %s afterwards: %s", name, got)
		}
	}
}

func (r *rig) bases(t *testing.T) map[api.Key]api.Base {
	t.Helper()
	memory, err := r.state.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return memory.Bases
}
