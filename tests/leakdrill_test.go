package tests

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// TestLeakDrill lets a value that no rule knows reach a whole team: versions,
// live texts, bases, saved copies, a daemon that runs and a machine that was
// away. One command then takes it out of every file of everybody.
func TestLeakDrill(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a, b := p.a, p.b
	away := newFastMachine(t, "cyd")
	away.enroll(p.server.url, p.server.token("more", "acme/*", "writer"), team)
	p.server.asMaintainer(a)
	leaked := strings.Join([]string{"marmalade", "on", "thirteen", "bridges"}, " ")

	a.write("deploy.md", "Say "+leaked+" at the gate.\n")
	a.write("old.md", "Once it was "+leaked+".\n")
	a.write("harmless.md", "Nothing of the kind.\n")
	for _, m := range []*machine{a, b, away} {
		m.sync(0)
	}
	a.write("deploy.md", "Say "+leaked+" at the gate, twice.\n")
	a.sync(0)
	a.ok("forget", "old.md") // its text is a saved copy now
	b.sync(0)
	if got := b.savedCopies()["old.md"]; len(got) != 1 {
		t.Fatalf("saved copies %q, want one", got)
	}
	b.daemon()
	homes := []*machine{p.server.machine, a, b, away}
	for _, m := range homes {
		if len(m.filesWith(leaked)) == 0 {
			t.Fatalf("%s never had the value", filepath.Base(m.home))
		}
	}

	redact := exec.Command(a.bin, "redact", "--value-from-stdin", "--repo", team, "--json")
	redact.Stdin = strings.NewReader(leaked + "\n")
	o := a.runCommand(redact, a.work())
	got := decode[api.RedactAnswer](t, o.stdout)
	if o.code != 0 || got.Contents != 3 || len(got.Versions) != 3 || !got.Scrubbed || got.Live["deploy.md"] != "replaced" {
		t.Fatalf("redact: exit code %d, %+v\n%s", o.code, got, o.stderr)
	}
	b.awaitFile("deploy.md", "Say "+api.RedactedText+" at the gate, twice.\n")
	await(t, time.Minute, "the other machine to be in sync", func() bool { return b.status().State == "in-sync" })
	away.sync(0)

	for _, m := range homes {
		if names := m.filesWith(leaked); len(names) > 0 {
			t.Errorf("%s still has the value in %q", filepath.Base(m.home), names)
		}
		if bytes.Contains(m.spoken(), []byte(leaked)) && m != b { // there the test had it shown
			t.Errorf("%s said the value", filepath.Base(m.home))
		}
	}
	if text, _ := away.read("deploy.md"); text != "Say "+api.RedactedText+" at the gate, twice.\n" {
		t.Errorf("the machine that was away has %q", text)
	}
	if text, _ := away.read("harmless.md"); text != "Nothing of the kind.\n" {
		t.Errorf("another file became %q", text)
	}
	// Somebody has the text from elsewhere: it is not taken back, nor kept.
	away.write("deploy.md", "Say "+leaked+" at the gate.\n")
	if r := away.sync(0); r.Sent != 0 {
		t.Errorf("sent %d, want 0", r.Sent)
	}
	if names := away.filesWith(leaked); len(names) > 0 {
		t.Errorf("the text that came back is kept in %q", names)
	}
	versions := decode[struct{ Versions []api.VersionInfo }](t, a.ok("history", "--json").stdout).Versions
	redacted := 0
	for _, v := range versions {
		if v.Redacted {
			redacted++
			if v.Key != "" || v.Actor.Token == "" || v.At.IsZero() {
				t.Errorf("a redacted version: %+v, want who and when alone", v)
			}
		}
	}
	if redacted != 3 {
		t.Errorf("%d redacted versions, want 3", redacted)
	}
}

// filesWith lists the files of a machine that hold a text.
func (m *machine) filesWith(text string) (names []string) {
	m.t.Helper()
	err := filepath.WalkDir(m.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // what went away meanwhile holds nothing
		}
		raw, err := os.ReadFile(path)
		if err == nil && bytes.Contains(raw, []byte(text)) {
			names = append(names, strings.TrimPrefix(path, m.home))
		}
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return names
}
