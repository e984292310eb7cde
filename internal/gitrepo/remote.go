package gitrepo

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/teammem/teammemd/api"
)

// maxHops bounds how many local clones of clones are followed.
const maxHops = 3

// name fills in the remote and the repo.
func (f Finder) name(info Info, loc location, cfg settings, hops int) (Info, error) {
	remote, err := chooseRemote(loc, cfg)
	if err != nil {
		return info, err
	}
	info.RemoteName = remote
	var firstErr error
	for _, url := range candidates(cfg, remote) {
		place, err := parseURL(url)
		if err == nil {
			place.host = f.sshHost(place)
			return f.resolve(info, loc, place, hops)
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	return info, &Error{
		err:  ErrUnknownRemote,
		text: fmt.Sprintf("the URL of the git remote %q names no repository to share: %s", remote, firstErr),
		hint: hintRepo,
	}
}

// resolve turns a parsed URL into a repo, following local paths.
func (f Finder) resolve(info Info, loc location, place place, hops int) (Info, error) {
	info.Remote = place.String()
	if place.local != "" {
		return f.follow(info, loc, place, hops)
	}
	repo, err := place.repo()
	if err != nil {
		return info, &Error{
			err:  ErrUnknownRemote,
			text: fmt.Sprintf("the URL of the git remote %q names no repository to share: %s", info.RemoteName, err),
			hint: hintRepo,
		}
	}
	info.Repo = repo
	return info, nil
}

// follow looks into the local repository at place for a remote of its own; the
// last directory reached gives its name where there is none.
func (f Finder) follow(info Info, loc location, place place, hops int) (Info, error) {
	path := f.localPath(loc, place.local)
	if hops > 0 {
		if next, ok := enter(path); ok {
			deeper, err := f.name(Info{}, next, f.load(next), hops-1)
			if err == nil {
				info.Repo, info.Local = deeper.Repo, deeper.Local
				return info, nil
			}
		}
	}
	repo, err := localRepo(path)
	if err != nil {
		return info, &Error{
			err:  ErrUnknownRemote,
			text: fmt.Sprintf("the git remote %q is a directory whose name cannot name a repo", info.RemoteName),
			hint: hintRepo,
		}
	}
	info.Repo, info.Local = repo, true
	return info, nil
}

// localPath resolves a path as git does: against the work tree.
func (f Finder) localPath(loc location, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && f.home() != "" {
		return filepath.Join(f.home(), filepath.FromSlash(rest))
	}
	return absFrom(loc.root, path)
}

// enter opens exactly path, trying git's suffixes in git's order.
func enter(path string) (location, bool) {
	for _, suffix := range []string{"", ".git"} {
		if isDir(path + suffix) {
			if loc, ok := at(path + suffix); ok {
				return loc, true
			}
		}
	}
	return location{}, false
}

// localRepo makes local/<name> from a directory, leaving out what a repo's name
// cannot hold.
func localRepo(path string) (api.Repo, error) {
	path = strings.TrimRight(filepath.ToSlash(path), "/")
	path = strings.TrimSuffix(path, "/.git")
	name := path[strings.LastIndexByte(path, '/')+1:]
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".git"), ".bundle")
	return api.ParseRepo("local/" + tidy(name))
}

// chooseRemote picks origin, else the only remote, else that of the branch,
// else the one that git itself was told to prefer.
func chooseRemote(loc location, cfg settings) (string, error) {
	names := remotes(cfg)
	switch {
	case slices.Contains(names, "origin"):
		return "origin", nil
	case len(names) == 1:
		return names[0], nil
	}
	if branch := loc.branch(); branch != "" {
		if name, ok := cfg.last("branch", branch, "remote"); ok && slices.Contains(names, name) {
			return name, nil
		}
	}
	if name, ok := cfg.last("checkout", "", "defaultremote"); ok && slices.Contains(names, name) {
		return name, nil
	}
	if len(names) == 0 {
		return "", &Error{
			err:  ErrNoRemote,
			text: fmt.Sprintf("the git repository at %s has no remote", loc.root),
			hint: "git remote add origin URL, or give --repo owner/name",
		}
	}
	return "", &Error{
		err:  ErrNoRemote,
		text: fmt.Sprintf("the git repository at %s has %d remotes and none is called origin", loc.root, len(names)),
		hint: "git remote rename NAME origin, or give --repo owner/name",
	}
}

// remotes lists the remotes that have a URL, sorted.
func remotes(cfg settings) []string {
	var names []string
	for _, s := range cfg {
		if s.section == "remote" && s.sub != "" && !slices.Contains(names, s.sub) && len(candidates(cfg, s.sub)) > 0 {
			names = append(names, s.sub)
		}
	}
	slices.Sort(names)
	return names
}

// candidates lists the URLs of a remote, best first: the fetch URL by insteadOf,
// the same by pushInsteadOf, the push URL.
func candidates(cfg settings, remote string) []string {
	var urls []string
	if fetch := cfg.all("remote", remote, "url"); len(fetch) > 0 {
		url, hit := rewrite(cfg, fetch[0], "insteadof")
		urls = append(urls, url)
		// An alias such as "work:api" may be defined for pushing alone, and it
		// would parse as a host: then the rewritten URL comes first.
		if url, push := rewrite(cfg, fetch[0], "pushinsteadof"); push && !hit {
			urls = append(urls, url)
			if !strings.Contains(fetch[0], "://") && !strings.Contains(fetch[0], "@") {
				slices.Reverse(urls)
			}
		}
	}
	if push := cfg.all("remote", remote, "pushurl"); len(push) > 0 {
		url, _ := rewrite(cfg, push[0], "insteadof")
		urls = append(urls, url)
	}
	return urls
}

// rewrite applies the url.<base>.<key> with the longest match.
func rewrite(cfg settings, url, key string) (string, bool) {
	var base, match string
	for _, s := range cfg {
		if s.section == "url" && s.key == key && len(s.value) > len(match) && strings.HasPrefix(url, s.value) {
			base, match = s.sub, s.value
		}
	}
	if match == "" {
		return url, false
	}
	return base + url[len(match):], true
}
