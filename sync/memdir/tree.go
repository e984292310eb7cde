package memdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/teammem/teammemd/api"
)

// Options describe a tree. Root and Save are required.
type Options struct {
	// Root is the team directory. It may be missing; it is never created.
	Root string
	// Staging is the directory for files on their way into the tree, best one
	// that only this tree uses. It is created 0700. Where it is on another file
	// system than Root, or empty, ".teammemd-<id>" beside Root is used instead,
	// and removed when empty.
	Staging string
	// Save keeps displaced text durably, as the engine's State does.
	Save func(ctx context.Context, saved api.SavedCopy) (string, error)
	// Extensions of the files that take part, with their dots. Default: .md, .txt.
	Extensions []string
	// Ignore lists more patterns (as of package path) of names that take no part,
	// in addition to the built-in ones. A pattern with a slash is matched against
	// the whole path, another one against each segment.
	Ignore []string
	// Prefer reports keys that should win over a case twin, usually those that
	// have a base. Nil: none.
	Prefer func(api.Key) bool
	// Known returns the checksums of a key that [Tree.Recover] may drop without
	// a saved copy: base and ring. Nil: none.
	Known func(api.Key) []api.Checksum
	// MaxBytes is the largest content of a file. Default: [api.MaxEntryBytes].
	MaxBytes int
	// WithoutExchange avoids the exchange of names, for a file system on which
	// it is known to be broken.
	WithoutExchange bool
	// Clock tells the time. Default: time.Now.
	Clock func() time.Time
	// Logger gets one line per unusual event. Default: none.
	Logger *slog.Logger
}

// Tree is one team directory. One goroutine uses it at a time; its methods use
// several inside.
type Tree struct {
	root    string // absolute
	staging string // absolute; "" = beside the root only
	names   names
	max     int
	save    func(ctx context.Context, saved api.SavedCopy) (string, error)
	prefer  func(api.Key) bool
	known   func(api.Key) []api.Checksum
	clock   func() time.Time
	log     *slog.Logger

	cache      map[string]cached    // by path on disk
	spelled    map[api.Key]string   // path on disk of keys that differ from it
	noExchange bool                 // fall back to rename, link, inspect
	beside     bool                 // Staging turned out to be on another file system
	lingering  []lingerer           // displaced files that may go in a moment
	edited     map[string]time.Time // when others changed a file last, by path on disk
	leftovers  bool                 // staging holds bytes that could not be saved yet
	exclusive  bool                 // Lock was called
	claimed    *os.File             // the locked directory
}

// Open checks the options. It touches nothing on disk. A bad option wraps
// [api.ErrConfig].
func Open(o Options) (*Tree, error) {
	if o.Root == "" || o.Save == nil {
		return nil, fmt.Errorf("%w: opening a tree needs a root and a place for saved copies", api.ErrConfig)
	}
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("opening team directory %q: %w", o.Root, err)
	}
	n, err := newNames(o.Extensions, o.Ignore)
	if err != nil {
		return nil, err
	}
	t := &Tree{
		root: root, names: n, max: o.MaxBytes, save: o.Save, prefer: o.Prefer, known: o.Known,
		clock: o.Clock, log: o.Logger, noExchange: o.WithoutExchange,
	}
	if o.Staging != "" {
		if t.staging, err = filepath.Abs(o.Staging); err != nil {
			return nil, fmt.Errorf("opening staging directory %q: %w", o.Staging, err)
		}
	}
	t.setDefaults()
	return t, nil
}

func (t *Tree) setDefaults() {
	if t.max == 0 {
		t.max = api.MaxEntryBytes
	}
	if t.prefer == nil {
		t.prefer = func(api.Key) bool { return false }
	}
	if t.known == nil {
		t.known = func(api.Key) []api.Checksum { return nil }
	}
	if t.clock == nil {
		t.clock = time.Now
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	t.cache = map[string]cached{}
	t.spelled = map[api.Key]string{}
	t.edited = map[string]time.Time{}
}

// Root returns the absolute path of the team directory.
func (t *Tree) Root() string { return t.root }

// Identity returns the device and inode of the root, which name the directory
// however it is reached. [api.ErrRootMissing] when there is none.
func (t *Tree) Identity() (dev, ino uint64, err error) {
	info, err := os.Stat(t.root)
	if err != nil {
		return 0, 0, t.rootError(err)
	}
	if !info.IsDir() {
		return 0, 0, t.rootError(fs.ErrNotExist)
	}
	return identity(t.root, info)
}

// openRoot opens the team directory as it is now: it may have been replaced by
// another since the last call.
func (t *Tree) openRoot() (*dir, error) {
	root, err := os.OpenRoot(t.root)
	if err != nil {
		return nil, t.rootError(err)
	}
	d, err := newDir(root)
	if err != nil {
		return nil, t.rootError(err)
	}
	return d, nil
}

func (t *Tree) rootError(err error) error {
	if info, statErr := os.Stat(t.root); errors.Is(err, fs.ErrNotExist) || (statErr == nil && !info.IsDir()) {
		return fmt.Errorf("%w: %q", api.ErrRootMissing, t.root)
	}
	return fmt.Errorf("opening team directory %q: %w", t.root, err)
}
