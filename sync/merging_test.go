package sync_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// texts keeps the texts of bases in memory.
type texts struct {
	t    *testing.T
	kept map[api.Checksum]string
}

func (x *texts) Keep(_ context.Context, sum api.Checksum, text string) error {
	if api.SumString(text) != sum {
		x.t.Errorf("a text was kept under another's checksum")
	}
	x.kept[sum] = text
	return nil
}

func (x *texts) Text(_ context.Context, sum api.Checksum) (string, error) {
	if text, ok := x.kept[sum]; ok {
		return text, nil
	}
	return "", fs.ErrNotExist
}

const (
	poem   = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
	mine   = "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n"
	theirs = "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"
	both   = "ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"
)

// divided is a rig on which both sides have edited a text that both had.
func divided(t *testing.T, change func(*teamsync.Options), mine, theirs string) (*rig, *texts) {
	t.Helper()
	r, x := newRig(t), &texts{t, map[api.Checksum]string{}}
	r.tree.write("a.md", poem)
	r.start(t, func(o *teamsync.Options) {
		o.OnDemand, o.Texts = true, x
		change(o)
	})
	r.sync(t, teamsync.Mode{})
	r.tree.write("a.md", mine)
	r.remote.set("a.md", theirs)
	return r, x
}

func merging(o *teamsync.Options) { o.Merge = true }

func TestEditsThatDoNotOverlapAreMerged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := divided(t, merging, mine, theirs)
		r.tree.merges = map[string]string{both: theirs}
		got := r.sync(t, teamsync.Mode{})
		if got.Word != teamsync.InSync || len(got.Conflicts) != 0 {
			t.Errorf("report %+v, want in sync without a conflict", got)
		}
		r.tree.want("merged", "a.md", both)
		r.remote.want("merged", "a.md", both)
		// The merge displaced a text that only this machine had.
		r.state.wantCopy(mine, "merged")
	})
}

func TestEditsThatOverlapStayAConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, x := divided(t, merging, mine, "eins\ntwo\nthree\nfour\nfive\nsix\nseven\n")
		if got := r.sync(t, teamsync.Mode{}); len(got.Conflicts) != 1 {
			t.Errorf("report %+v, want a conflict", got)
		}
		copies := r.state.copies()
		if len(copies) != 1 || copies[0].Content != mine || copies[0].Why != "conflict" {
			t.Fatalf("saved copies %+v", copies)
		}
		if base := x.kept[copies[0].Base]; base != poem {
			t.Errorf("the copy's base has the text %q, want %q", base, poem)
		}
	})
}

func TestServerWinsWithoutMerging(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := divided(t, func(*teamsync.Options) {}, mine, theirs)
		if got := r.sync(t, teamsync.Mode{}); len(got.Conflicts) != 1 {
			t.Errorf("report %+v, want a conflict", got)
		}
		r.tree.want("in conflict", "a.md", theirs)
	})
}

// Two machines that never met have an index each: nothing is left out of it.
func TestIndexesWithoutABaseAreJoined(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		const deploy, tests = "- [deploy](deploy.md)\n", "- [tests](tests.md)\n"
		r.tree.merges = map[string]string{deploy + tests: tests, tests + deploy: tests}
		r.tree.write("MEMORY.md", deploy)
		r.tree.write("a.md", "mine")
		r.remote.set("MEMORY.md", tests)
		r.remote.set("a.md", "theirs")
		r.start(t, func(o *teamsync.Options) {
			o.OnDemand, o.Merge, o.Texts = true, true, &texts{t, map[api.Checksum]string{}}
		})
		got := r.sync(t, teamsync.Mode{})
		if len(got.Conflicts) != 1 || got.Conflicts[0].Key.String() != "a.md" {
			t.Errorf("conflicts %+v, want a.md alone", got.Conflicts)
		}
		index, _ := r.remote.get("MEMORY.md")
		if !strings.Contains(index, "deploy.md") || !strings.Contains(index, "tests.md") {
			t.Errorf("the index on the server is %q, want the lines of both", index)
		}
	})
}

func TestTextsOfBases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, x := newRig(t), &texts{t, map[api.Checksum]string{}}
		r.tree.write("sent.md", "sent")
		r.tree.write("same.md", "same")
		r.remote.set("same.md", "same")
		r.remote.set("received.md", "received")
		r.start(t, func(o *teamsync.Options) { o.OnDemand, o.Texts = true, x })
		r.sync(t, teamsync.Mode{})
		for _, text := range []string{"sent", "same", "received"} {
			if x.kept[api.SumString(text)] != text {
				t.Errorf("the text %q is not kept", text)
			}
		}
	})
}
