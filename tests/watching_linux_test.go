package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const watchLimit = "/proc/sys/user/max_inotify_watches"

// TestF01TooFewWatches gives a daemon three watches for more directories: it
// looks every 15 s, says so and what would help, and listens again when there
// are more.
func TestF01TooFewWatches(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	m := newFastMachine(t, "ada")
	token := server.token("ada", team, "writer")
	m.enroll(server.url, token, team)
	m.write("a/b/c/d/first.md", "first\n")
	daemon := m.daemonWithin("echo 3 > " + watchLimit)
	await(t, time.Minute, "status to say polling", func() bool { return m.status().State == "polling" })
	const remedy = "sysctl fs.inotify.max_user_watches="
	if r := m.status(); r.Watch != "polling" || r.WatchReason == "" || !strings.Contains(r.WatchRemedy, remedy) {
		t.Errorf("watched by %q, reason %q, remedy %q", r.Watch, r.WatchReason, r.WatchRemedy)
	}
	if text := m.ok("status").stdout; !strings.Contains(text, "trouble") || !strings.Contains(text, remedy) {
		t.Errorf("status does not say what would help:\n%s", text)
	}
	has := func(key, text string) func() bool {
		return func() bool { full, _ := server.get(token, team); return full.Content.Entries[key] == text }
	}
	begun := time.Now()
	m.write("a/b/c/d/second.md", "second\n")
	await(t, time.Minute, "a file to arrive by polling", has("a/b/c/d/second.md", "second\n"))
	t.Logf("by polling, an edit arrived after %s", time.Since(begun).Round(100*time.Millisecond))
	if !testing.Short() {
		more := exec.CommandContext(t.Context(), "nsenter", "--user", "--target", strconv.Itoa(daemon.cmd.Process.Pid), "sh", "-c", "echo 1000 > "+watchLimit)
		if out, err := more.CombinedOutput(); err != nil {
			t.Fatalf("raising the limit: %v\n%s", err, out)
		}
		await(t, 2*time.Minute, "events to be tried again", func() bool { return m.status().Watch == "events" })
		m.write("a/b/c/d/third.md", "third\n")
		await(t, 10*time.Second, "a file to arrive by events", has("a/b/c/d/third.md", "third\n"))
	}
	if n := strings.Count(daemon.talk(), remedy); n != 1 {
		t.Errorf("the log says %d times what would help, want once\n%s", n, daemon.talk())
	}
}

// TestF05OverlayUpper keeps a team directory on an overlay and writes to the
// layer below it, of which no events tell.
func TestF05OverlayUpper(t *testing.T) {
	t.Parallel()
	server, m, other := newCompanion(t), newFastMachine(t, "ada"), newFastMachine(t, "ben")
	token := server.token("both", team, "writer")
	other.enroll(server.url, token, team)
	layers := map[string]string{}
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		layers[name] = filepath.Join(m.home, "overlay", name)
		if err := os.MkdirAll(layers[name], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m.team = filepath.Join(layers["merged"], "team")
	m.enroll(server.url, token, team)
	upper := filepath.Join(layers["upper"], "team")
	put(t, filepath.Join(upper, "first.md"), "first\n")
	m.daemonWithin("mount -t overlay overlay -o lowerdir=" + layers["lower"] + ",upperdir=" + layers["upper"] + ",workdir=" + layers["work"] + " " + layers["merged"])
	await(t, time.Minute, "status to say polling", func() bool { return m.status().State == "polling" })
	if r := m.status(); r.Watch != "polling" || !strings.Contains(r.WatchReason, "overlay") {
		t.Errorf("watched by %q, reason %q", r.Watch, r.WatchReason)
	}
	other.daemon()
	arrives := func(key, text string) {
		t.Helper()
		put(t, filepath.Join(upper, key), text)
		begun := time.Now()
		await(t, time.Minute, key+" to arrive", func() bool { got, _ := other.read(key); return got == text })
		t.Logf("%s arrived after %s", key, time.Since(begun).Round(100*time.Millisecond))
	}
	arrives("first.md", "edited behind the mount's back\n")
	arrives("second.md", "made behind the mount's back\n")
	other.write("third.md", "made elsewhere\n")
	await(t, time.Minute, "a file to come into the upper layer", func() bool {
		text, err := os.ReadFile(filepath.Join(upper, "third.md"))
		return err == nil && string(text) == "made elsewhere\n"
	})
}
