package gitrepo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/teammem/teammemd/api"
)

// What callers may match. Every error of this package that a person can mend
// wraps [api.ErrUsage] as well.
var (
	// ErrNoRepository says that no directory from the path upward is a repository.
	ErrNoRepository = errors.New("no git repository")
	// ErrNoRemote says that there is a repository and no remote to name it by.
	ErrNoRemote = errors.New("no git remote")
	// ErrUnknownRemote says that the remote's URL names no repo that teammates
	// could share.
	ErrUnknownRemote = errors.New("unknown git remote")
)

// Info is what a checkout says about itself.
type Info struct {
	// Root is the work tree that contains the path, absolute, links resolved. Of
	// a bare repository it is the repository itself.
	Root string
	// CanonicalRoot is the main checkout of a linked worktree, else Root. The
	// worktrees of a bare repository share the repository's own directory; a
	// submodule keeps its own.
	CanonicalRoot string
	// RemoteName is the remote that was chosen, "" when there is none.
	RemoteName string
	// Remote is that remote's URL after insteadOf, without user, password and
	// query; fit to be shown.
	Remote string
	// Repo is the scope on the server; zero when there is no remote.
	Repo api.Repo
	// Local is true when Repo was made up from a directory's name, because the
	// remote is a local repository without a remote of its own.
	Local bool
}

// Error is a refusal with a way out.
type Error struct {
	err  error // one of the sentinels
	text string
	hint string
}

// Error returns one clause for people.
func (e *Error) Error() string { return e.text }

// Hint returns what the user can do about it.
func (e *Error) Hint() string { return e.hint }

// Unwrap returns the sentinel and [api.ErrUsage].
func (e *Error) Unwrap() []error { return []error{e.err, api.ErrUsage} }

// Finder looks at a machine through its environment, which tests replace. The
// zero value is not usable; [Find] is.
type Finder struct {
	// Getenv returns an environment variable's value, "" for unset.
	Getenv func(string) string
	// System is the system-wide git configuration, "/etc/gitconfig" on most
	// machines; "" for none.
	System string
}

// Find describes the repository that contains path, which may be a file or a
// directory. When the repository has no usable remote it returns what it knows
// together with [ErrNoRemote] or [ErrUnknownRemote].
func Find(path string) (Info, error) {
	return Finder{Getenv: os.Getenv, System: systemConfig}.Find(path)
}

// Find is [Find] with the finder's environment.
func (f Finder) Find(path string) (Info, error) {
	abs, err := physical(path)
	if err != nil {
		return Info{}, fmt.Errorf("%w: looking at %q: %w", api.ErrUsage, path, err)
	}
	loc, ok := locate(abs)
	if !ok {
		return Info{}, &Error{
			err:  ErrNoRepository,
			text: fmt.Sprintf("no git repository at %s or above it", abs),
			hint: "run this inside a checkout, or give --repo and --team-dir",
		}
	}
	cfg := f.load(loc)
	info := Info{Root: loc.root, CanonicalRoot: loc.canonicalRoot(cfg)}
	return f.name(info, loc, cfg, maxHops)
}

// FromURL names the repo of a remote's URL in any of git's spellings, as written:
// no configuration applies. A path on this machine is an [ErrUnknownRemote].
func FromURL(url string) (api.Repo, error) {
	place, err := parseURL(url)
	if err == nil && place.local != "" {
		err = errLocal
	}
	var repo api.Repo
	if err == nil {
		repo, err = place.repo()
	}
	if err != nil {
		return api.Repo{}, &Error{
			err:  ErrUnknownRemote,
			text: fmt.Sprintf("the URL names no repository to share: %s", err),
			hint: hintRepo,
		}
	}
	return repo, nil
}

const hintRepo = "give --repo owner/name"

// physical returns path absolute with links resolved, as a process started in
// it would see its working directory.
func physical(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
