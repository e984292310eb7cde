package sync_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// foldingTree is a team directory on a file system without case, as macOS and
// Windows have them: a name that is there stands for all its spellings.
type foldingTree struct{ *tree }

// twin returns the spelling under which a key is there, the zero key for none.
func (f foldingTree) twin(k api.Key) api.Key {
	f.mu.Lock()
	defer f.mu.Unlock()
	for other := range f.files {
		if other != k && other.Fold() == k.Fold() {
			return other
		}
	}
	return api.Key{}
}

func (f foldingTree) Place(ctx context.Context, placements []api.Placement) []api.Placed {
	placed := make([]api.Placed, 0, len(placements))
	for _, p := range placements {
		if other := f.twin(p.Key); !other.IsZero() {
			placed = append(placed, api.Placed{Err: &api.HeldError{Reason: api.HeldCaseTwin, Detail: other.String() + " is in its place"}})
			continue
		}
		placed = append(placed, f.tree.Place(ctx, []api.Placement{p})...)
	}
	return placed
}

// rename gives a file another spelling, as `mv` does there.
func (f foldingTree) rename(from, to string) {
	content, _ := f.read(from)
	f.remove(from)
	f.write(to, content)
}

// TestF15TwinsFromTheServer: a server that refuses no twins has two keys that are
// one file here. One arrives, the other one is held, and nothing goes round.
func TestF15TwinsFromTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		folding := foldingTree{r.tree}
		r.remote.set("README.md", "upper")
		r.remote.set("readme.md", "lower")
		r.remote.set("stra\u00dfe.md", "eszett")
		r.remote.set("STRASSE.md", "capitals")
		r.remote.set("other.md", "other")
		r.start(t, func(o *teamsync.Options) { onDemand(o); o.Tree = folding })
		for cycle := range 10 {
			got := r.sync(t, teamsync.Mode{})
			twins := 0
			for _, held := range got.Held {
				if held.Reason == api.HeldCaseTwin {
					twins++
				}
			}
			if twins != 2 || len(r.tree.files) != 3 || len(r.remote.pushes) != 0 || got.Sent != 0 || cycle > 0 && got.Received != 0 {
				t.Fatalf("cycle %d: %d held as twins, %d files, %d pushes, report %+v", cycle, twins, len(r.tree.files), len(r.remote.pushes), got)
			}
		}
		r.tree.want("beside twins", "other.md", "other")
		if copies := r.state.copies(); len(copies) != 0 {
			t.Errorf("saved copies: %+v", copies)
		}
	})
}

// TestF15RenamedInCaseOnly: somebody gives a file another spelling where both are
// one. The server refuses the new one while it has the old one, and both rest.
func TestF15RenamedInCaseOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		folding := foldingTree{r.tree}
		r.remote.before = func(call string, batch api.Batch) error {
			var twins []api.Finding
			for _, o := range batch.Entries {
				if name := o.Key.String(); name != "README.md" && strings.EqualFold(name, "README.md") {
					twins = append(twins, api.Finding{Key: name, Reason: "README.md differs from it in case only"})
				}
			}
			if call != "push" || len(twins) == 0 {
				return nil
			}
			return &api.Error{Err: api.ErrKeyConflict, Details: api.Details{Findings: twins}}
		}
		r.tree.write("README.md", "text")
		r.start(t, func(o *teamsync.Options) { onDemand(o); o.Tree = folding })
		r.sync(t, teamsync.Mode{})
		folding.rename("README.md", "readme.md")
		r.tree.write("other.md", "other")
		pushes := 0
		for cycle := range 10 {
			got := r.sync(t, teamsync.Mode{})
			if cycle == 0 {
				pushes = len(r.remote.pushes)
			}
			if content, _ := r.tree.read("readme.md"); content != "text" || len(r.tree.files) != 2 || len(got.Held) != 2 {
				t.Fatalf("cycle %d: readme.md holds %q of %d files, report %+v", cycle, content, len(r.tree.files), got)
			}
		}
		if len(r.remote.pushes) != pushes {
			t.Errorf("%d pushes went round", len(r.remote.pushes)-pushes)
		}
		r.remote.want("beside twins", "other.md", "other")
		folding.rename("readme.md", "README.md")
		if got := r.sync(t, teamsync.Mode{}); len(got.Held) != 0 || got.Word != teamsync.InSync {
			t.Errorf("renamed back: %+v", got)
		}
	})
}
