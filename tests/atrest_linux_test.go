package tests

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

// What a daemon may use that has ten thousand files and nothing to do.
const (
	atRestFiles  = 10_000
	atRestRescan = 300 * time.Millisecond
	atRestCPU    = 30 * time.Millisecond // in 30 s
	atRestMemory = 30 << 20              // bytes, before the first scan for secrets
)

// A long run has the full readings in it that a daemon makes every five minutes.
var atRestFor = flag.Duration("at-rest", 30*time.Second, "how long TestAtRest watches a daemon that has nothing to do; a multiple of 30s")

// inStep is two machines, the first of which has sent ten thousand files.
func inStep(t *testing.T) pair {
	t.Helper()
	p := newPair(t)
	for i := range atRestFiles {
		p.a.write(fmt.Sprintf("topic-%02d/note-%05d.md", i%100, i), fmt.Sprintf("# Note %d\n\n%s", i, sized(300+i%500)))
	}
	server := p.server.process.cmd.Process.Pid
	before := atWork(t, server)
	push, client := timed(p.a, "sync", "--json")
	if r := decode[report](t, push.stdout); r.Sent != atRestFiles {
		t.Fatalf("sent %d, want %d", r.Sent, atRestFiles)
	}
	t.Logf("FIGURE %d files: first push: %d ms; %d ms of processor time here, %d ms on the server", atRestFiles,
		push.took.Milliseconds(), client.Milliseconds(), (atWork(t, server) - before).Milliseconds())
	return p
}

// timed runs a command that must succeed, and returns the processor time that it
// took, too.
func timed(m *machine, args ...string) (outcome, time.Duration) {
	m.t.Helper()
	cmd := exec.Command(m.bin, args...)
	o := m.runCommand(cmd, m.work())
	if o.code != 0 {
		m.t.Fatalf("%q: exit code %d\n%s", args, o.code, o.stderr)
	}
	return o, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// TestRescan measures `sync` with nothing to do over ten thousand files: a new
// process reads and hashes all of them, and compares them with what it and the
// server remember. It runs alone.
func TestRescan(t *testing.T) {
	p := inStep(t)
	_, scanning := timed(p.a, "scan", p.a.team)
	t.Logf("FIGURE %d files: the scan for secrets alone, which a first push needs on both sides: %d ms of processor time", atRestFiles, scanning.Milliseconds())
	steady(t, func() string {
		var took []time.Duration
		for range 7 {
			r := decode[struct {
				Unchanged int `json:"unchanged"`
				Duration  int `json:"duration_ms"`
			}](t, p.a.ok("sync", "--json").stdout)
			if r.Unchanged != atRestFiles {
				t.Fatalf("%d of %d files unchanged", r.Unchanged, atRestFiles)
			}
			took = append(took, time.Duration(r.Duration)*time.Millisecond)
		}
		middle := quantile(took, 0.5)
		t.Logf("FIGURE %d files: rescan: median %d ms, min %d ms of %d runs", atRestFiles, middle.Milliseconds(), slices.Min(took).Milliseconds(), len(took))
		return tooLong(t, "a rescan", middle, atRestRescan)
	})
}

// TestAtRest measures a daemon alone, its server elsewhere, with ten thousand
// files in sync from its start on: its processor time and its memory while
// nothing happens, and what the first scan for secrets adds.
func TestAtRest(t *testing.T) {
	t.Parallel()
	p := inStep(t)
	daemon := p.a.daemon().cmd.Process.Pid
	server := p.server.process.cmd.Process.Pid
	await(t, time.Minute, "the daemon to be in sync", func() bool {
		r := p.a.status()
		return r.State == "in-sync" && r.Pending == 0 && r.Unchanged == atRestFiles
	})
	await(t, time.Minute, "what the first cycle needed to be given back", func() bool { return anonymous(t, daemon) <= atRestMemory })
	steady(t, func() string {
		before, serverBefore := atWork(t, daemon), atWork(t, server)
		time.Sleep(*atRestFor)
		idle, serverIdle := atWork(t, daemon)-before, atWork(t, server)-serverBefore
		t.Logf("FIGURE %d files: daemon at rest for %s: %d ms of processor time, %.1f MiB; server: %d ms", atRestFiles, *atRestFor,
			idle.Milliseconds(), mib(anonymous(t, daemon)), serverIdle.Milliseconds())
		return tooLong(t, "processor time in "+atRestFor.String(), idle, atRestCPU*time.Duration(atRestFor.Seconds()/30))
	})
	memory := anonymous(t, daemon)
	if memory > atRestMemory {
		t.Errorf("%.1f MiB of anonymous memory, want at most %.1f", mib(memory), mib(atRestMemory))
	}

	p.a.write("topic-00/new.md", "one more plain note\n")
	await(t, time.Minute, "the new note to be sent", func() bool { r := p.a.status(); return r.Unchanged+r.Sent == atRestFiles+1 && r.Pending == 0 })
	time.Sleep(5 * time.Second) // for what is given back
	t.Logf("FIGURE %d files: the first scan for secrets adds %.1f MiB", atRestFiles, mib(anonymous(t, daemon)-memory))
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// atWork is the processor time of a process so far.
func atWork(t *testing.T, pid int) time.Duration {
	t.Helper()
	u, ok := usage(pid)
	if !ok {
		t.Fatal("no usage of a process")
	}
	return u.cpu
}

var rssAnon = regexp.MustCompile(`(?m)^RssAnon:\s+(\d+) kB$`)

// anonymous is the resident memory of a process that no file is behind, in bytes.
func anonymous(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := rssAnon.FindSubmatch(status)
	if found == nil {
		t.Fatalf("no RssAnon in the status of process %d", pid)
	}
	kb, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
