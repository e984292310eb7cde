package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner/samples"
)

// person runs a command at a terminal and types the answers.
func (m *machine) person(code int, typed string, args ...string) string {
	m.t.Helper()
	term := newTerminal(m.t, 200, 40)
	term.typeIn(typed)
	if got := exitOf(m.t, m.onTerminal(term, args...)); got != code {
		m.t.Errorf("%q with %q: exit code %d, want %d\n%s", args, typed, got, code, term.shown())
	}
	term.awaitMatch(`(hint: |allowed  |already|not allowed: )[^\n]*\n`) // the terminal may show it a moment later
	return term.shown()
}

type allowedFinding struct {
	ID, Key, Rule, Tier, Reason string
	Line                        int
}

// TestAllow: a person lets a guess pass; it travels, holds nobody else up, and
// covers that value and no other.
func TestAllow(t *testing.T) {
	t.Parallel()
	server := newCompanion(t, "-v")
	a, b := newFastMachine(t, "ada"), newFastMachine(t, "ben")
	token := server.token("both", team, "writer")
	a.enroll(server.url, token, team)
	b.enroll(server.url, token, team)
	line, value, rule := guess(t, 1)
	a.write("note.md", "# Note\n\n"+line+"\n")
	place := filepath.Join(a.team, "note.md") + ":3"
	if h, ok := a.sync(3).heldFor("note.md"); !ok || h.Tier != "block3" || h.Rule != rule || h.Line != 3 {
		t.Fatalf("held as %+v", h)
	}

	// Off a terminal, at one without the name, and without a reason: nothing.
	if o := a.want(2, "allow", place, "--reason", "example"); !strings.Contains(o.stderr, "hint: ") || !strings.Contains(o.stderr, "terminal") {
		t.Errorf("off a terminal: %q", o.stderr)
	}
	a.person(2, "yes\n", "allow", place, "--reason", "example")
	a.person(2, "\n", "allow", place, "--reason", "example")
	a.person(2, "because\n"+rule+"\n", "allow", place)
	a.person(2, rule+"\n", "allow", place, "--reason", "because")
	a.person(2, rule+"\n", "allow", place, "--reason", "example", "--rule", "another")
	a.person(2, rule+"\n", "allow", strings.Replace(place, ":3", ":1", 1), "--reason", "example")
	a.sync(3)

	shown := a.person(0, "false-positive\n"+rule+"\n", "allow", place)
	if strings.Contains(shown, value) || !strings.Contains(shown, "allowed  ") || !strings.Contains(shown, "note.md:3") {
		t.Errorf("the terminal shows %q", shown)
	}
	file := filepath.Join(a.state(), "allowances.json")
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), value) {
		t.Errorf("the file of allowances: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode: %v, %v", info.Mode(), err)
	}
	a.sync(0)
	if v := server.versions(token, team, "note.md"); len(v) != 1 || v[0].Allowed[rule] != "false-positive" || v[0].Rules == "" {
		t.Errorf("versions %+v", v)
	}

	// It is bound to the value: elsewhere it passes too, another does not.
	a.write("moved/other.md", "text above\nand "+line+"\n")
	other, _, _ := guess(t, 2)
	a.write("new.md", other+"\n")
	r := a.sync(3)
	if _, held := r.heldFor("new.md"); r.Sent != 1 || !held {
		t.Errorf("%d sent, held %+v", r.Sent, r.Held)
	}
	allowedIsListed(t, a, rule)

	// A teammate gets it, may edit around it, and may not add another.
	if r := b.sync(0); r.Received != 2 {
		t.Errorf("%d received, want 2: %+v", r.Received, r.Held)
	}
	b.write("note.md", "# A note\n\n"+line+"\nand more\n")
	b.sync(0)
	b.write("note.md", "# A note\n\n"+line+"\n"+other+"\n")
	if h, ok := b.sync(3).heldFor("note.md"); !ok || h.Line != 4 {
		t.Errorf("another value in a text that was allowed one: held as %+v", h)
	}
	allowedIsRevoked(t, a, file, line)
	places := searched{"what the server printed": server.spoken(), "what ada's commands printed": a.spoken(), "what ben's printed": b.spoken()}
	places.addFiles(t, filepath.Join(a.state()), filepath.Join(a.state(), "roots"))
	for where, text := range places {
		if strings.Contains(string(text), value) {
			t.Errorf("%s: the value is there", where)
		}
	}
}

// allowedIsListed looks at what is told of the one allowance.
func allowedIsListed(t *testing.T, m *machine, rule string) {
	t.Helper()
	status := decode[struct{ Allowed []allowedFinding }](t, m.ok("status", "--json").stdout)
	list := decode[struct{ Allowed, Team []allowedFinding }](t, m.ok("allow", "list", "--json").stdout)
	if len(status.Allowed) != 1 || len(list.Allowed) != 1 || status.Allowed[0] != list.Allowed[0] || len(list.Team) != 0 {
		t.Fatalf("status tells of %+v, the list of %+v", status.Allowed, list)
	}
	if one := list.Allowed[0]; one.Rule != rule || one.Key != "note.md" || one.Line != 3 || one.Reason != "false-positive" || len(one.ID) != 10 {
		t.Errorf("listed %+v", one)
	}
	if o := m.ok("status"); !strings.Contains(o.stdout, "1 finding let pass on this machine") {
		t.Errorf("status: %q", o.stdout)
	}
	if o := m.ok("allow", "list"); !strings.Contains(o.stdout, "here  ") {
		t.Errorf("list: %q", o.stdout)
	}
}

// allowedIsRevoked takes the allowance back, and then damages the file.
func allowedIsRevoked(t *testing.T, m *machine, file, line string) {
	t.Helper()
	remove(t, filepath.Join(m.team, "new.md"))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	put(t, file, string(text[:len(text)/2]))
	m.write("later.md", line+"\n")
	if _, held := m.sync(3).heldFor("later.md"); !held {
		t.Error("a damaged file lets pass")
	}
	if o := m.ok("status"); !strings.Contains(o.stderr, "damaged") {
		t.Errorf("status does not tell of the damage: %q", o.stderr)
	}
	m.want(1, "allow", "list")
	put(t, file, string(text))
	list := decode[struct{ Allowed []allowedFinding }](t, m.ok("allow", "list", "--json").stdout)
	m.ok("allow", "revoke", list.Allowed[0].ID)
	m.want(2, "allow", "revoke", list.Allowed[0].ID)
	if _, held := m.sync(3).heldFor("later.md"); !held {
		t.Error("what was revoked still lets pass")
	}
}

// TestAllowForTheTeam: the first tiers pass by the policy alone, which is for
// maintainers, within its keys; every machine learns it.
func TestAllowForTheTeam(t *testing.T) {
	t.Parallel()
	server := newCompanion(t, "-v")
	lead, dev := newFastMachine(t, "lead"), newFastMachine(t, "dev")
	lead.enroll(server.url, server.token("lead", team, "maintainer"), team)
	dev.enroll(server.url, server.token("dev", team, "writer"), team)
	family, _ := samples.Find("github-pat")
	text := "# Sample\n" + family.SampleFrom(5) + "\n"
	dev.write("docs/deep/sample.md", text)
	dev.write("other.md", text)
	dev.write("MEMORY.md", "# Index\n")
	dev.sync(3)
	place := filepath.Join(dev.team, "docs", "deep", "sample.md") + ":2"
	shown := dev.person(2, "github-pat\n", "allow", place, "--reason", "example")
	if !strings.Contains(shown, "policy") || !strings.Contains(shown, "allow --team github-pat") || strings.Contains(shown, family.SampleFrom(5)) {
		t.Errorf("the first tier: %q", shown)
	}
	team := []string{"allow", "--team", "github-pat", "--key", "docs/**", "--expires", "30d", "--reason", "made up for the docs"}
	dev.person(77, "github-pat\n", team...)
	lead.want(2, team...)
	lead.person(2, "no\n", team...)
	lead.person(0, "github-pat\n", team...)

	r := dev.sync(3)
	if _, held := r.heldFor("other.md"); r.Sent != 1 || !held || len(r.Held) != 1 {
		t.Errorf("%d sent, held %+v", r.Sent, r.Held)
	}
	if r := lead.sync(0); r.Received == 0 && r.Unchanged < 2 {
		t.Errorf("the maintainer got %+v", r)
	}
	if _, there := lead.read("docs/deep/sample.md"); !there {
		t.Error("what the policy lets pass did not arrive")
	}
	if shown := dev.person(0, "", "allow", place); !strings.Contains(shown, "already") {
		t.Errorf("what the policy lets pass: %q", shown)
	}
	list := decode[struct{ Team []api.PolicyEntry }](t, dev.ok("allow", "list", "--json").stdout)
	if len(list.Team) != 1 || list.Team[0].Keys != "docs/**" || list.Team[0].Reason != "made up for the docs" || list.Team[0].ExpiresAt.IsZero() {
		t.Fatalf("listed %+v", list)
	}
	dev.want(77, "allow", "revoke", list.Team[0].ID)
	lead.ok("allow", "revoke", list.Team[0].ID)
	dev.write("docs/more.md", text)
	r = dev.sync(3)
	if _, held := r.heldFor("docs/more.md"); !held {
		t.Error("what was revoked still lets pass")
	}
	if h, held := r.heldFor("docs/deep/sample.md"); !held || !strings.Contains(h.Fix, "on the server already") {
		t.Errorf("what is on the server already is held as %+v", h)
	}
}
