package tests

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/samples"
)

// claudeTeam is where Claude Code keeps the team's memory of a checkout.
func (m *machine) claudeTeam(checkout string) string {
	name := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(checkout, "-")
	return filepath.Join(m.home, ".claude", "projects", name, "memory", "team")
}

// fourteen writes a small team memory.
func fourteen(t *testing.T, dir string) tree {
	t.Helper()
	files := tree{"MEMORY.md": "# Index\n"}
	for i := range 13 {
		files[fmt.Sprintf("topic-%02d.md", i)] = fmt.Sprintf("---\nname: topic %d\ntype: project\n---\n%s", i, sized(1500+100*i))
	}
	for key, text := range files {
		put(t, filepath.Join(dir, key), text)
	}
	return files
}

// invitation is the line that `up` prints for a teammate.
var invitation = regexp.MustCompile(`teammemd join (http://\S+) --code (\S+)`)

func invited(t *testing.T, text string) (url, code string) {
	t.Helper()
	found := invitation.FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("nobody is invited:\n%s", text)
	}
	return found[1], found[2]
}

// TestUpDetached measures `up --detach` in a fresh checkout, to the moment at
// which it has said "in sync". It runs alone.
func TestUpDetached(t *testing.T) {
	runs := 5
	if testing.Short() {
		runs = 1
	}
	steady(t, func() string {
		took := make([]time.Duration, 0, runs)
		for range runs {
			m := newMachine(t, "ada")
			dir := m.checkout("api", "git@github.com:acme/api.git")
			files := fourteen(t, m.claudeTeam(dir))
			o := m.runIn(dir, "up", "--detach", "--listen", "127.0.0.1:0")
			m.endDetached()
			if o.code != 0 {
				t.Fatalf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			for _, want := range []string{
				"server    http://127.0.0.1:", "repo      acme/api (from origin)", fmt.Sprintf("%d files, %d rules, 0 findings", len(files), ruleCount()),
				fmt.Sprintf("in sync   %d sent, 0 received", len(files)), "0 held", "teammate  teammemd join http://127.0.0.1:", "valid 15 min, once",
			} {
				if !strings.Contains(o.stdout, want) {
					t.Errorf("up does not say %q:\n%s", want, o.stdout)
				}
			}
			took = append(took, o.took)
		}
		middle := quantile(took, 0.5)
		t.Logf("FIGURE up --detach to in sync, 14 files: median %d ms of %d runs", middle.Milliseconds(), runs)
		return tooLong(t, "up --detach", middle, 500*time.Millisecond)
	})
}

// TestUpAndJoin is the first five minutes: one machine, two checkouts, and a
// teammate who joins from another home.
func TestUpAndJoin(t *testing.T) {
	t.Parallel()
	ada, ben := newFastMachine(t, "ada"), newFastMachine(t, "ben")
	api := ada.checkout("api", "git@github.com:acme/api.git")
	files := fourteen(t, ada.claudeTeam(api))
	o := ada.runIn(api, "up", "--detach", "--listen", "127.0.0.1:0")
	t.Cleanup(ada.endDetached)
	if o.code != 0 {
		t.Fatalf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	url, code := invited(t, o.stdout)

	t.Run("a second checkout registers with what runs", func(t *testing.T) {
		web := ada.checkout("web", "https://github.com/acme/web.git")
		put(t, filepath.Join(ada.claudeTeam(web), "MEMORY.md"), "# Web\n")
		o := ada.runIn(web, "up")
		if o.code != 0 {
			t.Fatalf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
		}
		second, _ := invited(t, o.stdout)
		if second != url || !strings.Contains(o.stdout, "repo      acme/web (from origin)") || !strings.Contains(o.stdout, "1 sent") {
			t.Errorf("the second checkout is not with %s:\n%s", url, o.stdout)
		}
		status := decode[struct{ Roots []report }](t, ada.ok("status", "--json").stdout)
		if len(status.Roots) != 2 {
			t.Errorf("%d roots are registered, want 2", len(status.Roots))
		}
	})
	t.Run("a teammate joins", func(t *testing.T) {
		dir := ben.checkout("his", "https://github.com/Acme/API.git/")
		o := ben.runIn(dir, "join", url, "--code", strings.ToLower(code))
		if o.code != 0 || !strings.Contains(o.stdout, "14 received") {
			t.Fatalf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
		}
		if !strings.Contains(o.stderr+o.stdout, "this machine only") {
			t.Errorf("join does not say that a loopback address is of this machine only:\n%s%s", o.stdout, o.stderr)
		}
		sameTree(t, "the first and the teammate", files, treeOf(t, ben.claudeTeam(dir)))
		put(t, filepath.Join(ben.claudeTeam(dir), "from-ben.md"), "hello\n")
		if o := ben.runIn(dir, "sync"); o.code != 0 {
			t.Errorf("the teammate's sync: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
		}
		await(t, time.Minute, "the teammate's file to arrive", func() bool {
			text, err := os.ReadFile(filepath.Join(ada.claudeTeam(api), "from-ben.md"))
			return err == nil && string(text) == "hello\n"
		})
	})
	t.Run("a code works once", func(t *testing.T) {
		cleo := newMachine(t, "cleo")
		dir := cleo.checkout("api", "git@github.com:acme/api.git")
		complains(t, cleo.runIn(dir, "join", url, "--code", code), 77)
		if o := cleo.run("config", "show"); strings.Contains(o.stdout, "root  ") {
			t.Errorf("a root is registered after a join that failed:\n%s", o.stdout)
		}
	})
	t.Run("a code is for one repo", func(t *testing.T) {
		dora := newMachine(t, "dora")
		_, code := invited(t, ada.runIn(api, "up").stdout)
		complains(t, dora.runIn(dora.checkout("other", "git@github.com:acme/other.git"), "join", url, "--code", code), 2)
	})
	t.Run("five wrong tries burn a code", func(t *testing.T) {
		_, code := invited(t, ada.runIn(api, "up").stdout)
		eve := newMachine(t, "eve")
		dir := eve.checkout("api", "git@github.com:acme/api.git")
		for i := range 5 {
			complains(t, eve.runIn(dir, "join", url, "--code", fmt.Sprintf("AAAA-AAA%d", i)), 77)
		}
		complains(t, eve.runIn(dir, "join", url, "--code", code), 77)
		_, fresh := invited(t, ada.runIn(api, "up").stdout)
		if o := eve.runIn(dir, "join", url, "--code", fresh); o.code != 0 {
			t.Errorf("a new code: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
		}
	})
}

// TestUpInForeground stops `up` by SIGINT: exit code 0, and everything that it
// held is free.
func TestUpInForeground(t *testing.T) {
	t.Parallel()
	m := newFastMachine(t, "ada")
	dir := m.checkout("api", "git@github.com:acme/api.git")
	files := fourteen(t, m.claudeTeam(dir))
	p := m.startIn(dir, "up", "--listen", "127.0.0.1:0")
	address, _ := invited(t, p.awaitLine("teammate"))
	put(t, filepath.Join(m.claudeTeam(dir), "late.md"), "in the last moment\n")
	p.signal(os.Interrupt)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d, want 0\n%s", code, p.talk())
	}
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", parsed.Host)
	if err != nil {
		t.Fatalf("the port is not free: %v", err)
	}
	_ = ln.Close()
	for _, pattern := range []string{filepath.Join(m.xdg("run"), "teammemd", "*.sock"), filepath.Join(m.state(), "*.pid"), filepath.Join(m.state(), "socket")} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
	again := m.startIn(dir, "up", "--listen", parsed.Host)
	if line := again.awaitLine("in sync"); !strings.HasPrefix(line, "0 sent") {
		t.Errorf("the second start sends what the first should have flushed: %q", line)
	}
	if got := len(files) + 1; !strings.Contains(again.results(), fmt.Sprintf("%d files", got)) {
		t.Errorf("not %d files:\n%s", got, again.results())
	}
	again.signal(os.Interrupt)
	if code := again.wait(); code != 0 {
		t.Errorf("the second time: exit code %d, want 0", code)
	}
}

// TestUpTwice starts `up` twenty times at once: one becomes the daemon, the
// others register with it or say that it runs; all agree on one server.
func TestUpTwice(t *testing.T) {
	t.Parallel()
	starts := 8
	if testing.Short() {
		starts = 3
	}
	m := newFastMachine(t, "ada")
	dir := m.checkout("api", "git@github.com:acme/api.git")
	fourteen(t, m.claudeTeam(dir))
	t.Cleanup(m.endDetached)
	ended := make(chan outcome, starts)
	for range starts {
		go func() { ended <- m.runIn(dir, "up", "--detach", "--listen", "127.0.0.1:0") }()
	}
	urls, good := make(map[string]bool), 0
	for range starts {
		switch o := <-ended; o.code {
		case 0:
			url, _ := invited(t, o.stdout)
			urls[url] = true
			good++
		case 75:
			complains(t, o, 75)
		default:
			t.Errorf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
		}
	}
	if len(urls) != 1 || good == 0 {
		t.Errorf("%d succeeded, with the servers %v; want one server", good, urls)
	}
	if o := m.runIn(dir, "sync"); o.code != 0 {
		t.Errorf("sync afterwards: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// TestDaemonStop ends what `up --detach` left running, within the wait for an
// edit: the edit is sent first.
func TestDaemonStop(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "ada") // with the default wait
	dir := m.checkout("api", "git@github.com:acme/api.git")
	files := fourteen(t, m.claudeTeam(dir))
	t.Cleanup(m.endDetached)
	if o := m.runIn(dir, "up", "--detach", "--listen", "127.0.0.1:0"); o.code != 0 {
		t.Fatalf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	put(t, filepath.Join(m.claudeTeam(dir), "late.md"), "in the last moment\n")
	time.Sleep(100 * time.Millisecond) // for the watcher to see it
	object(t, m.ok("daemon", "--stop", "--json"), shape{})
	if o := m.runIn(dir, "sync"); o.code != 75 {
		t.Errorf("sync after the end of server and daemon: exit code %d, want 75\n%s%s", o.code, o.stdout, o.stderr)
	}
	m.ok("daemon", "--stop") // there is none: nothing to do
	o := m.runIn(dir, "up", "--detach", "--listen", "127.0.0.1:0")
	if o.code != 0 || !strings.Contains(o.stdout, "in sync   0 sent, 0 received, ") || !strings.Contains(o.stdout, fmt.Sprintf("%d files", len(files)+1)) {
		t.Errorf("the next start: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	m.ok("daemon", "--stop")
}

// TestUpHolds runs `up` over what must not travel: exit code 3, and the
// transcript says what is held.
func TestUpHolds(t *testing.T) {
	t.Parallel()
	m := newFastMachine(t, "ada")
	dir := m.checkout("api", "git@github.com:acme/api.git")
	family, _ := samples.Find("stripe-access-token")
	put(t, filepath.Join(m.claudeTeam(dir), "deploy.md"), "one\ntwo\nthe key is "+family.Sample()+" today\n")
	put(t, filepath.Join(m.claudeTeam(dir), "fine.md"), "fine\n")
	t.Cleanup(m.endDetached)
	o := m.runIn(dir, "up", "--detach", "--listen", "127.0.0.1:0")
	if o.code != 3 {
		t.Errorf("exit code %d, want 3\n%s%s", o.code, o.stdout, o.stderr)
	}
	for _, want := range []string{
		"held  deploy.md:3  stripe-access-token  ->  teammemd scrub deploy.md:3, and rotate it if it was ever shared",
		"1 sent", "1 held", fmt.Sprintf("2 files, %d rules, 1 finding", ruleCount()),
	} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("up does not say %q:\n%s", want, o.stdout)
		}
	}
	if strings.Contains(o.stdout+o.stderr, family.Sample()) {
		t.Error("the value is shown")
	}
	if o := m.runIn(dir, "scrub", "deploy.md:3"); o.code != 0 {
		t.Errorf("the command that up names: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	await(t, 20*time.Second, "the daemon to send what was scrubbed", func() bool { r := m.status(); return r.State == "in-sync" && len(r.Held) == 0 })
}

// TestWorktrees registers a checkout from a directory below it, and from a
// worktree of it: it is one repo and one team directory.
func TestWorktrees(t *testing.T) {
	t.Parallel()
	m := newFastMachine(t, "ada")
	dir := m.checkout("api", "ssh://git@github.com:22/Acme/API.git")
	m.git(dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first")
	tree := filepath.Join(m.home, "src", "tree")
	m.git(dir, "worktree", "add", "-q", tree)
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{dir, below, tree} {
		o := m.runIn(from, "init", "--server", nowhere, "--yes", "--json")
		got := object(t, o, shape{"repo": "s", "root": "s"})
		if o.code != 0 || got["repo"] != "acme/api" || got["root"] != m.claudeTeam(dir) {
			t.Errorf("from %s: exit code %d, %s%s", from, o.code, o.stdout, o.stderr)
		}
	}
	if roots := decode[struct{ Roots []any }](t, m.ok("config", "show", "--json").stdout).Roots; len(roots) != 1 {
		t.Errorf("%d roots, want 1", len(roots))
	}
}

// ruleCount is how many rules the scanner of this tree has.
func ruleCount() int { return scanner.New(scanner.Options{}).Rules() }

// TestReadmeCountsTheRules keeps the transcript in README that of this tree.
func TestReadmeCountsTheRules(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("14 files, %d rules, 0 findings", ruleCount()); !strings.Contains(string(readme), want) {
		t.Errorf("README does not say %q", want)
	}
}
