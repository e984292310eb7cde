package tests

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// nowhere is a server that nobody runs: port 9 discards, where it is there.
const nowhere = "http://127.0.0.1:9"

// TestBadArguments gives every verb arguments that it does not take.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "ada")
	file := m.write("note.md", "text\n")
	m.enroll(nowhere, "tm_x", team)
	tests := [][]string{
		{"nope"},
		{"--nope"},
		{"-z"},
		{"help-me"},
		{"up", "a", "b"},
		{"up", "--nope"},
		{"up", filepath.Join(m.home, "no-such")},
		{"up", "--listen"},
		{"join"},
		{"join", "a", "b", "c"},
		{"join", "not a url"},
		{"join", "ftp://host"},
		{"join", nowhere, m.work()},
		{"join", nowhere, "--repo", team, "--team-dir", filepath.Join(m.home, "t")}, // no code, and nobody to ask
		{"login", "a", "b"},
		{"login", "ftp://host"},
		{"login", "http://u:p@host"},
		{"logout", "a", "b"},
		{"whoami", "not a url"},
		{"signins", "a", "b"},
		{"signins", "not a url"},
		{"signins", "end"},
		{"signins", "end", "a", "--all"},
		{"signins", "end", "--all", "--others"},
		{"signins", "end", "--server", "not a url", "--all"},
		{"server", "audit", "x"},
		{"server", "audit", "--since", "soon"},
		{"server", "admin", "user", "signins", "a", "b"},
		{"server", "admin", "user", "signout"},
		{"init"},
		{"init", "a", "b"},
		{"init", "--server", "not a url"},
		{"init", "--server", "http://u:p@host", m.work()},
		{"init", "--server", nowhere, "--repo", "one-segment", "--team-dir", filepath.Join(m.home, "t")},
		{"init", "--server", nowhere, "--repo", "a/../b", "--team-dir", filepath.Join(m.home, "t")},
		{"init", "--server", nowhere, "--repo", team, "--team-dir", file},
		{"init", "--server", nowhere, "--repo", team, "--team-dir", m.home},
		{"pause", "a", "b"},
		{"pause", "--for"},
		{"pause", "--for", "soon"},
		{"pause", "--for", "-1h"},
		{"pause", filepath.Join(m.home, "elsewhere")},
		{"forget"},
		{"forget", "a", "b"},
		{"forget", "/etc/passwd"},
		{"resume", "--accept-server", "--reupload"},
		{"resume", "--reupload", "a", "b"},
		{"daemon", "x"},
		{"daemon", "--nope"},
		{"sync", "a", "b"},
		{"sync", "--pull", "--push"},
		{"sync", "--nope"},
		{"sync", filepath.Join(m.home, "elsewhere")},
		{"status", "x"},
		{"status", "--nope"},
		{"scan", filepath.Join(m.home, "no-such")},
		{"scan", "--nope"},
		{"explain"},
		{"explain", "a", "b"},
		{"scrub"},
		{"scrub", "note.md"},
		{"scrub", "note.md:x"},
		{"scrub", "note.md:0"},
		{"scrub", file + ":1"},
		{"scrub", "no-such.md:1"},
		{"conflicts", "nope"},
		{"conflicts", "list", "x"},
		{"conflicts", "show"},
		{"conflicts", "show", "no-such"},
		{"conflicts", "diff"},
		{"conflicts", "diff", "no-such"},
		{"conflicts", "merge"},
		{"conflicts", "merge", "no-such"},
		{"conflicts", "restore"},
		{"conflicts", "restore", "no-such"},
		{"conflicts", "drop"},
		{"conflicts", "drop", "no-such"},
		{"search"},
		{"search", "a", "b", "c"},
		{"search", ""},
		{"search", "note", "--limit", "x"},
		{"diff"},
		{"diff", "note.md", "x"},
		{"diff", "note.md", "1", "2", "3"},
		{"redact"},
		{"redact", "note.md"},
		{"redact", "note.md@0"},
		{"redact", "note.md@1", "--repo", "a/b"},
		{"redact", "--report", "0"},
		{"redact", "--report", "x"},
		{"redact", "--reports", "note.md@1"},
		{"redact", "--reports", "--dry-run"},
		{"history", "a", "b"},
		{"history", "note.md", "--limit", "x"},
		{"restore"},
		{"restore", "note.md"},
		{"restore", "note.md@"},
		{"restore", "note.md@x"},
		{"restore", "@1"},
		{"restore", "note.md@-1"},
		{"config", "nope"},
		{"config", "check", "x"},
		{"config", "show", "x"},
		{"server", "nope"},
		{"server", "--nope"},
		{"server", "token", "nope"},
		{"server", "healthcheck", "x"},
		{"server", "token", "create", "--data", m.xdg("data")},
		{"server", "token", "create", "--data", m.xdg("data"), "--name", "n", "--repo", "a/b", "--role", "king"},
		{"server", "token", "create", "--data", m.xdg("data"), "--name", "n", "--repo", "a b", "--role", "reader"},
		{"server", "token", "create", "--data", m.xdg("data"), "--name", "n", "--repo", "a/b", "--role", "reader", "--expires", "soon"},
		{"server", "token", "create", "--data", m.xdg("data"), "--name", "n", "--repo", "a/b", "--role", "reader", "--expires", "2001-01-01"},
		{"server", "token", "list", "x"},
		{"server", "token", "revoke"},
		{"version", "x"},
		{"version", "--nope"},
	}
	for _, args := range tests {
		t.Run(strings.Join(args[:min(2, len(args))], " "), func(t *testing.T) {
			complains(t, m.run(args...), 2)
			o := m.run(append(args, "--json")...)
			complains(t, o, 2)
			if !strings.HasPrefix(o.stdout, "{") {
				return // the flag that was not understood may be before --json
			}
			if object := decode[map[string]any](t, o.stdout); object["schema"] != 1.0 || object["error"] == nil {
				t.Errorf("%q prints %s, want one object with schema 1 and an error", o.args, o.stdout)
			}
		})
	}
	// A file that the command line names is an argument.
	complains(t, m.run("init", "--server", nowhere, "--repo", team, "--team-dir", m.team, "--token-file", filepath.Join(m.home, "no-such")), 2, "no-such")
	sameTree(t, "the team directory", tree{"note.md": "text\n"}, treeOf(t, m.team))
	if o := m.run("server", "token", "revoke", "no-such", "--data", m.xdg("data")); o.code == 0 {
		t.Error("a token that does not exist was revoked")
	}
}

// TestBadCheckouts registers what cannot be registered.
func TestBadCheckouts(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "ada")
	plain := filepath.Join(m.home, "plain")
	if err := os.Mkdir(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	bare := m.checkout("no-remote", "")
	unknown := m.checkout("unknown", "helper::address")
	twice := filepath.Join(m.home, "link")

	t.Run("no git repository", func(t *testing.T) {
		complains(t, m.runIn(plain, "init", "--server", nowhere, "--yes"), 2, "git repository", "--repo")
		complains(t, m.runIn(plain, "up", "--detach", "--listen", "127.0.0.1:0"), 2, "git repository")
		complains(t, m.runIn(plain, "join", nowhere, "--code", "AAAA-AAAA"), 2, "git repository")
	})
	t.Run("no remote", func(t *testing.T) {
		complains(t, m.runIn(bare, "init", "--server", nowhere, "--yes"), 2, "no remote", "hint: ")
		complains(t, m.runIn(bare, "init", "--server", nowhere, "--yes", "--team-dir", filepath.Join(m.home, "t")), 2, "no remote")
	})
	t.Run("unknown remote", func(t *testing.T) {
		complains(t, m.runIn(unknown, "init", "--server", nowhere, "--yes"), 2, "remote", "--repo")
	})
	t.Run("unknown forge", func(t *testing.T) {
		for url, repo := range map[string]string{
			"https://forge.example.org:8443/Group/Sub/api.git": "forge.example.org",
			"git@git.example.org:team/api.git":                 "git.example.org/team/api",
		} {
			dir := m.checkout("forge-"+strings.Trim(strings.Map(letter, repo), "-"), url)
			o := m.runIn(dir, "init", "--server", nowhere, "--yes", "--json", "--team-dir", filepath.Join(dir, "memory"))
			if got, _ := object(t, o, shape{"repo": "s"})["repo"].(string); o.code != 0 || !strings.HasPrefix(got, repo) {
				t.Errorf("%s is %q, want %s: exit code %d\n%s", url, got, repo, o.code, o.stderr)
			}
		}
	})
	t.Run("a repo with dots", func(t *testing.T) {
		for _, url := range []string{"https://github.com/acme/..", "https://github.com/../api.git", "git@github.com:acme/../api.git"} {
			dir := m.checkout("dots-"+strings.Trim(strings.Map(letter, url), "-"), url)
			o := m.runIn(dir, "init", "--server", nowhere, "--yes")
			complains(t, o, 2)
		}
	})
	t.Run("no server", func(t *testing.T) {
		complains(t, m.runIn(m.checkout("good", "git@github.com:acme/good.git"), "init", "--yes"), 2, "--server")
	})
	t.Run("two roots on one directory", func(t *testing.T) {
		m.enroll(nowhere, "tm_x", team)
		complains(t, m.run("init", "--server", nowhere, "--repo", "acme/other", "--team-dir", m.team, "--yes"), 2, m.team, team)
		if err := os.Symlink(m.team, twice); err != nil {
			t.Fatal(err)
		}
		complains(t, m.run("init", "--server", nowhere, "--repo", "acme/other", "--team-dir", twice, "--yes"), 2, team)
		complains(t, m.run("init", "--server", nowhere, "--repo", "acme/other", "--team-dir", filepath.Join(m.team, "below"), "--yes"), 2, team)
		complains(t, m.run("init", "--server", nowhere, "--repo", "acme/other", "--team-dir", filepath.Join(twice, "below"), "--yes"), 2, team)
		m.ok("init", "--server", nowhere, "--repo", team, "--team-dir", m.team, "--yes") // the same again is no error
	})
	type root struct{ Repo, Dir string }
	roots := decode[struct{ Roots []root }](t, m.ok("config", "show", "--json").stdout).Roots
	if len(roots) != 3 || !slices.Contains(roots, root{team, m.team}) {
		t.Errorf("registered: %+v, want the three good roots", roots)
	}
}

// letter keeps letters and digits.
func letter(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}

// TestUpWithoutRemote runs `up` where there is no remote: it works, with a note.
func TestUpWithoutRemote(t *testing.T) {
	t.Parallel()
	m := newFastMachine(t, "ada")
	dir := m.checkout("scratch", "")
	put(t, filepath.Join(m.claudeTeam(dir), "note.md"), "text\n")
	t.Cleanup(m.endDetached)
	o := m.runIn(dir, "up", "--detach", "--listen", "127.0.0.1:0")
	if o.code != 0 || !strings.Contains(o.stdout, "local/scratch") || !strings.Contains(o.stdout, "1 sent") {
		t.Errorf("exit code %d\n%s", o.code, o.stdout)
	}
	if !strings.Contains(o.stderr, "no remote") || len(faultsOf(o.stderr)) > 0 {
		t.Errorf("the note: %q", o.stderr)
	}
}

// TestBadConfig gives configurations that cannot be used: exit code 78, and all
// problems at once.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	verbs := [][]string{{"sync"}, {"status"}, {"daemon"}, {"config", "check"}, {"config", "show"}, {"up", "--detach"}, {"scan"}, {"history", "x"}, {"conflicts", "list"}}
	configOf := func(m *machine) string { return filepath.Join(m.xdg("config"), "teammemd", "config.toml") }
	tests := []struct {
		name  string
		spoil func(*testing.T, *machine)
		wants []string
	}{
		{"unknown keys", func(_ *testing.T, m *machine) {
			m.config("debounce = \"2s\"\nspeed = 9\nanswer = 42\n[table]\nx = 1\n")
		}, []string{"speed", "answer", "table", "config.toml:2"}},
		{"all problems", func(_ *testing.T, m *machine) {
			m.config("speed = 9\ndebounce = \"soon\"\npoll = \"1ms\"\nlog_level = \"loud\"\non_conflict = \"mine\"\n")
		}, []string{"speed", "debounce", "poll", "log_level", "on_conflict"}},
		{"not TOML", func(_ *testing.T, m *machine) { m.config("debounce = = \"2s\"\n") }, []string{"config.toml"}},
		{"binary", func(_ *testing.T, m *machine) { m.config("\x00\x01\xff\n") }, []string{"config.toml"}},
		{"a directory", func(t *testing.T, m *machine) {
			t.Helper()
			if err := os.MkdirAll(configOf(m), 0o700); err != nil {
				t.Fatal(err)
			}
		}, []string{"config.toml"}},
		{"named and missing", func(_ *testing.T, m *machine) {
			m.extra = []string{"TEAMMEMD_CONFIG=" + filepath.Join(m.home, "no-such.toml")}
		}, []string{"no-such.toml"}},
		{"environment", func(_ *testing.T, m *machine) { m.extra = []string{"TEAMMEMD_LOG=loud"} }, []string{"TEAMMEMD_LOG"}},
		{"a broken root", func(t *testing.T, m *machine) {
			t.Helper()
			put(t, filepath.Join(m.xdg("config"), "teammemd", "roots.d", "x.toml"), "repo = \"one\"\n")
		}, []string{"x.toml"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "ada")
			m.enroll(nowhere, "tm_x", team)
			m.write("note.md", "text\n")
			test.spoil(t, m)
			for _, args := range verbs {
				if test.name == "a broken root" && (args[0] == "scan" || args[0] == "up") {
					continue // they may do without
				}
				complains(t, m.run(args...), 78, test.wants...)
			}
			sameTree(t, "the team directory", tree{"note.md": "text\n"}, treeOf(t, m.team))
		})
	}
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t, "ada")
		file := filepath.Join(m.home, "server.toml")
		put(t, file, "listen = \"127.0.0.1:0\"\nspeed = 9\n[limits]\nburst = \"many\"\nwarp = 1\n")
		complains(t, m.run("server", "--config", file), 78, "speed", "burst", "warp")
		complains(t, m.run("server", "token", "list", "--config", file), 78, "speed", "burst", "warp")
		complains(t, m.run("server", "--config", filepath.Join(m.home, "no-such.toml")), 78, "no-such.toml")
		complains(t, m.run("server", "--listen", "0.0.0.0:0", "--data", m.xdg("data")), 78, "TLS")
		complains(t, m.run("server", "--listen", "nonsense", "--data", m.xdg("data")), 78, "listen")
		put(t, filepath.Join(m.home, "a-file"), "")
		complains(t, m.run("server", "--listen", "127.0.0.1:0", "--data", filepath.Join(m.home, "a-file")), 78, "a-file")
	})
}

// TestNoHome runs without any home directory.
func TestNoHome(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "ada")
	for _, args := range [][]string{{"sync"}, {"status"}, {"daemon"}, {"up", "--detach"}, {"config", "check"}, {"conflicts", "list"}, {"scan"}, {"init", "--server", nowhere}, {"join", nowhere}} {
		cmd := exec.Command("env", append([]string{"-i", "PATH=" + os.Getenv("PATH"), m.bin}, args...)...)
		complains(t, m.runCommand(cmd, m.work()), 78, "HOME")
	}
	cmd := exec.Command("env", "-i", m.bin, "version")
	if o := m.runCommand(cmd, m.work()); o.code != 0 {
		t.Errorf("version needs no home: exit code %d\n%s", o.code, o.stderr)
	}
}

// TestPortTaken starts servers where another program listens.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	taken := ln.Addr().String()
	m := newFastMachine(t, "ada")
	dir := m.checkout("api", "git@github.com:acme/api.git")
	put(t, filepath.Join(m.claudeTeam(dir), "note.md"), "text\n")
	complains(t, m.run("server", "--listen", taken, "--data", filepath.Join(m.home, "data")), 1, taken, "--listen 127.0.0.1:0")
	for _, args := range [][]string{{"up"}, {"up", "--detach"}} {
		complains(t, m.runIn(dir, append(args, "--listen", taken)...), 1, taken, "--listen 127.0.0.1:0")
	}
	t.Cleanup(m.endDetached)
	if o := m.runIn(dir, "up", "--detach", "--listen", "127.0.0.1:0"); o.code != 0 || !strings.Contains(o.stdout, "1 sent") {
		t.Errorf("on a free port, afterwards: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// TestAlreadyRunning starts second ones: each ends with 75 and names the first.
func TestAlreadyRunning(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	complains(t, p.server.run("server", "--listen", "127.0.0.1:0", "--data", p.server.data), 75, p.server.data, "--data")
	first := p.a.daemon()
	complains(t, p.a.run("daemon"), 75)
	p.a.write("note.md", "text\n")
	p.a.sync(0) // through the first
	first.kill()
	second := p.a.daemon() // what a killed one held is free
	if code := second.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestClosedOutput gives the program a standard output that takes nothing.
func TestClosedOutput(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.a.write("note.md", "text\n")
	for _, args := range [][]string{{"sync"}, {"sync", "--json"}, {"status"}, {"status", "--json"}, {"version"}, {"config", "show"}, {"--help"}} {
		cmd := exec.Command(p.a.bin, args...)
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = write
		_ = read.Close()
		o := p.a.runCommand(cmd, p.a.work())
		_ = write.Close()
		if o.code > 1 { // -1 is death by SIGPIPE, as every tool in a pipeline dies
			t.Errorf("%q into a closed pipe: exit code %d\n%s", args, o.code, o.stderr)
		}
		if strings.Count(o.stderr, "\n") > 2 {
			t.Errorf("%q into a closed pipe says too much:\n%s", args, o.stderr)
		}
	}
	if r := p.b.sync(0); r.Received != 1 {
		t.Errorf("received %d: what was said to nobody was still to be done", r.Received)
	}
	if runtime.GOOS != "linux" {
		return
	}
	for _, args := range [][]string{{"sync"}, {"sync", "--json"}, {"status", "--json"}, {"conflicts", "list"}, {"version"}} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(p.a.bin, args...)
		cmd.Stdout = io.Writer(full)
		o := p.a.runCommand(cmd, p.a.work())
		_ = full.Close()
		complains(t, o, 1)
	}
}
