package tests

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner/samples"
)

// hostileKeys are names by which a server could reach outside, or give an
// agent's machine what it cannot bear.
func hostileKeys(outside string) []string {
	long := strings.Repeat("x", 201) + ".md"
	keys := []string{
		"", ".", "..", "../x.md", "../../x.md", "a/../x.md", "a/../../x.md", "a/../../../x.md", "./x.md", "a/./x.md", "a//x.md", "a/", "/",
		"/x.md", "//x.md", outside + "/absolute.md", "C:/x.md\\", "C:\\x.md", "..\\x.md", "a\\..\\..\\x.md", "\\\\host\\share\\x.md", "a\\x.md",
		"a\x00.md", "\x00", "a/\x00/../x.md", "x.md\x00.txt", "a\n.md", "a\r.md", "a\t.md", "a\x1b[31m.md", "a\x7f.md", "a\u0085.md",
		"a\u200b.md", "a\u202e.dm", "a\u2028.md", "a\u2029.md", "\ufeff.md",
		"%2e%2e/x.md", "%2e%2e%2fx.md", "..%2fx.md", "%252e%252e%252fx.md", "a/%2e%2e/%2e%2e/x.md", "%2fx.md", "a%00.md", "..%5cx.md",
		"．．/x.md", "a/．．/．．/x.md", "a／..／x.md", "..／x.md", "．．＼x.md", "‥/x.md", "a/‥/x.md", "⁄x．．/..／x.md",
		"CON", "con.md", "PRN.md", "aux.md", "NUL.txt", "COM1.md", "lpt9.md", "dir/CON/x.md", "COM¹.md", "CONIN$",
		"trailing.", "trailing ", "dir./x.md", "dir /x.md", "x.md ", "x.md.",
		long, strings.Repeat("d/", 20) + "x.md", strings.Repeat("k/", 10) + strings.Repeat(strings.Repeat("y", 190)+"/", 6) + "x.md",
		"e\u0301.md", "\u1100\u1161.md", // not in normal form C
	}
	return keys
}

// TestF14HostileServer pulls from a server that wants to write elsewhere.
func TestF14HostileServer(t *testing.T) {
	t.Parallel()
	for _, ours := range []bool{false, true} {
		t.Run(fmt.Sprintf("pretends to be ours %v", ours), func(t *testing.T) {
			t.Parallel()
			server := newBaseServer(t)
			server.ours = ours
			m := newFastMachine(t, "ada")
			m.enroll(server.url, "any", team)
			m.write("mine/keep.md", "mine\n")
			outside := filepath.Join(m.home, "outside")
			put(t, filepath.Join(outside, "victim.md"), "untouched\n")
			hostile := hostileKeys(outside)
			if len(hostile) < 60 {
				t.Fatalf("%d shapes, want at least 60", len(hostile))
			}
			secret, _ := samples.Find("github-pat")
			good := tree{"good-1.md": "good\n", "good/2.md": "good too\n", "MEMORY.md": "# Index\n"}
			server.set(func() {
				for i, key := range hostile {
					server.entries[key] = fmt.Sprintf("hostile %d\n", i)
				}
				maps.Copy(server.entries, good)
				server.entries["lying.md"] = "not what it says\n"
				server.sums["lying.md"] = api.SumString("something else\n").String()
				server.entries["no-sum.md"], server.sums["no-sum.md"] = "x\n", "sha256:xyz"
				server.entries["huge.md"] = sized(250_001)
				server.entries["secret.md"] = "the token is " + secret.Sample() + " today\n"
				for _, key := range []string{"../outside/victim.md", "mine/../../outside/victim.md", outside + "/victim.md"} {
					server.deleted[key] = 1
				}
			})
			own := []string{m.team, m.xdg("state"), m.xdg("config"), m.xdg("run")}
			before := everything(t, m.home, own...)

			o := m.run("sync", "--json")
			r := decode[report](t, o.stdout)
			if o.code != 3 || r.State != "in-sync" || r.Pending != 0 {
				t.Errorf("exit code %d, %s with %d pending, want 3, in-sync with 0: nothing can be done about what a server sends", o.code, r.State, r.Pending)
			}
			good["mine/keep.md"] = "mine\n"
			sameTree(t, "the team directory", good, treeOf(t, m.team))
			if after := everything(t, m.home, own...); !slices.Equal(before, after) {
				t.Errorf("outside of the team directory there is now\n%q\nwhere there was\n%q", after, before)
			}
			if got, err := os.ReadFile(filepath.Join(outside, "victim.md")); err != nil || string(got) != "untouched\n" {
				t.Errorf("the file outside: %q, %v", got, err)
			}
			listed := 0
			var twice []string
			seen := make(map[string]bool)
			for _, h := range r.Held {
				if seen[h.Key] && slices.Contains(hostile, h.Key) {
					twice = append(twice, h.Key)
				}
				seen[h.Key] = true
				if h.Reason == "bad-name" {
					listed++
				}
				if strings.ContainsAny(h.Key, "\x00\x1b\n\r\t\x7f") {
					t.Errorf("a name is shown raw: %q", h.Key)
				}
			}
			if len(twice) > 0 {
				t.Errorf("listed twice: %q", twice)
			}
			if listed < len(hostile) {
				t.Errorf("%d listed as bad-name, want at least %d", listed, len(hostile))
			}
			if h, ok := r.heldFor("secret.md"); !ok || h.Reason != "secret-on-server" {
				t.Errorf("secret.md: %+v, want it held as secret-on-server", h)
			}
			if strings.Contains(string(m.spoken()), secret.Sample()) {
				t.Error("the value is shown")
			}
			for _, key := range []string{"lying.md", "no-sum.md", "huge.md"} {
				if _, ok := r.heldFor(key); !ok {
					t.Errorf("%s is not listed", key)
				}
			}
			again := decode[report](t, m.run("sync", "--json").stdout)
			if again.Received != 0 || again.Sent != 0 {
				t.Errorf("the second time: %d received, %d sent, want 0 and 0", again.Received, again.Sent)
			}
			m.ok("status", "-v")
			o = m.run("sync", "-v")
			if strings.ContainsAny(o.stdout, "\x00\x1b\x7f\u202e") {
				t.Error("the text shows control characters raw")
			}
		})
	}
}
