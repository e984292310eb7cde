package tests

import (
	"path/filepath"
	"testing"
)

// TestNothingLeaksOnATerminal looks at what a person sees, who has asked for all.
func TestNothingLeaksOnATerminal(t *testing.T) {
	t.Parallel()
	server := newCompanion(t, "-v")
	m := newFastMachine(t, "ada")
	m.extra = []string{"TEAMMEMD_LOG=debug"}
	m.enroll(server.url, server.token("ada", team, "writer"), team)
	all := plantEverywhere(t, 29)
	for _, p := range all {
		m.write(p.key, p.text)
	}
	places := searched{}
	for _, args := range [][]string{
		{"sync", "-v"}, {"status", "-v"}, {"scan", "-v", m.team}, {"explain", "-v", filepath.Join(m.team, all[0].key)}, {"sync", "--json", "-v"},
	} {
		term := newTerminal(t, 120, 40)
		code := exitOf(t, m.onTerminal(term, args...))
		if want := map[string]int{"status": 0}[args[0]]; code != 3 && code != want {
			t.Errorf("%q: exit code %d\n%q", args, code, term.shown())
		}
		term.awaitMatch(`notes/`)
		places["the terminal of "+args[0]] = []byte(term.shown())
	}
	places.mustLack(t, all)
}
