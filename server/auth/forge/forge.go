package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
)

// The kinds of forges.
const (
	GitHub = "github" // github.com and GitHub Enterprise
	GitLab = "gitlab"
	Gitea  = "gitea" // and Forgejo
)

// Timeout bounds one question, redirects included.
const Timeout = 5 * time.Second

// Options configure [New].
type Options struct {
	// Kind is one of the constants. Required.
	Kind string
	// URL is where people find the forge. Default: https://github.com or
	// https://gitlab.com; a Gitea has none.
	URL string
	// Host is what names of repos begin with; see [api.Repo]. Default: the host of
	// URL.
	Host string
	// PublicReaders lets everyone whom the forge knows read the memory of public
	// repositories. Otherwise that takes more than everyone has there.
	PublicReaders bool
	// Transport carries the requests. Default: [http.DefaultTransport].
	Transport http.RoundTripper
	// Now is the clock. Default: [time.Now].
	Now func() time.Time
}

// Forge is one forge. Its methods may be called from any goroutine.
type Forge struct {
	o      Options
	kind   kind
	issuer string   // URL without a slash at its end
	api    *url.URL // base of its interface
	client *http.Client
	gate   *gate
}

// Answer is what a forge said of one person and one repository. The zero value
// is "no access".
type Answer struct {
	// Role is what the permission is worth here, [api.NoRole] for none.
	Role api.Role
	// Identity is the repository's own, which survives a rename: "github.com#1296269".
	Identity string
	// Name is how the repository is called now.
	Name api.Repo
	// ETag names the answer for the next question; "" for none.
	ETag string
}

// ErrToken says that the forge does not know the person's token, or not any
// more.
var ErrToken = errors.New("the forge refuses the token of this person")

// UnreachableError says that the permission could not be found out, and when it
// is worth another try.
type UnreachableError struct {
	Until time.Time
	Why   string // without anything that the forge sent
}

// Error implements error.
func (e *UnreachableError) Error() string { return "asking the forge: " + e.Why }

// New returns a Forge. It asks nothing. The error wraps [api.ErrConfig].
func New(o Options) (*Forge, error) {
	bad := func(format string, args ...any) (*Forge, error) {
		return nil, fmt.Errorf("%w: access to the forge: "+format, append([]any{api.ErrConfig}, args...)...)
	}
	k, ok := kinds[o.Kind]
	if !ok {
		return bad("the kind is github, gitlab or gitea")
	}
	base := strings.TrimRight(cmp.Or(o.URL, k.url), "/")
	if base == "" {
		return bad("a gitea needs its URL")
	}
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return bad("its URL looks like https://git.example.com")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return bad("its URL must not have a user, a query or a fragment")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return bad("people's tokens would travel in the clear: its URL must begin with https://")
	}
	f := &Forge{o: o, kind: k, issuer: base}
	f.o.Host = strings.ToLower(cmp.Or(o.Host, u.Hostname()))
	f.o.Now = o.Now
	if f.o.Now == nil {
		f.o.Now = time.Now
	}
	if f.o.Transport == nil {
		f.o.Transport = http.DefaultTransport
	}
	if _, err := api.ParseRepo(f.o.Host + "/owner/name"); err != nil {
		return bad("its host cannot begin the name of a repo")
	}
	u.Path = cmp.Or(u.Path, "/") // without one JoinPath makes relative paths
	f.api = k.base(u)
	f.gate = newGate(f.o.Now)
	f.client = &http.Client{
		Transport:     f.o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return f, nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// Host is what the names of the forge's repos begin with, "github.com" for those
// that begin with none.
func (f *Forge) Host() string { return f.o.Host }

// Knows reports whether the forge can say what a person of issuer may do in repo.
// A token of one issuer never goes to another's forge.
func (f *Forge) Knows(issuer string, repo api.Repo) bool {
	_, ok := f.path(repo)
	return ok && strings.EqualFold(strings.TrimRight(issuer, "/"), f.issuer)
}

// path returns how the forge itself calls repo.
func (f *Forge) path(repo api.Repo) (string, bool) {
	name := repo.String()
	if f.o.Host != githubHost {
		var ok bool
		if name, ok = strings.CutPrefix(name, f.o.Host+"/"); !ok {
			return "", false
		}
	}
	segments := strings.Count(name, "/") + 1
	return name, segments == 2 || (f.kind.groups && segments > 2)
}

// Repo returns the name that the forge's repository has here.
func (f *Forge) Repo(path string) (api.Repo, error) {
	if f.o.Host != githubHost {
		path = f.o.Host + "/" + path
	}
	return api.ParseRepo(path)
}

// Identity returns the identity of a repository by its number at the forge.
func (f *Forge) Identity(id int64) string { return fmt.Sprintf("%s#%d", f.o.Host, id) }

// githubHost is the host that names of repos leave out.
const githubHost = "github.com"

// Permission returns what the bearer of token may do in repo. known is the last
// answer to the same question, the zero Answer for none: where it still holds it
// is returned. A repository that the bearer may not see, or that does not exist,
// is an answer without a role. The error is [ErrToken] or wraps an
// [UnreachableError].
func (f *Forge) Permission(ctx context.Context, token string, repo api.Repo, known Answer) (Answer, error) {
	path, ok := f.path(repo)
	if !ok {
		return Answer{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	body, etag, err := f.ask(ctx, token, f.kind.question(f.api, path), known.ETag)
	switch {
	case errors.Is(err, errSame):
		return known, nil
	case errors.Is(err, errNone):
		return Answer{}, nil
	case err != nil:
		return Answer{}, err
	}
	said, err := f.kind.read(body)
	if err != nil || said.id == 0 {
		return Answer{}, f.useless("its answer is not that of a " + f.o.Kind)
	}
	name, err := f.Repo(said.name)
	if err != nil {
		return Answer{}, f.useless("the repository's name cannot be one here")
	}
	return Answer{Role: said.worth(f.o.PublicReaders), Identity: f.Identity(said.id), Name: name, ETag: etag}, nil
}

// useless makes the error of an answer that is of no use. It says nothing about
// the forge's health: one odd repository must not close it to everyone.
func (f *Forge) useless(why string) error {
	return &UnreachableError{Until: f.o.Now().Add(firstRest), Why: why}
}

// failed makes the error of a forge that does not work.
func (f *Forge) failed(why string) error {
	return &UnreachableError{Until: f.gate.fail(), Why: why}
}

// reason says what went wrong with a request, without its URL or headers.
func reason(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	}
	return "no connection"
}
