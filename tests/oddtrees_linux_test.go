package tests

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestF14PipesAndSockets puts what is no file at all under names that take part:
// nothing waits for them.
func TestF14PipesAndSockets(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.a.write("note.md", "note\n")
	if err := syscall.Mkfifo(filepath.Join(p.a.team, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mknod(filepath.Join(p.a.team, "socket.md"), syscall.S_IFSOCK|0o600, 0); err != nil {
		t.Fatal(err)
	}
	o := p.a.run("sync", "--json")
	r := decode[report](t, o.stdout)
	if r.Sent != 1 || o.code != 0 && o.code != 3 {
		t.Errorf("exit code %d and %d sent, want 3 and 1\n%s", o.code, r.Sent, o.stderr)
	}
	p.b.write("pipe.md", "of the other\n")
	p.b.sync(0)
	if o := p.a.run("sync", "--json"); o.code != 3 {
		t.Errorf("a key where a pipe stands: exit code %d, want 3\n%s%s", o.code, o.stdout, o.stderr)
	}
	p.a.want(3, "scan", filepath.Join(p.a.team, "pipe.md"))
}
