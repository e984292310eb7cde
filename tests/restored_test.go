package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

// TestF24ServerRestored puts an old copy of the server's data in place, after
// fifty edits that it had acknowledged: every client says so, overwrites nothing
// and keeps everything, until a person says which side is right. A copy that was
// restored by the server's own means has a new epoch beside its lower version.
func TestF24ServerRestored(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"--accept-server", "--reupload"} {
		for _, epoch := range []string{"", "a new epoch"} {
			t.Run(strings.TrimSpace(how+" "+epoch), func(t *testing.T) { t.Parallel(); newRestoration(t, newPair(t), copied(epoch)).resume(how) })
		}
	}
}

// TestPostgresRestored does so by the verbs on PostgreSQL, and the backup is made while the
// server runs.
func TestPostgresRestored(t *testing.T) {
	t.Parallel()
	server := newCompanionOn(t, "server", pgtest.Schema(t))
	newRestoration(t, newPairOn(t, server), byVerbs).resume("--reupload")
}

// restoration is a server that was set back under two machines.
type restoration struct {
	pair
	t *testing.T
	// old is what the backup has, want what the machines had after it.
	old, want tree
	written   map[string][]string
}

// wayBack keeps the state of a server that runs, and returns what sets it back when
// it was stopped.
type wayBack func(r *restoration) (back func())

// copied is the way of who copies files, and gives them an epoch.
func copied(epoch string) wayBack {
	return func(r *restoration) func() {
		backup := filepath.Join(r.server.home, "backup")
		r.server.stop()
		copyTree(r.t, r.server.data, backup)
		r.server.again()
		return func() {
			if err := os.RemoveAll(r.server.data); err != nil {
				r.t.Fatal(err)
			}
			if err := os.Rename(backup, r.server.data); err != nil {
				r.t.Fatal(err)
			}
			if epoch != "" {
				setEpoch(r.t, filepath.Join(r.server.data, "teammemd.db"), epoch)
			}
		}
	}
}

// byVerbs is the server's own way.
func byVerbs(r *restoration) func() {
	backup := filepath.Join(r.server.home, "backup")
	r.server.ok("server", "backup", backup, "--data", r.server.data)
	return func() { r.server.ok("server", "restore", backup, "--data", r.server.data) }
}

func newRestoration(t *testing.T, machines pair, keep wayBack) *restoration {
	t.Helper()
	r := &restoration{pair: machines, t: t, old: make(tree), written: make(map[string][]string)}
	for i := range 10 {
		key, text := fmt.Sprintf("note-%d.md", i), fmt.Sprintf("old %d\n", i)
		r.old[key] = text
		r.a.write(key, text)
	}
	r.meet(t)
	back := keep(r)
	r.fiftyEdits()
	r.server.stop()
	back()
	return r
}

// fiftyEdits makes fifty edits on two machines, all of them acknowledged.
func (r *restoration) fiftyEdits() {
	r.t.Helper()
	sent := 0
	for i := range 50 {
		m, key, text := r.a, fmt.Sprintf("note-%d.md", i%12), fmt.Sprintf("edit %d\n", i)
		if i%2 == 1 {
			m = r.b
		}
		m.write(key, text)
		if i%10 == 9 { // each of the ten keys has changed on one machine alone
			for _, m := range []*machine{r.a, r.b, r.a} {
				sent += m.sync(0).Sent
			}
		}
		r.written[key] = []string{text}
	}
	if sent != 50 {
		r.t.Fatalf("%d edits were acknowledged, want 50", sent)
	}
	r.meet(r.t)
	r.want = treeOf(r.t, r.a.team)
}

// setEpoch writes a store's epoch, as restoring a backup does.
func setEpoch(t *testing.T, file, epoch string) {
	t.Helper()
	db, err := sqlite.OpenConn(file, sqlite.OpenReadWrite|sqlite.OpenWAL)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.Execute(db, "UPDATE meta SET value = ? WHERE name = 'epoch'", &sqlitex.ExecOptions{Args: []any{epoch}})
	if err != nil || db.Changes() != 1 {
		t.Errorf("setting the epoch: %d rows, %v", db.Changes(), err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// resume starts the server, sees that everybody stands still, and goes on.
func (r *restoration) resume(how string) {
	t := r.t
	t.Helper()
	daemons := []*process{r.a.daemon(), r.b.daemon()}
	r.server.again()
	for _, m := range []*machine{r.a, r.b} {
		await(t, time.Minute, "the daemon to say server-changed", func() bool { return m.status().State == "server-changed" })
		m.want(3, "status", "--check")
		complains(t, m.run("sync"), 3)
	}
	for _, d := range daemons {
		d.stop()
	}
	reader := r.server.token("reader", team, "reader")
	full, _ := r.server.get(reader, team)
	sameTree(t, "nothing is pushed", r.old, full.Content.Entries)
	for _, m := range []*machine{r.a, r.b} {
		if got := m.sync(3); got.State != "server-changed" {
			t.Errorf("without a daemon the state is %s, want server-changed", got.State)
		}
		m.want(3, "status", "--check")
		sameTree(t, "nothing is overwritten", r.want, treeOf(t, m.team))
	}

	complains(t, r.a.run("resume"), 2, "--accept-server", "--reupload")
	for _, m := range []*machine{r.a, r.b} {
		if o := m.run("resume", how); o.code != 0 && o.code != 3 {
			t.Errorf("resume %s: exit code %d\n%s%s", how, o.code, o.stdout, o.stderr)
		}
	}
	r.a.run("sync")
	r.b.run("sync")
	full, _ = r.server.get(reader, team)
	for _, m := range []*machine{r.a, r.b} {
		sameTree(t, "a machine and the server", treeOf(t, m.team), full.Content.Entries)
		account(t, r.server, team, r.written, m)
		if o := m.run("status", "--check"); o.code != 0 && o.code != 3 { // 3: copies that nobody has read
			t.Errorf("status --check afterwards: %d\n%s", o.code, o.stdout)
		}
	}
	if how == "--reupload" {
		sameTree(t, "the server has what the machines had", r.want, full.Content.Entries)
		return
	}
	for key, text := range r.old {
		if full.Content.Entries[key] != text {
			t.Errorf("%s is %q on the server, which was to be right", key, full.Content.Entries[key])
		}
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	for name, text := range treeOf(t, from) {
		put(t, filepath.Join(to, name), text)
	}
}
