package tests

import (
	"path/filepath"
	"testing"
)

// team is the repo that most tests sync.
const team = "acme/api"

// pair is two machines of one team and their server.
type pair struct {
	server *companion
	a, b   *machine
}

// newPair makes two enrolled machines, and starts no daemon.
func newPair(t *testing.T) pair {
	t.Helper()
	return newPairOn(t, newCompanion(t))
}

func newPairOn(t *testing.T, server *companion) pair {
	t.Helper()
	p := pair{server, newFastMachine(t, "ada"), newFastMachine(t, "ben")}
	token := p.server.token("both", "acme/*", "writer")
	p.a.enroll(p.server.url, token, team)
	p.b.enroll(p.server.url, token, team)
	return p
}

// meet syncs a, then b, and sees that both are in sync and equal.
func (p pair) meet(t *testing.T) {
	t.Helper()
	for _, m := range []*machine{p.a, p.b} {
		if r := m.sync(0); r.State != "in-sync" || r.Pending != 0 {
			t.Errorf("%s is %s with %d pending, want in-sync", filepath.Base(m.home), r.State, r.Pending)
		}
	}
	sameTree(t, "both machines", treeOf(t, p.a.team), treeOf(t, p.b.team))
}
