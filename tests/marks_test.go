package tests

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner/samples"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// storeUnscanned writes entries into a data directory as a server with other
// rules would have let them in.
func storeUnscanned(t *testing.T, dir string, entries map[string]string) {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: true})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := api.ParseRepo(team)
	if err != nil {
		t.Fatal(err)
	}
	change := store.Change{At: time.Now(), Rules: "0-older"}
	for name, text := range entries {
		change.Puts = append(change.Puts, store.Put{Key: keyOf(t, name), Content: text, Sum: api.SumString(text)})
	}
	if _, err := s.Update(t.Context(), repo, func(store.Tx) (store.Change, error) { return change, nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestServerMarksWhatNewerRulesKnow: after a start with other rules than before,
// what is live is judged again and listed for maintainers; machines that have it
// tell it, others do not get it; taking it out takes the mark away.
func TestServerMarksWhatNewerRulesKnow(t *testing.T) {
	t.Parallel()
	family, _ := samples.Find("github-pat")
	value := family.SampleFrom(31)
	server := &companion{machine: newMachine(t, "server")}
	server.data = filepath.Join(server.machine.home, "data")
	storeUnscanned(t, server.data, map[string]string{"old.md": "# Old\n\nthe value: " + value + "\n", "fine.md": "plain\n"})
	server.up("127.0.0.1:0", "-v")
	lead, dev := server.token("lead", team, "maintainer"), server.token("dev", team, "writer")
	marks := func() api.MarksAnswer {
		t.Helper()
		a := server.call(http.MethodGet, lead, api.PathScanMarks, url.Values{"repo": {team}}, nil)
		return decode[api.MarksAnswer](t, string(a.body))
	}
	await(t, time.Minute, "the server to scan again", func() bool { m := marks(); return m.Rules != "" && m.Rules == m.Current })
	if m := marks().Marks; len(m) != 1 || m[0].Key != "old.md" || m[0].Line != 3 || m[0].Rule != "github-pat" || m[0].Version != 1 {
		t.Errorf("marks %+v", m)
	}
	if v := server.versions(lead, team, "old.md"); len(v) != 1 || v[0].Rules != "0-older" {
		t.Errorf("history %+v", v)
	}

	a, b := newFastMachine(t, "ada"), newFastMachine(t, "ben")
	a.enroll(server.url, dev, team)
	b.enroll(server.url, dev, team)
	a.write("old.md", "# Old\n\nthe value: "+value+"\n") // it was synced long ago
	if h, ok := a.sync(3).heldFor("old.md"); !ok || h.Reason != "secret" || !strings.Contains(h.Fix, "on the server already") {
		t.Errorf("held as %+v", h)
	}
	if h, ok := b.sync(3).heldFor("old.md"); !ok || h.Reason != "secret-on-server" {
		t.Errorf("held as %+v", h)
	}
	a.ok("scrub", filepath.Join(a.team, "old.md")+":3")
	a.sync(0)
	if m := marks().Marks; len(m) != 0 {
		t.Errorf("after it was taken out: %+v", m)
	}
	b.sync(0)
	if text, ok := b.read("old.md"); !ok || strings.Contains(text, value) {
		t.Errorf("the clean text did not come: %v", ok)
	}
	spoken := string(server.spoken()) + string(a.spoken()) + string(b.spoken())
	if !strings.Contains(spoken, "live entries scanned") || strings.Contains(spoken, value) {
		t.Error("the pass is not told of, or the value is")
	}
}
