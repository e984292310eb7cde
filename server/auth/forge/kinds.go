package forge

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/teammem/teammemd/api"
)

// kind is how one sort of forge is asked.
type kind struct {
	url    string // where people find it, "" for everywhere
	groups bool   // whether names have more than two segments
	accept string
	header map[string]string
	// base returns where its interface begins.
	base func(web *url.URL) *url.URL
	// question returns the URL that tells about a repository.
	question func(api *url.URL, path string) *url.URL
	// read reads the answer.
	read func(body []byte) (said, error)
}

var kinds = map[string]kind{
	GitHub: {
		url: "https://github.com", accept: "application/vnd.github+json",
		header: map[string]string{"X-GitHub-Api-Version": "2022-11-28"},
		base: func(web *url.URL) *url.URL {
			if strings.EqualFold(web.Host, githubHost) {
				return &url.URL{Scheme: "https", Host: "api.github.com", Path: "/"}
			}
			return web.JoinPath("api", "v3")
		},
		question: func(api *url.URL, path string) *url.URL { return api.JoinPath("repos", path) },
		read:     readGitHub,
	},
	Gitea: {
		accept:   "application/json",
		base:     func(web *url.URL) *url.URL { return web.JoinPath("api", "v1") },
		question: func(api *url.URL, path string) *url.URL { return api.JoinPath("repos", path) },
		read:     readGitHub,
	},
	GitLab: {
		url: "https://gitlab.com", groups: true, accept: "application/json",
		base: func(web *url.URL) *url.URL { return web.JoinPath("api", "v4") },
		question: func(api *url.URL, path string) *url.URL {
			u := api.JoinPath("projects", "x")
			u.Path = strings.TrimSuffix(u.Path, "x") + path
			u.RawPath = api.JoinPath("projects").EscapedPath() + "/" + url.QueryEscape(path)
			return u
		},
		read: readGitLab,
	},
}

// said is what a forge's answer says, whichever it is.
type said struct {
	id       int64
	name     string // with the owner
	role     api.Role
	everyone bool // whether everyone whom the forge knows has as much
	archived bool // nobody may write
}

// worth returns the role that it makes.
func (s said) worth(publicReaders bool) api.Role {
	switch {
	case s.everyone && !publicReaders:
		return api.NoRole
	case s.archived:
		return min(s.role, api.Reader)
	}
	return s.role
}

// readGitHub reads what GitHub and Gitea say of a repository.
func readGitHub(body []byte) (said, error) {
	var repo struct {
		ID          int64  `json:"id"`
		FullName    string `json:"full_name"`
		Private     bool   `json:"private"`
		Internal    bool   `json:"internal"`   // Gitea
		Visibility  string `json:"visibility"` // GitHub
		Archived    bool   `json:"archived"`
		Disabled    bool   `json:"disabled"`
		Permissions struct {
			Admin, Maintain, Push, Triage, Pull bool
		} `json:"permissions"`
	}
	if err := json.Unmarshal(body, &repo); err != nil {
		return said{}, err
	}
	s := said{id: repo.ID, name: repo.FullName, archived: repo.Archived || repo.Disabled}
	p := repo.Permissions
	switch {
	case p.Admin, p.Maintain:
		s.role = api.Maintainer
	case p.Push:
		s.role = api.Writer
	case p.Triage:
		s.role = api.Reader
	case p.Pull:
		s.role = api.Reader
		s.everyone = !repo.Private && !repo.Internal && repo.Visibility != "private" && repo.Visibility != "internal"
	}
	return s, nil
}

// Levels of access of GitLab. Below a guest's are none and "minimal access",
// which sees a group and no project.
const (
	levelGuest      = 10
	levelDeveloper  = 30
	levelMaintainer = 40
)

// readGitLab reads what GitLab says of a project. It names the levels that
// somebody has by the project and by its groups; a share of the project with
// another group it does not name.
func readGitLab(body []byte) (said, error) {
	type access struct {
		Level int `json:"access_level"`
	}
	var project struct {
		ID          int64  `json:"id"`
		Path        string `json:"path_with_namespace"`
		Visibility  string `json:"visibility"`
		Archived    bool   `json:"archived"`
		Permissions struct {
			Project *access `json:"project_access"`
			Group   *access `json:"group_access"`
		} `json:"permissions"`
	}
	if err := json.Unmarshal(body, &project); err != nil {
		return said{}, err
	}
	level := 0
	for _, a := range []*access{project.Permissions.Project, project.Permissions.Group} {
		if a != nil {
			level = max(level, a.Level)
		}
	}
	s := said{id: project.ID, name: project.Path, archived: project.Archived}
	switch {
	case level >= levelMaintainer:
		s.role = api.Maintainer
	case level >= levelDeveloper:
		s.role = api.Writer
	case level >= levelGuest, project.Visibility == "private":
		s.role = api.Reader // of a private project only members get an answer
	default:
		s.role, s.everyone = api.Reader, true
	}
	return s, nil
}
