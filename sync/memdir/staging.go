package memdir

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
)

// A staging directory holds files on their way into the tree and out of it. A
// name says what its file is, so that a crash leaves nothing undecidable:
//
//	w-<random>                  being written; garbage after a crash
//	x-<random>-<sha256>-<key>   a whole content about to enter, or, after the
//	                            exchange, what it displaced
//	d-<random>-<key>            moved out of the tree, to be inspected
//	k-<digest>                  the text of a key that is too long for a name
//
// <key> is the key in base64, or "." and the digest of a "k-" file.
type staging struct {
	*dir
	path   string
	device uint64
	beside bool // a sibling of the root
}

const (
	beingWritten = "w-"
	staged       = "x-"
	movedOut     = "d-"
	longKey      = "k-"
	// backupOf marks the backup of an exchange that Windows did not finish.
	backupOf = ".b"
)

var keyEncoding = base64.RawURLEncoding

// besidePath returns the staging directory beside a root.
func besidePath(root string) string {
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	digest := sha256.Sum256([]byte(root))
	return filepath.Join(filepath.Dir(root), ".teammemd-"+hex.EncodeToString(digest[:4]))
}

// openStaging returns a staging directory on the root's file system.
func (t *Tree) openStaging(root *dir) (*staging, error) {
	info, err := root.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening team directory %q: %w", t.root, err)
	}
	m, _ := markOf(info)
	if t.staging != "" && !t.beside {
		s, err := openStaging(t.staging, true)
		if err != nil {
			return nil, err
		}
		if s.device == m.dev {
			return s, nil
		}
		s.close()
		t.beside = true
	}
	s, err := openStaging(besidePath(t.root), true)
	if err != nil {
		return nil, err
	}
	s.beside = true
	return s, nil
}

// openStaging opens the staging directory at path, fs.ErrNotExist when it is
// absent and not to be created.
func openStaging(path string, create bool) (*staging, error) {
	if create {
		if err := makeStaging(path); err != nil {
			return nil, fmt.Errorf("creating staging directory: %w", err)
		}
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("opening staging directory: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("opening staging directory %q: not a directory", path)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("opening staging directory: %w", err)
	}
	d, err := newDir(root)
	if err != nil {
		return nil, fmt.Errorf("opening staging directory %q: %w", path, err)
	}
	m, _ := markOf(info)
	return &staging{dir: d, path: path, device: m.dev}, nil
}

// makeStaging creates the directory unless it is there. Its name is durable
// before a displaced file is in it.
func makeStaging(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(path, 0o700)
	}
	if err != nil {
		return err
	}
	return atomicfile.SyncPath(filepath.Dir(path))
}

// close releases the directory. One beside the root goes when it is empty.
func (s *staging) close() {
	s.release()
	if s.beside {
		_ = os.Remove(s.path) // refused while something is in it
	}
}

// remove deletes a file of ours. That it is gone already is no error.
func (s *staging) remove(name string) error {
	if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a staged file: %w", err)
	}
	return nil
}

func randomPart() string { return strings.ToLower(rand.Text()[:12]) }

func stagedName(key api.Key, sum api.Checksum) string {
	return staged + randomPart() + "-" + sum.Hex() + "-" + keyPart(key)
}

func movedOutName(key api.Key) string { return movedOut + randomPart() + "-" + keyPart(key) }

func keyPart(key api.Key) string {
	const room = 255 - 2 - 12 - 1 - 64 - 1 - len(backupOf) // file systems stop at 255
	encoded := keyEncoding.EncodeToString([]byte(key.String()))
	if len(encoded) <= room {
		return encoded
	}
	return "." + keyDigest(key)
}

func keyDigest(key api.Key) string {
	digest := sha256.Sum256([]byte(key.String()))
	return hex.EncodeToString(digest[:])
}

// keepKey writes the text of a long key down, durably but for the directory.
func (s *staging) keepKey(key api.Key) error {
	if !strings.HasPrefix(keyPart(key), ".") {
		return nil
	}
	path := filepath.Join(s.path, longKey+keyDigest(key))
	return atomicfile.Replace(path, []byte(key.String()), 0o600)
}

// forgetKey undoes keepKey, once nothing of the key is staged any more.
func (s *staging) forgetKey(key api.Key) error {
	if !strings.HasPrefix(keyPart(key), ".") {
		return nil
	}
	return s.remove(longKey + keyDigest(key))
}

// leftover is a file found in a staging directory.
type leftover struct {
	name string
	kind string // one of the prefixes
	sum  api.Checksum
	key  api.Key
}

// parse reads a name back, false for one that is not ours.
func (s *staging) parse(name string) (leftover, bool) {
	kind := name[:min(2, len(name))]
	l := leftover{name: name, kind: kind}
	_, rest, _ := strings.Cut(strings.TrimSuffix(name, backupOf), "-")
	switch kind {
	case beingWritten, longKey:
		return l, true
	case staged:
		parts := strings.SplitN(rest, "-", 3)
		if len(parts) != 3 {
			return l, false
		}
		raw, err := hex.DecodeString(parts[1])
		if err != nil || len(raw) != len(l.sum) {
			return l, false
		}
		copy(l.sum[:], raw)
		rest = parts[2]
	case movedOut:
		_, encoded, ok := strings.Cut(rest, "-")
		if !ok {
			return l, false
		}
		rest = encoded
	default:
		return l, false
	}
	key, err := s.parseKey(rest)
	l.key = key
	return l, err == nil
}

func (s *staging) parseKey(part string) (api.Key, error) {
	text, err := keyEncoding.DecodeString(part)
	if digest, ok := strings.CutPrefix(part, "."); ok {
		text, err = s.root.ReadFile(longKey + digest)
	}
	if err != nil {
		return api.Key{}, err
	}
	return api.ParseKey(string(text))
}
