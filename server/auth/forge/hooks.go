package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/teammem/teammemd/api"
)

// ErrSignature says that a message does not come from the forge.
var ErrSignature = errors.New("signature is missing or wrong")

// MinSecret is the shortest secret of webhooks, in bytes.
const MinSecret = 16

// Event is what a message of the forge concerns. It is a reason to ask again: who
// may do what is not believed of it.
type Event struct {
	// Repos are the repositories concerned, by present and former names.
	Repos []api.Repo
	// Owners are organizations and groups all of whose repositories are concerned,
	// as names of repos begin: "acme", "git.example.com/acme", "git.example.com".
	Owners []string
	// Identity is the repository's, "" where none is concerned.
	Identity string
	// From and To are the names that a repository left and got; zero where none was
	// renamed.
	From, To api.Repo
}

// Hooks reads what a forge sends by itself.
type Hooks struct {
	f      *Forge
	secret []byte
}

// Hooks returns what reads the messages that the forge signs with secret, or, a
// GitLab, shows. The error wraps [api.ErrConfig].
func (f *Forge) Hooks(secret string) (*Hooks, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("%w: the secret of webhooks needs at least %d bytes", api.ErrConfig, MinSecret)
	}
	return &Hooks{f, []byte(secret)}, nil
}

// Kind is the forge's.
func (h *Hooks) Kind() string { return h.f.o.Kind }

// Read checks where a message comes from and returns what it concerns. The error
// is [ErrSignature] or says what is wrong with the body, without quoting it.
func (h *Hooks) Read(header http.Header, body []byte) (Event, error) {
	if h.Kind() == GitLab {
		if !h.shown(header) {
			return Event{}, ErrSignature
		}
		return h.readGitLab(body)
	}
	name := map[string]string{GitHub: "X-GitHub-Event", Gitea: "X-Gitea-Event"}[h.Kind()]
	if !h.signed(header, body) {
		return Event{}, ErrSignature
	}
	return h.readGitHub(header.Get(name), body)
}

// shown compares GitLab's token. Sums are compared so that its length does not
// show.
func (h *Hooks) shown(header http.Header) bool {
	values := header.Values("X-Gitlab-Token")
	if len(values) != 1 {
		return false
	}
	got, want := sha256.Sum256([]byte(values[0])), sha256.Sum256(h.secret)
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// signed checks the HMAC-SHA256 of the body.
func (h *Hooks) signed(header http.Header, body []byte) bool {
	name, prefix := "X-Hub-Signature-256", "sha256="
	if h.Kind() == Gitea {
		name, prefix = "X-Gitea-Signature", ""
	}
	values := header.Values(name)
	if len(values) != 1 {
		return false
	}
	text, ok := strings.CutPrefix(values[0], prefix)
	got, err := hex.DecodeString(text)
	if !ok || err != nil {
		return false
	}
	mac := hmac.New(sha256.New, h.secret)
	mac.Write(body)
	return hmac.Equal(got, mac.Sum(nil))
}

// about are the events of GitHub and Gitea that may change who may do what. The
// value tells whether a whole organization is concerned, whatever repository the
// event names.
var about = map[string]bool{
	"repository": false, "member": false, "team_add": false, "public": false,
	"team": true, "membership": true, "organization": true, "installation": true, "installation_repositories": true,
}

// errBody says that a body is not what the forge sends.
var errBody = errors.New("the body is not an event")

type owner struct {
	Login    string `json:"login"`
	Username string `json:"username"` // Gitea
}

func (o *owner) name() string {
	switch {
	case o == nil:
		return ""
	case o.Login != "":
		return o.Login
	}
	return o.Username
}

func (h *Hooks) readGitHub(event string, body []byte) (Event, error) {
	whole, known := about[event]
	if !known {
		return Event{}, nil
	}
	var message struct {
		Repository *struct {
			ID       int64  `json:"id"`
			FullName string `json:"full_name"`
		} `json:"repository"`
		Organization *owner `json:"organization"`
		Installation *struct {
			Account *owner `json:"account"`
		} `json:"installation"`
		Changes struct {
			Repository struct {
				Name struct {
					From string `json:"from"`
				} `json:"name"`
			} `json:"repository"`
			Owner struct {
				From struct {
					User         *owner `json:"user"`
					Organization *owner `json:"organization"`
				} `json:"from"`
			} `json:"owner"`
		} `json:"changes"`
	}
	if json.Unmarshal(body, &message) != nil {
		return Event{}, errBody
	}
	var e Event
	if r := message.Repository; r != nil {
		e.Identity = h.f.Identity(r.ID)
		e.To = h.repo(r.FullName)
		holder, name, _ := strings.Cut(r.FullName, "/")
		from := message.Changes.Owner.From
		former := from.Organization.name()
		if former == "" {
			former = from.User.name()
		}
		switch old := message.Changes.Repository.Name.From; {
		case old != "":
			e.From = h.repo(holder + "/" + old)
		case former != "":
			e.From = h.repo(former + "/" + name)
		}
		e.Repos = named(e.To, e.From)
	}
	if whole {
		e.Owners = h.owners(message.Organization.name())
		if message.Installation != nil {
			e.Owners = append(e.Owners, h.owners(message.Installation.Account.name())...)
		}
	}
	return e.checked(), nil
}

// readGitLab reads hooks of projects, groups and the system. Members of a group
// concern all: the path that is sent is only the last part of the group's.
func (h *Hooks) readGitLab(body []byte) (Event, error) {
	var message struct {
		Name        string `json:"event_name"`
		ProjectID   int64  `json:"project_id"`
		Path        string `json:"path_with_namespace"`
		OldPath     string `json:"old_path_with_namespace"`
		ProjectPath string `json:"project_path_with_namespace"`
	}
	if json.Unmarshal(body, &message) != nil {
		return Event{}, errBody
	}
	var e Event
	switch message.Name {
	case "project_rename", "project_transfer":
		e.From, e.To = h.repo(message.OldPath), h.repo(message.Path)
		e.Repos = named(e.From, e.To)
		e.Identity = h.f.Identity(message.ProjectID)
	case "project_create", "project_destroy", "project_update", "user_add_to_team", "user_update_for_team", "user_remove_from_team":
		e.Repos = named(h.repo(message.Path), h.repo(message.ProjectPath))
		e.Identity = h.f.Identity(message.ProjectID)
	case "user_add_to_group", "user_update_for_group", "user_remove_from_group", "group_rename", "group_destroy", "user_destroy", "user_rename":
		e.Owners = []string{h.f.o.Host}
	}
	return e.checked(), nil
}

// checked takes back a rename that is none.
func (e Event) checked() Event {
	if e.From.IsZero() || e.To.IsZero() || e.From == e.To {
		e.From, e.To = api.Repo{}, api.Repo{}
	}
	return e
}

// owners returns how names of an organization's repos begin.
func (h *Hooks) owners(name string) []string {
	repo := h.repo(name + "/x") // folded as names are
	if name == "" || repo.IsZero() {
		return nil
	}
	return []string{strings.TrimSuffix(repo.String(), "/x")}
}

// repo returns the zero Repo for what cannot be one.
func (h *Hooks) repo(path string) api.Repo {
	repo, err := h.f.Repo(path)
	if err != nil {
		return api.Repo{}
	}
	return repo
}

func named(repos ...api.Repo) (out []api.Repo) {
	for _, repo := range repos {
		if !repo.IsZero() {
			out = append(out, repo)
		}
	}
	return out
}
