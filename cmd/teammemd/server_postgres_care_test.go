//go:build unix

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

var killedRestores = flag.Int("killedrestores", 3, "how many restores into PostgreSQL are killed")

// onPostgres is a server's database, and the verbs on it.
type onPostgres struct {
	t       *testing.T
	cluster *pgtest.Cluster
	dsn     string
	data    string // where a restore is prepared
	token   string
}

func newOnPostgres(t *testing.T) *onPostgres {
	t.Helper()
	o := &onPostgres{t: t, cluster: pgtest.Shared(t), dsn: pgtest.Schema(t), data: filepath.Join(t.TempDir(), "data")}
	secret, talk, code := verb(t, databaseVariable+"="+o.dsn, "server", "token", "create", "--name", "w", "--repo", "*", "--role", "maintainer", "--data", o.data)
	if code != 0 {
		t.Fatal(talk)
	}
	o.token = strings.TrimSpace(secret)
	return o
}

// want runs a verb of the server and returns all that it says.
func (o *onPostgres) want(code int, args ...string) string {
	o.t.Helper()
	out, talk, got := verb(o.t, databaseVariable+"="+o.dsn, append(append([]string{"server"}, args...), "--data", o.data)...)
	if got != code {
		o.t.Fatalf("%v: exit code %d, want %d: %s%s", args, got, code, out, talk)
	}
	return out + talk
}

func (o *onPostgres) serve() *process {
	o.t.Helper()
	return startServer(o.t, "--data", o.data, withEnvironment, databaseVariable+"="+o.dsn)
}

// sql runs a statement past the store.
func (o *onPostgres) sql(statement string) {
	o.t.Helper()
	_, schema, _ := strings.Cut(o.dsn, "search_path=")
	o.cluster.Exec(o.t, "SET search_path = "+schema+"; "+statement)
}

// state is what a server says of a repo, and under which epoch.
func (o *onPostgres) state() string {
	o.t.Helper()
	p := o.serve()
	defer p.stop()
	got := p.ask(http.MethodGet, memoryPath("acme/api"), o.token, "")
	if got.status != http.StatusOK {
		o.t.Fatalf("status %d: %s", got.status, got.body)
	}
	return got.body
}

// TestPostgresBackupAmongWrites: each backup is of one moment, holds all that was
// acknowledged when it began, and is sound; who wrote goes along, and is forgotten.
func TestPostgresBackupAmongWrites(t *testing.T) {
	t.Parallel()
	o := newOnPostgres(t)
	p := o.serve()
	stop := make(chan struct{})
	var mu sync.Mutex
	acknowledged := 0
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			body := fmt.Sprintf(`{"entries":{"a-%d.md":"text %d","last.md":"%d"}}`, i%30, i, i)
			got, err := p.try(http.MethodPut, memoryPath("acme/api"), o.token, body, api.HeaderActorPerson, "Ada of Example")
			if err != nil || got.status != http.StatusOK {
				t.Errorf("writing: %d, %v: %s", got.status, err, got.body)
				return
			}
			mu.Lock()
			acknowledged = i
			mu.Unlock()
		}
	})
	least := make(map[string]int)
	for i := range 3 {
		eventually(t, "more writes", func() bool { mu.Lock(); defer mu.Unlock(); return acknowledged > 20*i })
		mu.Lock()
		was := acknowledged
		mu.Unlock()
		file := filepath.Join(t.TempDir(), "backup")
		o.want(0, "backup", file)
		least[file] = was
	}
	close(stop)
	writer.Wait()
	p.stop()
	if said := o.want(0, "fsck"); !strings.Contains(said, "sound") {
		t.Errorf("fsck: %s", said)
	}
	for file, least := range least {
		lite := filepath.Join(t.TempDir(), "lite")
		for _, args := range [][]string{{"restore", file}, {"fsck"}} {
			if out, talk, code := run(t, append(append([]string{"server"}, args...), "--data", lite)...); code != 0 {
				t.Fatalf("%v: %s%s", args, out, talk)
			}
		}
		again := startServer(t, "--data", lite)
		var got struct {
			Content struct{ Entries map[string]string }
		}
		body := again.ask(http.MethodGet, memoryPath("acme/api"), o.token, "").body
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		var last int
		if _, err := fmt.Sscan(got.Content.Entries["last.md"], &last); err != nil || last < least || got.Content.Entries[fmt.Sprintf("a-%d.md", last%30)] != fmt.Sprintf("text %d", last) {
			t.Errorf("the backup has write %d of at least %d, %v: %s", last, least, err, body)
		}
		again.stop()
	}
	if said := o.want(0, "admin", "user", "export", "--person", "Ada of Example"); !strings.Contains(said, `"action":"put"`) || strings.Contains(said, "text 1") {
		t.Errorf("what is kept about a person: %.300s", said)
	}
	o.want(api.ExitUsage, "admin", "user", "erase", "--person", "Ada of Example")
	if said := o.want(0, "admin", "user", "erase", "--person", "Ada of Example", "--yes"); !strings.Contains(said, "1 names") {
		t.Errorf("erasing: %s", said)
	}
	if said := o.want(0, "fsck"); !strings.Contains(said, "sound") {
		t.Errorf("fsck after it: %s", said)
	}
	for file := range least { // the newest or not: who was erased stays so
		o.want(0, "restore", file)
		if said := o.want(0, "admin", "user", "export", "--person", "Ada of Example"); !strings.Contains(said, `"acts":[]`) {
			t.Errorf("who was erased is back: %.300s", said)
		}
		break
	}
}

// TestPostgresDamage plants damage: the verb finds it, quotes nothing, and a backup of
// it is refused whole.
func TestPostgresDamage(t *testing.T) {
	t.Parallel()
	o := newOnPostgres(t)
	p := o.serve()
	for _, body := range []string{`{"entries":{"a.md":"one"}}`, `{"entries":{"a.md":"two"}}`} {
		if got := p.ask(http.MethodPut, memoryPath("acme/api"), o.token, body); got.status != http.StatusOK {
			t.Fatal(got.body)
		}
	}
	p.stop()
	for name, c := range map[string]struct{ spoil, mend, says string }{
		"a content": {"UPDATE bodies SET content = 'leak' WHERE content = 'two'", "UPDATE bodies SET content = 'two' WHERE content = 'leak'", "checksum"},
		"a chain":   {"UPDATE audit SET at_ms = at_ms + 1 WHERE repo <> 0 AND number = 1", "UPDATE audit SET at_ms = at_ms - 1 WHERE repo <> 0 AND number = 1", "audit row 1"},
		"a head":    {"UPDATE repos SET version = version + 1 WHERE repo <> 0", "UPDATE repos SET version = version - 1 WHERE repo <> 0", "has version 3"},
	} {
		o.sql(c.spoil)
		if said := o.want(exitOfProblems, "fsck"); !strings.Contains(said, c.says) || strings.Contains(said, "leak") {
			t.Errorf("%s: %s", name, said)
		}
		broken := filepath.Join(t.TempDir(), "broken")
		o.want(0, "backup", broken)
		o.sql(c.mend)
		before := o.state()
		if said := o.want(api.ExitFailure, "restore", broken); !strings.Contains(said, "broken") {
			t.Errorf("restoring a backup with %s: %s", name, said)
		}
		if after := o.state(); after != before {
			t.Errorf("a refused restore changed %s to %s", before, after)
		}
	}
	newer := filepath.Join(t.TempDir(), "newer")
	o.want(0, "backup", newer)
	raw, err := os.ReadFile(newer)
	if err != nil {
		t.Fatal(err)
	}
	raw[62] = 1 // of SQLite's user_version: schema 256 and more
	if err := os.WriteFile(newer, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := o.want(api.ExitConfig, "restore", newer); !strings.Contains(said, "newer release") {
		t.Errorf("restoring a newer release's backup: %s", said)
	}
	if said := o.want(0, "fsck"); !strings.Contains(said, "sound") {
		t.Errorf("fsck of what was mended: %s", said)
	}
}

// TestPostgresRestoreKilled kills restores at different moments: the server has the
// old state or the new one, whole, and a later restore finds nothing in its way.
func TestPostgresRestoreKilled(t *testing.T) {
	t.Parallel()
	o := newOnPostgres(t)
	p := o.serve()
	put := func(p *process, body string) {
		if got := p.ask(http.MethodPut, memoryPath("acme/api"), o.token, body); got.status != http.StatusOK {
			t.Fatal(got.body)
		}
	}
	put(p, `{"entries":{"a.md":"backed up"}}`)
	file := filepath.Join(t.TempDir(), "backup")
	o.want(0, "backup", file)
	put(p, `{"entries":{"a.md":"since then"}}`)
	p.stop()
	whole := time.Now()
	o.want(0, "restore", file)
	took := time.Since(whole)
	kept := 0
	for i := range *killedRestores {
		p := o.serve()
		put(p, `{"entries":{"a.md":"since then"}}`)
		p.stop()
		before := o.state()
		cmd := command(t, "server", "restore", file, "--data", o.data)
		cmd.Env = append(cmd.Env, databaseVariable+"="+o.dsn)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(took*time.Duration(i+1)/time.Duration(*killedRestores), func() { _ = cmd.Process.Kill() })
		killed := cmd.Wait()
		timer.Stop()
		if said := o.want(0, "fsck"); !strings.Contains(said, "sound") {
			t.Errorf("round %d: %s", i, said)
		}
		after := o.state()
		if strings.Contains(after, "backed up") == (after == before) || killed == nil && after == before {
			t.Errorf("round %d, %v: neither the old state nor the new one:\n%s\n%s", i, killed, before, after)
		}
		if after == before {
			kept++
		}
	}
	if said := o.want(0, "restore", file); !strings.Contains(said, "restored") {
		t.Errorf("the last restore: %s", said)
	}
	if state := o.state(); !strings.Contains(state, "backed up") {
		t.Errorf("in the end: %s", state)
	}
	if !t.Failed() {
		t.Logf("FIGURE %d restores into PostgreSQL killed: %d kept the old state, %d had the new one, every check clean", *killedRestores, kept, *killedRestores-kept)
	}
}
