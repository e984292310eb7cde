package tests

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// writers are the system calls that change what a path names; openat does with one
// of the flags.
var (
	writers = regexp.MustCompile(`^(creat|mkdir|mkdirat|mknod|mknodat|rename|renameat|renameat2|link|linkat|symlink|symlinkat|unlink|unlinkat|rmdir|` +
		`chmod|fchmodat|fchmodat2|chown|lchown|fchownat|truncate|utimensat|utimes|utime|setxattr|lsetxattr|removexattr|mount)$`)
	writing = regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND`)
	// A path as strace -y prints it: the directory that it is relative to, if
	// any, and its text.
	pathArgument = regexp.MustCompile(`(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"`)
	systemCall   = regexp.MustCompile(`^\d+ +(\w+)\((.*)`)
)

// written lists the paths that a traced program changed, or tried to.
func written(log string) []string {
	var paths []string
	for line := range strings.Lines(log) {
		call := systemCall.FindStringSubmatch(line)
		if call == nil {
			continue
		}
		if opens := strings.HasPrefix(call[1], "open"); opens && !writing.MatchString(call[2]) || !opens && !writers.MatchString(call[1]) {
			continue
		}
		for _, arg := range pathArgument.FindAllStringSubmatch(call[2], -1) {
			path := arg[2]
			if !filepath.IsAbs(path) {
				path = filepath.Join(arg[1], path)
			}
			paths = append(paths, filepath.Clean(path))
		}
	}
	return paths
}

// TestF14Written proves that the log is read rightly.
func TestF14Written(t *testing.T) {
	t.Parallel()
	log := `12 openat(AT_FDCWD</home>, "/etc/hosts", O_RDONLY|O_CLOEXEC) = 3
12 openat(7</home/team>, "new.md", O_RDWR|O_CREAT, 0666) = 3
13 openat(7</home/team>, "../x.md", O_WRONLY <unfinished ...>
12 renameat2(7</home/a>, "x", 8</home/b>, "y", RENAME_EXCHANGE) = 0
12 unlinkat(AT_FDCWD</home>, "gone", 0) = 0
12 mkdir("/abs", 0700) = -1 EEXIST (File exists)
12 newfstatat(7</home/team>, "seen.md", 0x1, 0) = 0
`
	want := []string{"/home/team/new.md", "/home/x.md", "/home/a/x", "/home/b/y", "/home/gone", "/abs"}
	if got := written(log); !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

// TestF14PathLog traces syncs that meet a hostile server, and links that lead out
// of the team directory: no path is written outside of the team directory, the
// state and the runtime directory, not even in an attempt.
func TestF14PathLog(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("strace", "-f", "-qq", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("SKIP: strace does not work here (install strace): %v %s", err, out)
	}
	server := newBaseServer(t)
	server.ours = true
	m := newFastMachine(t, "ada")
	m.enroll(server.url, "any", team)
	outside := filepath.Join(m.home, "outside")
	put(t, filepath.Join(outside, "victim.md"), "untouched\n")
	m.write("note.md", "note\n")
	for name, to := range map[string]string{"dir": outside, "up": "..", "abs.md": filepath.Join(outside, "victim.md"), "dangling.md": filepath.Join(outside, "none.md")} {
		if err := os.Symlink(to, filepath.Join(m.team, name)); err != nil {
			t.Fatal(err)
		}
	}
	good := tree{"good-1.md": "good\n", "good/2.md": "good too\n"}
	server.set(func() {
		for i, key := range append(hostileKeys(outside), "dir/victim.md", "up/escape.md", "abs.md", "dangling.md", "dir/deeper/new.md") {
			server.entries[key] = fmt.Sprintf("hostile %d\n", i)
		}
		maps.Copy(server.entries, good)
		for _, key := range []string{"../outside/victim.md", outside + "/victim.md"} {
			server.deleted[key] = 1
		}
	})
	allowed := func(path string) bool {
		beside := strings.HasPrefix(path, filepath.Join(m.home, ".teammemd-")) // staging, where it must be near
		return beside || path == os.DevNull || slices.ContainsFunc([]string{m.team, m.xdg("state"), m.xdg("run")}, func(dir string) bool {
			return path == dir || strings.HasPrefix(path, dir+"/")
		})
	}
	for round, edit := range []string{"first", "second"} {
		log := filepath.Join(m.work(), fmt.Sprintf("log-%d", round))
		cmd := exec.Command("strace", "-f", "-y", "-qq", "-s", "8192", "-e", "trace=%file", "-o", log, m.bin, "sync", "--json")
		if o := m.runCommand(cmd, m.work()); o.code != 3 {
			t.Fatalf("%s sync: exit code %d, want 3\n%s%s", edit, o.code, o.stdout, o.stderr)
		}
		paths := written(textOf(t, log))
		if len(paths) < 10 {
			t.Fatalf("%s sync: only %d paths in the log", edit, len(paths))
		}
		for _, path := range paths {
			if !allowed(path) {
				t.Errorf("%s sync: %s was written", edit, path)
			}
		}
		// The second time the files are there, and are exchanged.
		server.set(func() { server.entries["good-1.md"] = "good, edited\n" })
	}
	good["good-1.md"], good["note.md"] = "good, edited\n", "note\n"
	if got := treeOf(t, outside); len(got) != 1 || got["victim.md"] != "untouched\n" {
		t.Errorf("outside there is now %q", got)
	}
	for key, text := range good {
		if got, _ := m.read(key); got != text {
			t.Errorf("%s holds %q, want %q", key, got, text)
		}
	}
}
