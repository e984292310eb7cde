package tests

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// TestLeakReport is the question of a team lead after a leak: is it out? Three
// machines run their daemons and have the value, which no rule knows. One goes
// away, the value is redacted, and the report names who has cleaned up and who
// has not; when the third is back, and says so, the value is in no file of anybody,
// nor in a backup that is made then.
func TestLeakReport(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	token := server.token("all", "acme/*", "writer")
	var team3 []*machine
	for _, name := range []string{"ada", "ben", "cyd"} {
		m := newFastMachine(t, name)
		m.enroll(server.url, token, team)
		team3 = append(team3, m)
	}
	lead, away := team3[0], team3[2]
	server.asMaintainer(lead)
	leaked := strings.Join([]string{"marmalade", "on", "fourteen", "bridges"}, " ")
	lead.write("deploy.md", "Say "+leaked+" at the gate.\n")
	lead.write("old.md", "Once it was "+leaked+".\n")
	daemons := make(map[*machine]*process)
	for _, m := range team3 {
		daemons[m] = m.daemon()
		m.awaitFile("deploy.md", "Say "+leaked+" at the gate.\n")
	}
	for _, m := range team3 {
		m.awaitFile("old.md", "Once it was "+leaked+".\n")
		await(t, time.Minute, "a daemon to be in sync", func() bool { return m.status().State == "in-sync" })
	}
	daemons[away].kill()

	redact := exec.Command(lead.bin, "redact", "--value-from-stdin", "--repo", team, "--json")
	redact.Stdin = strings.NewReader(leaked + "\n")
	o := lead.runCommand(redact, lead.work())
	answer := decode[api.RedactAnswer](t, o.stdout)
	if o.code != 0 || len(answer.Reports) != 1 {
		t.Fatalf("redact: exit code %d, %+v\n%s", o.code, answer, o.stderr)
	}
	id := strconv.FormatUint(answer.Reports[0].ID, 10)
	report := func() (r api.RedactionReport, open []string) {
		t.Helper()
		got := decode[api.RedactionsAnswer](t, lead.ok("redact", "--report", id, "--repo", team, "--json").stdout).Redactions
		if len(got) != 1 {
			t.Fatalf("%d reports of one redaction", len(got))
		}
		for _, d := range got[0].Devices {
			if d.ConfirmedAt.IsZero() {
				open = append(open, d.Actor.Person)
			}
		}
		return got[0], open
	}
	await(t, time.Minute, "two machines to confirm", func() bool { r, _ := report(); return r.Confirmed == 2 })
	r, open := report()
	if len(r.Devices) != 3 || r.Open != 1 || len(open) != 1 || open[0] != "cyd" || len(r.Versions) == 0 {
		t.Errorf("with one away the report is %+v", r)
	}
	if text := lead.ok("redact", "--report", id, "--repo", team).stdout; !strings.Contains(text, "3 machines: 2 have cleaned up, 1 have not said so") || !strings.Contains(text, "not yet") {
		t.Errorf("it reads\n%s", text)
	}
	if len(away.filesWith(leaked)) == 0 {
		t.Fatal("the machine that is away has not got the value: the drill proves nothing")
	}

	away.daemon()
	await(t, time.Minute, "the third to confirm", func() bool { r, _ := report(); return r.Confirmed == 3 && r.Open == 0 })
	server.ok("server", "backup", filepath.Join(server.home, "later.backup"), "--data", server.data)
	for _, m := range append(team3, server.machine) {
		if names := m.filesWith(leaked); len(names) > 0 {
			t.Errorf("%s still has the value in %q", filepath.Base(m.home), names)
		}
	}
	if names := server.filesWith("cyd"); len(names) == 0 {
		t.Error("the server's files are not what was searched")
	}
}
