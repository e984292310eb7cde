package control

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/teammem/teammemd/api"
)

const (
	privateDir  = 0o700
	privateFile = 0o600

	// maxSocketPath is the longest name that every system's sockaddr_un holds, in
	// bytes: 104 with the closing NUL on the BSDs, 108 elsewhere.
	maxSocketPath = 103
)

// address is a socket's place: path is its file, name what the system calls
// take. The two differ only where path is too long for them.
type address struct {
	path string
	name string
	dir  *os.File // keeps name valid; nil when not needed
}

// resolve finds the address for a wanted path. A path that is too long is
// reached on Linux through its open directory, elsewhere it is replaced by a
// hash of it in the user's own temporary directory. The directory must exist.
func resolve(path string) (address, error) {
	if len(path) <= maxSocketPath {
		return address{path: path, name: path}, nil
	}
	if runtime.GOOS != "linux" {
		short := shortPath(path)
		if err := privateDirectory(filepath.Dir(short)); err != nil {
			return address{}, err
		}
		return address{path: short, name: short}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return address{}, err
	}
	name := "/proc/self/fd/" + strconv.FormatUint(uint64(dir.Fd()), 10) + "/" + filepath.Base(path)
	if len(name) > maxSocketPath {
		_ = dir.Close()
		return address{}, fmt.Errorf("%w: the name of the control socket is too long: %s", api.ErrConfig, path)
	}
	return address{path: path, name: name, dir: dir}, nil
}

// shortPath replaces a path by its hash. Where it is used, the temporary
// directory belongs to the user alone.
func shortPath(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(os.TempDir(), "teammemd-"+strconv.Itoa(os.Getuid()), hex.EncodeToString(sum[:8])+".sock")
}

// close lets go of the directory.
func (a address) close() {
	if a.dir != nil {
		_ = a.dir.Close()
	}
}

// privateDirectory makes dir, or checks that it is ours, and closes it to
// others.
func privateDirectory(dir string) error {
	if err := os.MkdirAll(dir, privateDir); err != nil {
		return fmt.Errorf("making the runtime directory %q: %w", dir, err)
	}
	st, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("looking at the runtime directory %q: %w", dir, err)
	}
	if !ownedByUs(st) {
		return fmt.Errorf("%w: the runtime directory %s belongs to another user", api.ErrConfig, dir)
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&^privateDir != 0 {
		if err := os.Chmod(dir, privateDir); err != nil {
			return fmt.Errorf("closing the runtime directory %q to others: %w", dir, err)
		}
	}
	return nil
}
