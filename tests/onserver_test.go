package tests

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner/samples"
)

// TestSecretsOnTheServer: what a server without our scanner has is kept away from
// agents on every way in; what stands here already is told, and taking it out
// here takes it out there.
func TestSecretsOnTheServer(t *testing.T) {
	t.Parallel()
	family, _ := samples.Find("github-pat")
	bad := func(seed uint64) string { return "# Note\nthe value is " + family.SampleFrom(seed) + "\n" }
	b := newBaseServer(t)
	b.set(func() {
		b.entries["same.md"], b.entries["new.md"], b.entries["later.md"] = bad(1), bad(2), "clean\n"
		b.version = 1
	})
	m := newFastMachine(t, "ada")
	m.enroll(b.url, "a-token", team)

	// A first start over the same text, and a text that is new here.
	m.write("same.md", bad(1))
	r := m.sync(3)
	if h, ok := r.heldFor("same.md"); !ok || h.Reason != "secret" || h.Line != 2 || !strings.Contains(h.Fix, "on the server already") {
		t.Errorf("the same text on both sides: held as %+v", h)
	}
	if h, ok := r.heldFor("new.md"); !ok || h.Reason != "secret-on-server" {
		t.Errorf("a new text: held as %+v", h)
	}
	// An edit of a teammate, and one that meets an edit here.
	b.set(func() { b.entries["later.md"] = bad(3); b.version++ })
	r = m.sync(3)
	if h, ok := r.heldFor("later.md"); !ok || h.Reason != "secret-on-server" {
		t.Errorf("an edit of a teammate: held as %+v", h)
	}
	m.write("later.md", "clean, and edited here\n")
	r = m.sync(3)
	if h, ok := r.heldFor("later.md"); !ok || h.Reason != "secret-on-server" {
		t.Errorf("edits on both sides: held as %+v", h)
	}
	sameTree(t, "here", tree{"same.md": bad(1), "later.md": "clean, and edited here\n"}, treeOf(t, m.team))

	// Deleted here, a bad text is not brought back.
	remove(t, filepath.Join(m.team, "same.md"))
	if h, ok := m.sync(3).heldFor("same.md"); !ok || h.Reason != "secret-on-server" {
		t.Errorf("deleted here: held as %+v", h)
	}
	if _, there := m.read("same.md"); there {
		t.Error("a text with a secret was brought back")
	}
	m.write("same.md", bad(1))
	m.sync(3)

	// Taken out here, it is taken out there.
	m.ok("scrub", filepath.Join(m.team, "same.md")+":2")
	if r := m.sync(3); r.Sent != 1 {
		t.Errorf("%d sent after scrubbing, want 1: %+v", r.Sent, r.Held)
	}
	if text := b.has()["same.md"]; text == "" || strings.Contains(text, family.SampleFrom(1)) {
		t.Error("the server has the value still")
	}
	// And what others take out there comes.
	b.set(func() { b.entries["new.md"], b.entries["later.md"] = "clean now\n", "clean again\n"; b.version++ })
	m.sync(3) // the conflict waits to be read
	if text, _ := m.read("new.md"); text != "clean now\n" {
		t.Errorf("new.md is %q", text)
	}
}
