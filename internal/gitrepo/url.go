package gitrepo

import (
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"

	"github.com/teammem/teammemd/api"
)

// place is a remote's URL without its secrets: a path on a host, or local.
type place struct {
	scheme string // lower case; "ssh" for the scp-like form
	user   string // of SSH only, where it is an account and no secret
	host   string // lower case, without brackets
	port   string
	path   string // without query and fragment, not decoded
	local  string // a path on this machine; the others are empty
}

// Why a URL is no place. None quotes the URL.
var (
	errHelper   = errors.New("it needs a transport helper")
	errShape    = errors.New("it is neither a URL nor a path")
	errNoPath   = errors.New("it has no path")
	errEscapes  = errors.New("its path has escapes that are not allowed")
	errGitHub   = errors.New("a path on github.com is owner/name")
	errChars    = errors.New("it has control characters")
	errLocal    = errors.New("it is a path on this machine")
	errSegments = errors.New("its path cannot name a repo")
)

// schemes that name a host. Others (ext, helpers, new inventions) do not tell
// where a repository is.
var schemes = map[string]bool{
	"ssh": true, "git": true, "http": true, "https": true, "git+ssh": true, "ssh+git": true,
	"git+https": true, "git+http": true, "ftp": true, "ftps": true,
}

// parseURL reads every form that git takes.
func parseURL(raw string) (place, error) {
	raw = strings.TrimSpace(raw)
	if strings.ContainsFunc(raw, unicode.IsControl) {
		return place{}, errChars
	}
	if scheme, rest, ok := strings.Cut(raw, "://"); ok && isScheme(scheme) {
		return parseWithScheme(strings.ToLower(scheme), rest)
	}
	if helper, _, ok := strings.Cut(raw, "::"); ok && isScheme(helper) {
		return place{}, errHelper
	}
	if raw == "" || strings.Contains(raw, "://") {
		return place{}, errShape
	}
	if p, ok := parseSCP(raw); ok {
		return p, nil
	}
	return place{local: raw}, nil
}

func parseWithScheme(scheme, rest string) (place, error) {
	authority, path, _ := strings.Cut(rest, "/")
	if scheme == "file" {
		// file://host/path is a path to git; only on Windows is the host a share.
		if decoded, err := url.PathUnescape(path); err == nil {
			path = decoded
		}
		if drive := strings.TrimPrefix(path, "/"); hasDrive(drive) {
			return place{local: drive}, nil
		}
		return place{local: "/" + strings.TrimLeft(path, "/")}, nil
	}
	if !schemes[scheme] {
		return place{}, errHelper
	}
	p := place{scheme: scheme, path: path}
	ssh := strings.Contains(scheme, "ssh")
	if ssh {
		p.scheme = "ssh"
	} else {
		p.path, _, _ = strings.Cut(p.path, "?")
		p.path, _, _ = strings.Cut(p.path, "#")
		authority, _, _ = strings.Cut(authority, "?")
		authority, _, _ = strings.Cut(authority, "#")
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if ssh {
			p.user, _, _ = strings.Cut(authority[:at], ":")
		}
		authority = authority[at+1:]
	}
	p.host, p.port = splitPort(authority)
	// ssh://git@host:owner/name is a common slip between the two SSH forms.
	if p.port != "" && strings.Trim(p.port, "0123456789") != "" {
		p.path, p.port = p.port+"/"+p.path, ""
	}
	if p.host == "" {
		return place{}, errShape
	}
	return p, nil
}

// parseSCP reads [user@]host:path, host possibly in brackets and then possibly
// with a port. A slash before the first colon makes it a path, as in git.
func parseSCP(raw string) (place, bool) {
	user, rest := "", raw
	if at := strings.IndexByte(raw, '@'); at >= 0 && !strings.ContainsAny(raw[:at], "/:[") {
		user, rest = raw[:at], raw[at+1:]
	}
	if strings.HasPrefix(rest, "[") {
		inner, path, ok := strings.Cut(rest[1:], "]:")
		if !ok || inner == "" || path == "" {
			return place{}, false
		}
		host, port := inner, ""
		if strings.Count(inner, ":") == 1 {
			host, port, _ = strings.Cut(inner, ":")
		}
		return place{scheme: "ssh", user: user, host: strings.ToLower(host), port: port, path: path}, true
	}
	if runtime.GOOS == "windows" && hasDrive(rest) {
		return place{}, false
	}
	host, path, ok := strings.Cut(rest, ":")
	if !ok || host == "" || path == "" || strings.ContainsAny(host, `/\ `) {
		return place{}, false
	}
	// host:22:path is understood by go-git and some servers' help pages.
	port, tail, ok := strings.Cut(path, ":")
	if ok && port != "" && len(port) <= 5 && strings.Trim(port, "0123456789") == "" && tail != "" {
		path = tail
	} else {
		port = ""
	}
	return place{scheme: "ssh", user: user, host: strings.ToLower(host), port: port, path: path}, true
}

// splitPort takes host:port apart; what follows the colon is not checked.
func splitPort(authority string) (host, port string) {
	if rest, ok := strings.CutPrefix(authority, "["); ok {
		host, rest, ok = strings.Cut(rest, "]")
		if !ok {
			return "", ""
		}
		return strings.ToLower(host), strings.TrimPrefix(rest, ":")
	}
	host, port, _ = strings.Cut(authority, ":")
	return strings.ToLower(host), port
}

func isScheme(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", r)) {
			return false
		}
	}
	return s != ""
}

func hasDrive(s string) bool {
	return len(s) >= 2 && s[1] == ':' && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z')
}

// String returns the place as it may be shown: no user, password, query.
func (p place) String() string {
	if p.local != "" {
		return filepath.ToSlash(p.local)
	}
	host := p.host
	if p.port != "" {
		host = net.JoinHostPort(host, p.port)
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return p.scheme + "://" + host + "/" + strings.TrimLeft(p.path, "/")
}

// repo returns the scope that the place names.
func (p place) repo() (api.Repo, error) {
	segments, err := p.segments()
	if err != nil {
		return api.Repo{}, err
	}
	host := forge(p.host)
	host, segments = azure(host, p.user, segments)
	if p.scheme == "http" || p.scheme == "https" {
		segments = bitbucketServer(host, segments)
	}
	if host == "github.com" {
		if len(segments) != 2 {
			return api.Repo{}, errGitHub
		}
		return parseRepo(segments)
	}
	if len(segments) == 0 {
		return api.Repo{}, errNoPath
	}
	if len(segments) == 1 && !strings.Contains(host, ".") {
		// Two segments without a dot would read as owner/name on github.com.
		segments = []string{"~", segments[0]}
	}
	return parseRepo(append([]string{host}, segments...))
}

func parseRepo(segments []string) (api.Repo, error) {
	repo, err := api.ParseRepo(strings.Join(segments, "/"))
	if err != nil {
		return api.Repo{}, errSegments
	}
	return repo, nil
}

// segments splits, decodes and tidies the path.
func (p place) segments() ([]string, error) {
	path := strings.Trim(p.path, "/")
	path = strings.TrimRight(strings.TrimSuffix(path, ".git"), "/")
	if rest, ok := strings.CutPrefix(path, "~/"); ok && p.user != "" {
		path = "~" + p.user + "/" + rest
	}
	var out []string
	for seg := range strings.SplitSeq(path, "/") {
		if seg == "" {
			continue
		}
		decoded, err := url.PathUnescape(seg)
		if err != nil || strings.ContainsFunc(decoded, unicode.IsControl) || strings.ContainsAny(decoded, `/\`) {
			return nil, errEscapes
		}
		if decoded == "." || decoded == ".." {
			return nil, errSegments
		}
		out = append(out, strings.ReplaceAll(decoded, " ", "+"))
	}
	return out, nil
}

// tidy replaces what a repo's name cannot hold.
func tidy(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '+'
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune("-_.~+:@", r):
			return r
		}
		return '-'
	}, name)
}
