package tests

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal with a person before it.
type terminal struct {
	t       *testing.T
	master  *os.File
	slave   *os.File
	columns uint16

	mu   sync.Mutex
	text bytes.Buffer // all that was written to it; guarded by mu
}

func newTerminal(t *testing.T, columns, lines uint16) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIP: there is no /dev/ptmx: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIP: /dev/pts cannot be used: %v", err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: lines, Col: columns}); err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, master: master, slave: slave, columns: columns}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			term.mu.Lock()
			term.text.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return // closed at the end
			}
		}
	}()
	return term
}

// shown is all that was written to the terminal so far.
func (term *terminal) shown() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.text.String()
}

func (term *terminal) awaitMatch(pattern string) {
	term.t.Helper()
	re := regexp.MustCompile(pattern)
	for begun := time.Now(); !re.MatchString(term.shown()); time.Sleep(2 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			term.t.Fatalf("waited for %q on the terminal:\n%q", pattern, term.shown())
		}
	}
}

func (term *terminal) typeIn(text string) {
	term.t.Helper()
	if _, err := term.master.WriteString(text); err != nil {
		term.t.Fatal(err)
	}
}

// onTerminal prepares a command of the machine whose streams are the terminal.
func (m *machine) onTerminal(term *terminal, args ...string) *exec.Cmd {
	cmd := exec.Command(m.bin, args...)
	cmd.Dir, cmd.Env = m.work(), append(m.env(), "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.slave, term.slave, term.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return cmd
}

// exitOf runs a prepared command until it ends, within the limit of commands.
func exitOf(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(commandLimit, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // the state says how it ended
	if !limit.Stop() {
		t.Errorf("%q: not done after %s", cmd.Args, commandLimit)
	}
	return cmd.ProcessState.ExitCode()
}

// screenOf is what a terminal shows after text: the sequences that the program
// uses, and no others.
func screenOf(t *testing.T, text string) []string {
	t.Helper()
	lines, row, col := []string{""}, 0, 0
	sequence := regexp.MustCompile(`^\x1b\[(\d*)([AKJ])`)
	for text != "" {
		if at := sequence.FindStringSubmatch(text); at != nil {
			text = text[len(at[0]):]
			switch at[2] {
			case "A":
				var n int
				_, _ = fmt.Sscan(at[1], &n)
				if row -= n; row < 0 {
					t.Fatalf("the cursor leaves the screen by its top")
				}
			case "K":
				lines[row] = lines[row][:min(col, len(lines[row]))]
			case "J":
				lines[row] = lines[row][:min(col, len(lines[row]))]
				lines = lines[:row+1]
			}
			continue
		}
		c := text[0]
		text = text[1:]
		switch c {
		case '\r':
			col = 0
		case '\n':
			if row++; row == len(lines) {
				lines = append(lines, "")
			}
		case 0x1b:
			if len(text) < 4 {
				return lines // the rest of it is on its way
			}
			t.Fatalf("an escape sequence that is not known: %q", text[:min(8, len(text))])
		default:
			line := lines[row] + strings.Repeat(" ", max(0, col-len(lines[row])))
			lines[row] = line[:col] + string(c) + line[min(col+1, len(line)):]
			col++
		}
	}
	return lines
}

// TestProgressLine syncs for longer than a second: on a terminal a line says how
// far it is, and is gone at the end; elsewhere there is none.
func TestProgressLine(t *testing.T) {
	t.Parallel()
	c := newCompanion(t)
	token := c.token("w", "acme/*", "writer")
	slow := newMeddler(t, c.url)
	slow.spoil(func(r *http.Response) error {
		if r.Request.Method == http.MethodPut {
			time.Sleep(600 * time.Millisecond)
		}
		return nil
	})
	for _, through := range []string{"alone", "the daemon"} {
		t.Run(through, func(t *testing.T) {
			t.Parallel()
			m := newFastMachine(t, "ada")
			repo := "acme/" + strings.ReplaceAll(through, " ", "-")
			m.enroll(slow.URL, token, repo)
			if through == "the daemon" {
				m.daemon()
				await(t, time.Minute, "the daemon to have looked", func() bool { return m.status().State != "syncing" })
				m.ok("pause")
			}
			fill := func(kind string) {
				for i := range 3 { // three bodies of 120 KB: as many requests
					m.write(fmt.Sprintf("%s-%d.md", kind, i), kind+sized(120_000))
				}
			}
			fill("one")
			term := newTerminal(t, 60, 24)
			if code := exitOf(t, m.onTerminal(term, "sync")); code != 0 {
				t.Errorf("exit code %d\n%q", code, term.shown())
			}
			term.awaitMatch(` 3 sent, `)
			shown := term.shown()
			if !regexp.MustCompile(`\rsyncing  `+repo+`  (comparing|[1-3] of 3)  \(\d+ s\)`).MatchString(shown) || !strings.Contains(shown, " of 3  (") {
				t.Errorf("no progress on the terminal: %q", shown)
			}
			if screen := strings.Join(screenOf(t, shown), "\n"); strings.Contains(screen, "syncing") || !strings.Contains(screen, "3 sent") {
				t.Errorf("at the end the terminal shows\n%s", screen)
			}
			fill("off")
			if o := m.ok("sync"); o.stderr != "" || strings.ContainsAny(o.stdout, "\r\x1b") {
				t.Errorf("off a terminal: %q, %q", o.stdout, o.stderr)
			}
			fill("quiet")
			term = newTerminal(t, 60, 24)
			if code := exitOf(t, m.onTerminal(term, "sync", "--quiet")); code != 0 || strings.Contains(term.shown(), "\x1b") {
				t.Errorf("--quiet: exit code %d, %q", code, term.shown())
			}
		})
	}
}

// TestStatusWatchOnATerminal sees one text change in place, cut to the size of
// the terminal.
func TestStatusWatchOnATerminal(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.a.write("note.md", "text\n")
	p.a.daemon()
	await(t, time.Minute, "the daemon to be in sync", func() bool { r := p.a.status(); return r.State == "in-sync" && r.Version > 0 })
	term := newTerminal(t, 40, 8)
	watch := p.a.onTerminal(term, "status", "--watch")
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = watch.Process.Kill() })
	term.awaitMatch("in sync")
	for i := range 5 {
		p.a.write(fmt.Sprintf("large-%d.md", i), sized(251_000))
	}
	term.awaitMatch(`in sync, 5 held`)
	p.a.ok("pause", "--for", "1h")
	term.awaitMatch(`paused, 5 held`)
	_ = watch.Process.Signal(os.Interrupt) // its end is waited for
	_ = watch.Wait()
	if code := watch.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var screen []string
	await(t, time.Minute, "the terminal to have taken everything", func() bool {
		screen = screenOf(t, term.shown())
		return len(screen) == 8 && strings.HasPrefix(screen[0], "paused, 5 held") && strings.Contains(screen[6], "more lines") && screen[7] == ""
	})
	for _, line := range screen {
		if len(line) >= int(term.columns) {
			t.Errorf("a line of %d columns on a terminal of %d: %q", len(line), term.columns, line)
		}
	}
}

// TestForgetAsks asks at a terminal, and takes no for an answer.
func TestForgetAsks(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.server.asMaintainer(p.a)
	p.a.write("note.md", "text\n")
	p.a.sync(0)
	for _, tt := range []struct {
		answer string
		code   int
	}{{"\n", 2}, {"n\n", 2}, {"y\n", 0}} {
		term := newTerminal(t, 80, 24)
		cmd := p.a.onTerminal(term, "forget", "note.md")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		term.awaitMatch(`note.md, written by ada@.*ago(.|\n)*\[y/N\] $`)
		term.typeIn(tt.answer)
		_ = cmd.Wait() // the state says how it ended
		if code := cmd.ProcessState.ExitCode(); code != tt.code {
			t.Errorf("answer %q: exit code %d, want %d\n%s", tt.answer, code, tt.code, term.shown())
		}
		if _, there := p.a.read("note.md"); there != (tt.code != 0) {
			t.Errorf("answer %q: the file is there: %v", tt.answer, there)
		}
	}
}
