package tests

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// documents are the texts for people at the top of the repository and in docs, by
// the names of their files.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			texts[name] = textOf(t, name)
		}
	}
	return texts
}

// block is one fenced "sh" block of a document. Before it stands a comment that
// says what becomes of it:
//
//	<!-- test: run -->             runs, and must succeed
//	<!-- test: run, exit 3 -->     runs, and must end so
//	<!-- test: not run: reason --> does not
type block struct {
	line   int // of the opening fence
	text   string
	run    bool
	exit   int
	reason string // why it is not run
}

var (
	markRun    = regexp.MustCompile(`^<!-- test: run(?:, exit (\d+))? -->$`)
	markNotRun = regexp.MustCompile(`^<!-- test: not run: (.+) -->$`)
)

// blocks finds the sh blocks of a document. A block without a mark is an error.
func blocks(text string) ([]block, error) {
	var found []block
	var mark string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if !strings.HasPrefix(line, "```") {
			if line != "" {
				mark = line
			}
			continue
		}
		b := block{line: i + 1}
		var body []string
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
			body = append(body, lines[i])
		}
		if line == "```sh" {
			b.text = strings.Join(body, "\n")
			if err := b.read(mark); err != nil {
				return nil, fmt.Errorf("line %d: %w", b.line, err)
			}
			found = append(found, b)
		}
		mark = ""
	}
	return found, nil
}

func (b *block) read(mark string) error {
	if m := markRun.FindStringSubmatch(mark); m != nil {
		b.run = true
		if m[1] == "" {
			return nil
		}
		exit, err := strconv.Atoi(m[1])
		b.exit = exit
		return err
	}
	if m := markNotRun.FindStringSubmatch(mark); m != nil {
		b.reason = m[1]
		return nil
	}
	return errors.New("a sh block needs a comment before it that says whether it is run")
}

// TestDocuments runs the command blocks of each document, in order, in a fresh
// home with the program in its path, inside a checkout of acme/api.
func TestDocuments(t *testing.T) {
	t.Parallel()
	ran := 0
	for name, text := range documents(t) {
		list, err := blocks(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, b := range list {
			if b.run {
				ran++
			}
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			follow(t, name, list)
		})
	}
	if ran == 0 {
		t.Error("no document has a block that is run")
	}
}

// follow does what a reader of one document does.
func follow(t *testing.T, name string, list []block) {
	t.Helper()
	var r *reader
	for _, b := range list {
		if !b.run {
			continue
		}
		if r == nil {
			r = newReader(t)
		}
		out, exit := r.do(t, b.text)
		if exit != b.exit {
			t.Fatalf("%s:%d: exit code %d, want %d\n%s\n%s", name, b.line, exit, b.exit, b.text, out)
		}
	}
}

// reader is a person on a machine with nothing but git and the program.
type reader struct {
	checkout string
	env      []string
}

func newReader(t *testing.T) *reader {
	t.Helper()
	home := t.TempDir()
	bin := filepath.Dir(program(t))
	r := &reader{checkout: filepath.Join(home, "api"), env: []string{
		"HOME=" + home,
		"USER=ada",
		"LANG=C.UTF-8",
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"XDG_RUNTIME_DIR=" + filepath.Join(home, ".run"),
		"GIT_CONFIG_NOSYSTEM=1",
	}}
	for _, dir := range []string{r.checkout, filepath.Join(home, ".run")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { endAll(t, "HOME="+home) })
	if out, exit := r.do(t, "git init -q && git remote add origin git@github.com:acme/api.git"); exit != 0 {
		t.Fatalf("making a checkout: %s", out)
	}
	return r
}

// do runs text in the checkout and returns all that it printed and its exit
// code. What it leaves running stays until the reader is done.
func (r *reader) do(t *testing.T, text string) (out string, exit int) {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.checkout, r.env, log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err = cmd.Wait()
	said, _ := os.ReadFile(log.Name())
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		return string(said), exited.ExitCode()
	}
	if err != nil {
		t.Fatalf("running %q: %v", text, err)
	}
	return string(said), 0
}

// endAll ends every process that was started with the variable, a daemon that
// left its session included.
func endAll(t *testing.T, variable string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+variable+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Kill()
		}
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	const fence = "```"
	tests := []struct {
		name, text string
		want       []block
		bad        bool
	}{
		{"run", "<!-- test: run -->\n" + fence + "sh\ntrue\nfalse\n" + fence, []block{{line: 2, text: "true\nfalse", run: true}}, false},
		{"exit", "<!-- test: run, exit 3 -->\n\n" + fence + "sh\nx\n" + fence, []block{{line: 3, text: "x", run: true, exit: 3}}, false},
		{"not run", "<!-- test: not run: as root -->\n" + fence + "sh\nx\n" + fence, []block{{line: 2, text: "x", reason: "as root"}}, false},
		{"no reason", "<!-- test: not run: -->\n" + fence + "sh\nx\n" + fence, nil, true},
		{"no mark", "text\n" + fence + "sh\nx\n" + fence, nil, true},
		{"a mark serves one block", "<!-- test: run -->\n" + fence + "sh\nx\n" + fence + "\n" + fence + "sh\ny\n" + fence, nil, true},
		{"other blocks", fence + "\nx\n" + fence + "\n" + fence + "toml\nx\n" + fence, nil, false},
	}
	for _, test := range tests {
		got, err := blocks(test.text)
		if (err != nil) != test.bad {
			t.Errorf("%s: error %v", test.name, err)
		}
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

// TestReader proves that a document that lies is found out.
func TestReader(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	if out, exit := r.do(t, "teammemd version"); exit != 0 || !strings.HasPrefix(out, "teammemd ") {
		t.Errorf("version: exit code %d, %q", exit, out)
	}
	if out, exit := r.do(t, "git remote get-url origin; pwd"); exit != 0 || !strings.Contains(out, "acme/api") {
		t.Errorf("the checkout: exit code %d, %q", exit, out)
	}
	if _, exit := r.do(t, "teammemd no-such-verb; true"); exit != 2 {
		t.Errorf("a failing line in a block: exit code %d, want 2", exit)
	}
}
