package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/teammem/teammemd/api"
)

// ErrRootTaken says that a directory belongs to a registered root already.
var ErrRootTaken = errors.New("directory is registered already")

// TakenError names the root that holds a directory. It wraps [ErrRootTaken] and
// [api.ErrUsage].
type TakenError struct {
	Dir    string // the directory that was refused
	Holder Root
	Nested bool // one lies inside the other
}

// Error names the holder's directory and repo.
func (e *TakenError) Error() string {
	if e.Nested {
		return fmt.Sprintf("%s lies inside, or around, the directory %s of repo %s, which is registered already", e.Dir, e.Holder.Dir, e.Holder.Repo)
	}
	return fmt.Sprintf("%s is the directory of repo %s already, registered as %s", e.Dir, e.Holder.Repo, e.Holder.Dir)
}

// Unwrap returns [ErrRootTaken] and [api.ErrUsage].
func (e *TakenError) Unwrap() []error { return []error{ErrRootTaken, api.ErrUsage} }

// Root is one registered team directory.
type Root struct {
	// ID names the root's files and its state; letters, digits, "-", "." and
	// "_". [AddRoot] derives it from Dir and Repo.
	ID string
	// Path is the checkout, absolute; "" when the root has none.
	Path string
	// Dir is the team directory, absolute. It need not exist.
	Dir string
	// Repo is the scope on the server.
	Repo api.Repo
	// Server is the server's URL as [CanonicalServer] spells it.
	Server string
	// TokenFile is a file with the bearer token, absolute; "" for a stored one.
	TokenFile string
}

// rootFile is a [Root] as it stands in its file, whose name is the ID.
type rootFile struct {
	Path      string `toml:"path"`
	Dir       string `toml:"dir"`
	Repo      string `toml:"repo"`
	Server    string `toml:"server"`
	TokenFile string `toml:"token_file"`
}

const rootSuffix = ".toml"

// LoadRoots returns every registered root, sorted by ID. When some files are
// broken the error is a [ProblemErrors] with all of them, and the roots of the other
// files are returned beside it.
func LoadRoots(p Paths) ([]Root, error) {
	entries, err := os.ReadDir(p.RootsDir())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, ProblemErrors{{p.RootsDir(), "reading it: " + cause(err)}}
	}
	var roots []Root
	var problems ProblemErrors
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), rootSuffix)
		if !ok || id == "" || strings.HasPrefix(id, ".") {
			continue
		}
		root, found := loadRoot(filepath.Join(p.RootsDir(), e.Name()), id)
		if len(found) > 0 {
			problems = append(problems, found...)
			continue
		}
		roots = append(roots, root)
	}
	return roots, problems.orNil()
}

func loadRoot(file, id string) (Root, ProblemErrors) {
	var raw rootFile
	where, problems := readFile(file, true, keysOf(&raw))
	if len(problems) > 0 {
		return Root{}, problems
	}
	root := Root{ID: id, Path: raw.Path, Dir: raw.Dir, TokenFile: raw.TokenFile}
	var faults []fault
	var err error
	if root.Repo, err = api.ParseRepo(raw.Repo); err != nil {
		faults = append(faults, fault{"repo", "it must be owner/name or host/group/name"})
	}
	if root.Server, err = CanonicalServer(raw.Server); err != nil {
		faults = append(faults, fault{"server", err.Error()})
	}
	faults = append(faults, root.faults()...)
	for _, f := range faults {
		at := where[f.key]
		if at == "" {
			at = file
		}
		problems = append(problems, Problem{at, f.key + ": " + f.text})
	}
	return root, problems
}

func (r Root) faults() []fault {
	var out []fault
	for _, path := range []struct {
		key, value string
		required   bool
	}{{"path", r.Path, false}, {"dir", r.Dir, true}, {"token_file", r.TokenFile, false}} {
		if path.value == "" && !path.required {
			continue
		}
		if !filepath.IsAbs(path.value) {
			out = append(out, fault{path.key, "it must be an absolute path"})
		} else if !utf8.ValidString(path.value) {
			out = append(out, fault{path.key, "the path is not UTF-8 and cannot be written down"})
		}
	}
	return out
}

// AddRoot registers a root durably and returns it with its ID. It refuses a
// directory that is, contains or lies inside that of another root, also by
// another name for it, with a [*TakenError]; fields that cannot be stored with
// [ProblemErrors]. Processes that add at once are ordered by a lock.
func AddRoot(p Paths, root Root) (Root, error) {
	err := locked(rootsLock(p), func() error {
		roots, err := LoadRoots(p)
		if err != nil {
			return err
		}
		root.Dir = filepath.Clean(root.Dir)
		root.ID = rootID(root, roots)
		if err := checkFree(root, roots); err != nil {
			return err
		}
		return writeRoot(p, root)
	})
	if err != nil {
		return Root{}, err
	}
	return root, nil
}

// UpdateRoot replaces the registered root of the same ID durably. Its directory
// must be free as for [AddRoot], that of the root itself aside.
func UpdateRoot(p Paths, root Root) error {
	return locked(rootsLock(p), func() error {
		roots, err := LoadRoots(p)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(roots, func(r Root) bool { return r.ID == root.ID })
		if at < 0 {
			return fmt.Errorf("%w: no root %q is registered", api.ErrUsage, root.ID)
		}
		root.Dir = filepath.Clean(root.Dir)
		if err := checkFree(root, slices.Delete(roots, at, at+1)); err != nil {
			return err
		}
		return writeRoot(p, root)
	})
}

// RemoveRoot forgets a root durably. Its directory and its state stay. Absence
// is a success.
func RemoveRoot(p Paths, id string) error {
	if id == "" || id != filepath.Base(id) || strings.HasPrefix(id, ".") {
		return fmt.Errorf("%w: %q is no root's id", api.ErrUsage, id)
	}
	return locked(rootsLock(p), func() error {
		err := os.Remove(filepath.Join(p.RootsDir(), id+rootSuffix))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("forgetting root %q: %w", id, err)
		}
		return syncDir(p.RootsDir())
	})
}

func rootsLock(p Paths) string { return filepath.Join(p.RootsDir(), ".lock") }

// writeRoot checks and stores one root.
func writeRoot(p Paths, root Root) error {
	var problems ProblemErrors
	server, err := CanonicalServer(root.Server)
	if err != nil {
		problems = append(problems, Problem{"server", err.Error()})
	}
	if root.Repo.IsZero() {
		problems = append(problems, Problem{"repo", "it is missing"})
	}
	for _, f := range root.faults() {
		problems = append(problems, Problem{f.key, f.text})
	}
	if err := problems.orNil(); err != nil {
		return err
	}
	raw := rootFile{root.Path, root.Dir, root.Repo.String(), server, root.TokenFile}
	var text bytes.Buffer
	text.WriteString("# Written by teammemd init. One file is one registered root.\n")
	for _, k := range keysOf(&raw) {
		if !k.value.IsZero() {
			fmt.Fprintf(&text, "%s = %s\n", k.name, quoteTOML(k.value.String()))
		}
	}
	if err := writeFile(filepath.Join(p.RootsDir(), root.ID+rootSuffix), text.Bytes()); err != nil {
		return fmt.Errorf("registering root %q: %w", root.ID, err)
	}
	return nil
}

// quoteTOML writes a basic string; the escapes that strconv adds beyond TOML's
// own are avoided.
func quoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7F:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// rootID makes "owner-name-1a2b3c", the digits from the directory. A root that
// has the directory under another name keeps its own file.
func rootID(root Root, taken []Root) string {
	sum := sha256.Sum256([]byte(root.Dir))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, root.Repo.String())
	name = strings.TrimLeft(name, ".")
	if len(name) > 80 {
		name = name[len(name)-80:]
	}
	id := name + "-" + hex.EncodeToString(sum[:3])
	for n := 2; slices.ContainsFunc(taken, func(r Root) bool { return r.ID == id }); n++ {
		id = name + "-" + hex.EncodeToString(sum[:3]) + "-" + strconv.Itoa(n)
	}
	return id
}
