package statedir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
)

// TestAcknowledgedIsDurable reads the order of the system calls, which no kill
// of a process can test: when Commit or Save returns, all bytes that it wrote
// were forced to the disk, and the names that it made as well.
func TestAcknowledgedIsDurable(t *testing.T) {
	const child = "TEAMMEMD_TEST_DURABLE"
	if base := os.Getenv(child); base != "" {
		commitAndAcknowledge(t, base)
		return
	}
	if testing.Short() {
		t.Skip("SKIP: short run")
	}
	base := t.TempDir()
	trace := filepath.Join(base, "trace")
	cmd := exec.CommandContext(t.Context(), "strace", "-f", "-y", "-qq", "-o", trace,
		"-e", "trace=write,pwrite64,fsync,renameat,rename,mkdirat", os.Args[0], "-test.run=^TestAcknowledgedIsDurable$")
	cmd.Env = append(os.Environ(), child+"="+base, "GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0")
	if out, err := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("SKIP: strace does not work here (install strace): %v %s", err, out)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	pending := map[string]bool{} // paths written or renamed to, and not forced to the disk
	for line := range strings.Lines(string(text)) {
		path := pathOf(line, base)
		switch {
		case path == "":
		case strings.Contains(path, "acknowledged"):
			acknowledged++
			for late := range pending {
				t.Errorf("call %d was acknowledged before %s was durable:\n%s", acknowledged, late, text)
			}
			clear(pending)
		case strings.Contains(line, "fsync("):
			delete(pending, path)
		case strings.Contains(line, "rename"):
			pending[filepath.Dir(path)] = true
		default:
			pending[path] = true
		}
	}
	if acknowledged != 5 {
		t.Errorf("%d acknowledgements, want 5:\n%s", acknowledged, text)
	}
}

// commitAndAcknowledge is the process that is traced. It says in a file of its
// own when a call has returned.
func commitAndAcknowledge(t *testing.T, base string) {
	t.Helper()
	said, err := os.Create(filepath.Join(base, "acknowledged"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	acknowledge := func() {
		if _, err := said.WriteString("so far\n"); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, filepath.Join(base, "state"))
	for i := range 4 { // the first creates the journal, the others append to it
		change := api.Record{Bases: map[api.Key]api.Base{key(t, "a.md"): {Sum: api.SumString(strconv.Itoa(i))}}}
		commit(t, d, change)
		acknowledge()
	}
	if _, err := d.Save(t.Context(), api.SavedCopy{Key: key(t, "a.md"), Content: "text", Sum: api.SumString("text"), Why: "conflict"}); err != nil {
		t.Fatal(err)
	}
	acknowledge()
}

// pathOf returns the path below base that a line of the trace is about: the
// last one, which for a rename is the new name; "" for none.
func pathOf(line, base string) string {
	at := strings.LastIndex(line, base)
	if at < 0 {
		return ""
	}
	path := line[at:]
	return path[:strings.IndexAny(path+`"`, `>"`)]
}
