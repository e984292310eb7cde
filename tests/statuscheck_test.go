package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/scanner/samples"
)

// TestStatusCheck makes the condition of every exit code that `status --check`
// promises, and asks without a daemon and with one.
func TestStatusCheck(t *testing.T) {
	t.Parallel()
	family, _ := samples.Find("npm-access-token")
	tests := map[string]struct {
		code  int
		state string
		make  func(p pair)
	}{
		"in sync": {0, "in-sync", func(pair) {}},
		"held":    {3, "in-sync", func(p pair) { p.a.write("held.md", "it is "+family.Sample()+" for now\n") }},
		"a conflict": {3, "in-sync", func(p pair) {
			p.b.sync(0)
			p.b.write("note.md", "theirs\n")
			p.b.sync(0)
			p.a.write("note.md", "mine\n")
			p.a.sync(3)
		}},
		"server changed": {3, "server-changed", func(p pair) {
			p.server.stop()
			if err := os.RemoveAll(p.server.data); err != nil {
				p.a.t.Fatal(err)
			}
			fresh := p.server.token("writer again", "acme/*", "writer")
			put(p.a.t, filepath.Join(p.a.home, "token"), fresh+"\n")
			p.server.again()
			p.server.push(fresh, team, map[string]string{"other.md": "of another age\n"})
		}},
		"signed out": {4, "signed-out", func(p pair) {
			put(p.a.t, filepath.Join(p.a.home, "token"), "tm_"+strings.Repeat("B", 43)+"\n")
		}},
		"offline": {75, "offline", func(p pair) { p.server.stop() }},
		"no access": {77, "no-access", func(p pair) {
			put(p.a.t, filepath.Join(p.a.home, "token"), p.server.token("elsewhere", "other/*", "writer")+"\n")
		}},
		"a token file that is gone": {78, "halted", func(p pair) { remove(p.a.t, filepath.Join(p.a.home, "token")) }},
		"a damaged state": {1, "halted", func(p pair) {
			journals, err := filepath.Glob(filepath.Join(p.a.state(), "roots", "*", "journal"))
			if err != nil || len(journals) != 1 {
				p.a.t.Fatalf("%d journals, %v", len(journals), err)
			}
			put(p.a.t, journals[0], "this is no journal\nof ours\n")
		}},
		"paused": {0, "paused", func(p pair) { p.a.ok("pause") }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			p.a.write("note.md", "text\n")
			p.a.sync(0)
			tt.make(p)
			check := func(how string) {
				t.Helper()
				o := p.a.want(tt.code, "status", "--check")
				if o.stderr != "" {
					t.Errorf("%s: %q on standard error", how, o.stderr)
				}
				if r := p.a.status(); r.State != tt.state { // without --check it is 0
					t.Errorf("%s: the state is %s, want %s", how, r.State, tt.state)
				}
			}
			if tt.code == 75 {
				p.a.write("more.md", "not sent yet\n")
			}
			check("alone")
			p.a.daemon()
			await(t, time.Minute, "the daemon to say "+tt.state, func() bool {
				r := p.a.status()
				return r.State == tt.state && p.a.run("status", "--check").code == tt.code
			})
			check("with a daemon")
		})
	}
}
