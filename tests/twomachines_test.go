package tests

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

func TestTwoMachines(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a, b := p.a, p.b

	texts := tree{
		"MEMORY.md":                              "# Index\n- [Deploy](deploy.md) — how\n",
		"deploy.md":                              "push, wait, look\n",
		"a/b/c/d/e/deep.md":                      "deep\n",
		"notes/two words and more.md":            "spaces\n",
		"ünïcode/日本語 🙂.md":                       "naïve café, 日本語, 🙂\n",
		"plain.txt":                              "a text file\n",
		"empty.md":                               "",
		"no newline at the end.md":               "end",
		"crlf.md":                                "one\r\ntwo\r\n\r\nthree\r\n",
		"mixed.md":                               "one\r\ntwo\nthree\r",
		"bom.md":                                 "\ufeff# With a mark\n",
		"html.md":                                "<b>&amp;</b> \"quoted\" \\ \u2028 \u2029 \x7f \x01\n",
		"199000.md":                              sized(199_000),
		"249000.md":                              sized(249_000),
		"250000.md":                              sized(250_000),
		"percent%20name.md":                      "a percent sign\n",
		"it's & \"so\" [on] (2) #1 ?.md":         "punctuation\n",
		strings.Repeat("n", 190) + ".md":         "a long name\n",
		"x/" + strings.Repeat("y/", 17) + "z.md": "nineteen segments\n",
	}
	for key, text := range texts {
		a.write(key, text)
	}
	p.meet(t)
	sameTree(t, "what was written and what arrived", texts, treeOf(t, b.team))

	t.Run("edit", func(t *testing.T) {
		a.write("deploy.md", "push, wait, look twice\n")
		b.write("plain.txt", "edited on the other\n")
		a.sync(0)
		b.sync(0)
		p.meet(t)
		for _, m := range []*machine{a, b} {
			for key, want := range map[string]string{"deploy.md": "push, wait, look twice\n", "plain.txt": "edited on the other\n"} {
				if got, _ := m.read(key); got != want {
					t.Errorf("%s on %s is %q, want %q", key, filepath.Base(m.home), got, want)
				}
			}
		}
	})
	t.Run("delete", func(t *testing.T) {
		remove(t, filepath.Join(a.team, "crlf.md"))
		if r := a.sync(0); r.Restored != 1 {
			t.Errorf("restored %d, want 1: a deletion does not travel", r.Restored)
		}
		if got, _ := a.read("crlf.md"); got != texts["crlf.md"] {
			t.Errorf("restored as %q", got)
		}
		p.meet(t)
	})
	t.Run("rename", func(t *testing.T) {
		from, to := filepath.Join(a.team, "a", "b", "c", "d", "e", "deep.md"), filepath.Join(a.team, "shallow.md")
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
		if r := a.sync(0); r.Sent != 1 || r.Restored != 1 {
			t.Errorf("%d sent and %d restored, want 1 and 1: a rename is a new key, and the old one comes back", r.Sent, r.Restored)
		}
		p.meet(t)
		for _, key := range []string{"shallow.md", "a/b/c/d/e/deep.md"} {
			if got, _ := b.read(key); got != "deep\n" {
				t.Errorf("%s on the other machine is %q", key, got)
			}
		}
	})
	t.Run("conflict", func(t *testing.T) {
		a.write("deploy.md", "ada's word\n")
		b.write("deploy.md", "ben's word\n")
		a.sync(0)
		r := b.sync(3)
		if len(r.Conflicts) != 1 || r.Conflicts[0].Key != "deploy.md" || r.Conflicts[0].SavedAt.IsZero() {
			t.Fatalf("conflicts %+v, want one of deploy.md", r.Conflicts)
		}
		if got, _ := b.read("deploy.md"); got != "ada's word\n" {
			t.Errorf("the server's text is not in place: %q", got)
		}
		id := r.Conflicts[0].ID
		if got := b.ok("conflicts", "show", id).stdout; got != "ben's word\n" {
			t.Errorf("the saved copy is %q", got)
		}
		b.sync(0) // it was read, so nothing is open
		b.ok("conflicts", "restore", id)
		if got, _ := b.read("deploy.md"); got != "ben's word\n" {
			t.Errorf("restored as %q", got)
		}
		if r := b.sync(0); r.Sent != 1 {
			t.Errorf("sent %d, want 1: a restored copy is an ordinary edit", r.Sent)
		}
		p.meet(t)
	})
	t.Run("held", func(t *testing.T) { heldFiles(t, p) })
}

// heldFiles writes what must stay local, each for its own reason, beside one
// file that must travel.
func heldFiles(t *testing.T, p pair) {
	t.Helper()
	a, b := p.a, p.b
	before := treeOf(t, b.team)
	reasons := map[string]string{
		"large.md": "too-large", "binary.md": "not-text", "latin1.md": "not-text", "utf16.md": "not-text",
		"trailing dot.": "", "CON.md": "bad-name", "space /x.md": "bad-name", "ctrl\x01.md": "bad-name",
		"link.md": "link", "hard.md": "link",
	}
	a.write("large.md", sized(251_000))
	a.write("binary.md", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	a.write("latin1.md", "caf\xe9\n")
	a.write("utf16.md", "\xff\xfeh\x00i\x00\n\x00")
	a.write("CON.md", "a device\n")
	a.write("space /x.md", "a space at the end\n")
	a.write("ctrl\x01.md", "a control character\n")
	a.write("MEMORY.MD", "not a name that takes part\n")
	outside := filepath.Join(a.home, "outside.md")
	put(t, outside, "outside\n")
	for name, link := range map[string]func(string, string) error{"link.md": os.Symlink, "hard.md": os.Link} {
		if err := link(outside, filepath.Join(a.team, name)); err != nil {
			t.Fatal(err)
		}
	}
	a.write("traveller.md", "goes on\n")
	delete(reasons, "trailing dot.")

	r := a.sync(3)
	for key, reason := range reasons {
		h, ok := heldNamed(r, key)
		if !ok || h.Reason != reason || h.Fix == "" {
			t.Errorf("%q: %+v, want it held as %s with a fix", key, h, reason)
		}
		if o := a.run("explain", filepath.Join(a.team, key)); o.code != 3 || !strings.Contains(o.stdout, reason) {
			t.Errorf("explain %q: exit code %d, %q, want 3 and the reason %s", key, o.code, o.stdout, reason)
		}
	}
	if len(r.Held) != len(reasons) || r.Sent != 1 {
		t.Errorf("%d held and %d sent, want %d and 1: %+v", len(r.Held), r.Sent, len(reasons), r.Held)
	}
	b.sync(0)
	before["traveller.md"] = "goes on\n"
	sameTree(t, "only the traveller arrives", before, treeOf(t, b.team))
	text := a.want(3, "sync").stdout
	if !strings.Contains(text, "held  ") || !strings.Contains(text, "more; see 'teammemd status -v'") {
		t.Errorf("the text names no held files, or all of them:\n%s", text)
	}
	if text := a.ok("status", "-v").stdout; !strings.Contains(text, "large.md  too-large") || !strings.Contains(text, "latin1.md  not-text") {
		t.Errorf("status -v does not name them all:\n%s", text)
	}
}

// TestTenThousandFiles carries ten thousand small files across, and says how
// long each step took.
func TestTenThousandFiles(t *testing.T) {
	t.Parallel()
	files := 10_000
	if testing.Short() {
		files = 500
	}
	p := newPair(t)
	all := make(tree, files)
	var text bytes.Buffer
	for i := range files {
		text.Reset()
		fmt.Fprintf(&text, "---\nname: note %d\ntype: project\n---\n\nThe service number %d listens on its own port and restarts by itself.\n", i, i)
		all[fmt.Sprintf("team-%02d/note-%05d.md", i%100, i)] = text.String()
	}
	for key, text := range all {
		p.a.write(key, text)
	}
	step := func(what string, m *machine, check func(report) bool) {
		t.Helper()
		o := m.ok("sync", "--json")
		r := decode[report](t, o.stdout)
		if !check(r) || r.State != "in-sync" {
			t.Errorf("%s: %s", what, shorten(o.stdout))
		}
		t.Logf("FIGURE %d files, %s: %d ms", files, what, o.took.Milliseconds())
	}
	step("first push", p.a, func(r report) bool { return r.Sent == files })
	step("first pull", p.b, func(r report) bool { return r.Received == files })
	sameTree(t, "what was written and what arrived", all, treeOf(t, p.b.team))
	step("nothing to do", p.b, func(r report) bool { return r.Unchanged == files })
	p.b.write("team-00/note-00000.md", "changed\n")
	step("one change", p.b, func(r report) bool { return r.Sent == 1 })
	step("one change arrives", p.a, func(r report) bool { return r.Received == 1 })

	daemon := p.a.daemon()
	begun := time.Now()
	p.b.write("team-00/note-00000.md", "changed again\n")
	p.b.ok("sync")
	await(t, time.Minute, "the change to arrive at a daemon", func() bool {
		got, _ := p.a.read("team-00/note-00000.md")
		return got == "changed again\n"
	})
	t.Logf("FIGURE %d files, change to a daemon: %d ms", files, time.Since(begun).Milliseconds())
	time.Sleep(2 * time.Second)
	if before, ok := usage(daemon.cmd.Process.Pid); ok {
		time.Sleep(6 * time.Second)
		after, _ := usage(daemon.cmd.Process.Pid)
		t.Logf("FIGURE %d files, idle daemon: %d ms of processor time in 6 s, %d MiB", files, (after.cpu - before.cpu).Milliseconds(), after.rss>>20)
	}
	if code := daemon.stop(); code != 0 {
		t.Errorf("the daemon ended with %d", code)
	}
	full, _ := p.server.get(p.server.token("reader", team, "reader"), team)
	want := maps.Clone(all)
	want["team-00/note-00000.md"] = "changed again\n"
	sameTree(t, "the server", want, full.Content.Entries)
	if len(full.Content.EntryChecksums) != files || full.Checksum == (api.Checksum{}) {
		t.Errorf("the server lists %d checksums, want %d", len(full.Content.EntryChecksums), files)
	}
}
