package pgtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
)

var (
	errMissing = errors.New("SKIP: PostgreSQL is not installed; on Debian: apt-get install postgresql")
	errNoUser  = errors.New("SKIP: PostgreSQL does not run as root, and there is no user postgres")
)

// base is what all clusters of one process of tests share.
type base struct {
	bin  string // directory of postgres and initdb
	dir  string // everything is below it
	as   *syscall.SysProcAttr
	uid  int // -1 where servers run as this user
	gid  int
	stay io.WriteCloser // standard input of the shell that tidies up; closed by the end of the process
}

var theBase = sync.OnceValues(newBase)

// needBase skips the test where PostgreSQL cannot run.
func needBase(tb testing.TB) *base {
	tb.Helper()
	b, err := theBase()
	if errors.Is(err, errMissing) || errors.Is(err, errNoUser) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func newBase() (*base, error) {
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	as, uid, gid, err := runAs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pgtest-")
	if err != nil {
		return nil, fmt.Errorf("making a directory: %w", err)
	}
	b := &base{bin: bin, dir: dir, as: as, uid: uid, gid: gid}
	return b, errors.Join(b.give(dir), b.tidyAtEnd())
}

// give hands a directory to the user of the servers. All may pass through it, as
// the tests connect as another user.
func (b *base) give(dir string) error {
	if b.uid >= 0 {
		if err := os.Chown(dir, b.uid, b.gid); err != nil {
			return fmt.Errorf("giving the directory to user postgres: %w", err)
		}
	}
	return os.Chmod(dir, 0o755) //nolint:gosec // see above
}

// findPostgres returns the directory of the newest server that is installed.
func findPostgres() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		slices.Sort(found)
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("postgres")
	if err != nil {
		return "", errMissing
	}
	return filepath.Dir(path), nil
}

// tidy waits until its standard input ends, stops every server below its
// argument and removes it all.
const tidy = `
read -r _
for file in "$1"/*/data/postmaster.pid; do
	test -f "$file" && kill -QUIT "$(head -n 1 "$file")"
done 2>/dev/null
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	ls "$1"/*/data/postmaster.pid >/dev/null 2>&1 || break
	sleep 0.1
done
rm -rf "$1"
`

func (b *base) tidyAtEnd() error {
	cmd := exec.Command("/bin/sh", "-c", tidy, "sh", b.dir) //nolint:noctx // it outlives this process
	cmd.SysProcAttr, cmd.Dir = b.as, "/"
	var err error
	if b.stay, err = cmd.StdinPipe(); err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting a shell: %w", err)
	}
	return nil
}

// command makes a command of PostgreSQL that runs as the right user.
func (b *base) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(b.bin, name), args...) //nolint:noctx // ended by its cluster
	cmd.SysProcAttr, cmd.Dir = b.as, b.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	return cmd
}

// run runs a command of PostgreSQL to its end.
func (b *base) run(tb testing.TB, name string, args ...string) {
	tb.Helper()
	if out, err := b.command(name, args...).CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", name, err, out)
	}
}
