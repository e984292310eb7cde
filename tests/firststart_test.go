package tests

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestF28DeletionComesBack deletes files under a daemon and without one: they
// come back, status says so, and the first time a person is told why, and what
// to do instead.
func TestF28DeletionComesBack(t *testing.T) {
	t.Parallel()
	const why = "teammemd forget KEY"
	p := newPair(t)
	files := tree{"one.md": "one\n", "two.md": "two\n", "three.md": "three\n"}
	for key, text := range files {
		p.a.write(key, text)
	}
	p.meet(t)

	daemon := p.a.daemon()
	await(t, time.Minute, "the first cycle", func() bool { return p.a.status().State == "in-sync" })
	comesBack := func(key string, n int) outcome {
		t.Helper()
		remove(t, filepath.Join(p.a.team, key))
		await(t, time.Minute, key+" to come back", func() bool { got, _ := p.a.read(key); return got == files[key] })
		var o outcome
		await(t, time.Minute, "status to say so", func() bool {
			o = p.a.ok("status")
			return strings.Contains(o.stdout, fmt.Sprintf("restored  %d file", n))
		})
		return o
	}
	if o := comesBack("one.md", 1); !strings.Contains(o.stderr, why) {
		t.Errorf("the first time, nobody is told why:\n%s%s", o.stdout, o.stderr)
	}
	if o := comesBack("two.md", 2); strings.Contains(o.stderr, why) {
		t.Errorf("the second time, it is told again:\n%s", o.stderr)
	}
	if n := strings.Count(daemon.talk(), "files deleted here were restored"); n != 2 {
		t.Errorf("the log says it %d times, want twice\n%s", n, daemon.talk())
	}
	daemon.stop()

	for i, key := range []string{"one.md", "two.md"} {
		remove(t, filepath.Join(p.b.team, key))
		o := p.b.ok("sync")
		if !strings.Contains(o.stdout, "1 restored") {
			t.Errorf("sync does not say that a file came back:\n%s", o.stdout)
		}
		if told := strings.Contains(o.stderr, why); told != (i == 0) {
			t.Errorf("deletion %d: told why is %v", i+1, told)
		}
	}
	remove(t, filepath.Join(p.b.team, "three.md"))
	if r := p.b.sync(0); r.Restored != 1 || len(r.Notices) != 0 {
		t.Errorf("%d restored, notices %q; want 1 and none", r.Restored, r.Notices)
	}
	full, _ := p.server.get(p.server.token("reader", team, "reader"), team)
	for what, got := range map[string]tree{"the server": full.Content.Entries, "ada": treeOf(t, p.a.team), "ben": treeOf(t, p.b.team)} {
		sameTree(t, what, files, got)
	}
	if full.Version != 1 {
		t.Errorf("the server is at version %d: a deletion was sent", full.Version)
	}
}

// TestF29FirstStartOverOldContent starts a daemon for the first time over a
// hundred files that the server has with other texts, and some that only one
// side has: not a byte is lost.
func TestF29FirstStartOverOldContent(t *testing.T) {
	t.Parallel()
	const differing, alone = 100, 10
	p := newPair(t)
	mine, want := make(tree), make(tree)
	for i := range differing {
		key := fmt.Sprintf("dir-%d/both-%02d.md", i%7, i)
		mine[key], want[key] = fmt.Sprintf("%d as ada has it\n%s", i, sized(40*i)), fmt.Sprintf("%d as the server has it\n", i)
	}
	for i := range alone {
		here, there, equal := fmt.Sprintf("here-%d.md", i), fmt.Sprintf("there-%d.md", i), fmt.Sprintf("equal-%d.md", i)
		mine[here], mine[equal] = "only here\n", "on both sides\n"
		want[here], want[there], want[equal] = mine[here], "only there\n", mine[equal]
	}
	for key, text := range want {
		if _, here := mine[key]; !here || mine[key] != text || strings.HasPrefix(key, "equal") {
			p.b.write(key, text)
		}
	}
	p.b.sync(0)
	for key, text := range mine {
		p.a.write(key, text)
	}
	daemon := p.a.daemon()
	await(t, time.Minute, "the first cycle", func() bool { r := p.a.status(); return r.State == "in-sync" && r.Pending == 0 })
	p.b.sync(0)
	sameTree(t, "here", want, treeOf(t, p.a.team))
	sameTree(t, "there", want, treeOf(t, p.b.team))
	if n := len(p.a.status().Conflicts); n != differing {
		t.Errorf("status lists %d conflicts, want %d", n, differing)
	}
	copies := p.a.savedCopies()
	for key, text := range mine {
		if want[key] != text && !slices.Equal(copies[key], []string{text}) {
			t.Errorf("%s: %d saved copies, or another text", key, len(copies[key]))
		}
	}
	if len(copies) != differing {
		t.Errorf("%d keys have saved copies, want %d", len(copies), differing)
	}
	daemon.stop()
	if again := p.a.sync(0); again.Sent+again.Received != 0 || len(again.Conflicts) != 0 {
		t.Errorf("once more: %d sent, %d received, %d conflicts that nobody has read", again.Sent, again.Received, len(again.Conflicts))
	}
}
