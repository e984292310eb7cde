package gitrepo

import "strings"

// aliases are other names of public forges: SSH over the HTTPS port, and www.
var aliases = map[string]string{
	"www.github.com":       "github.com",
	"ssh.github.com":       "github.com",
	"www.gitlab.com":       "gitlab.com",
	"altssh.gitlab.com":    "gitlab.com",
	"www.bitbucket.org":    "bitbucket.org",
	"altssh.bitbucket.org": "bitbucket.org",
	"ssh.dev.azure.com":    "dev.azure.com",
}

// public are the forges whose paths follow no one else's conventions.
var public = map[string]bool{
	"github.com": true, "gitlab.com": true, "bitbucket.org": true, "dev.azure.com": true, "codeberg.org": true,
}

// forge returns the name under which a host is known.
func forge(host string) string {
	host = strings.TrimSuffix(host, ".")
	if name, ok := aliases[host]; ok {
		return name
	}
	return host
}

// azure brings the spellings of Azure DevOps to dev.azure.com/org/project/repo,
// and leaves the marker _git out of those of its on-premises server.
func azure(host, user string, segments []string) (string, []string) {
	org, old := strings.CutSuffix(host, ".visualstudio.com")
	switch {
	case old && org == "vs-ssh":
		host, old = "dev.azure.com", false
		if len(segments) > 0 && segments[0] != "v3" && user != "" {
			segments = append([]string{user}, segments...)
		}
	case old:
		host = "dev.azure.com"
	}
	if host == "dev.azure.com" && len(segments) > 0 && segments[0] == "v3" {
		return host, segments[1:]
	}
	if old {
		if len(segments) > 0 && strings.EqualFold(segments[0], "DefaultCollection") {
			segments = segments[1:]
		}
		segments = append([]string{org}, segments...)
	}
	return host, withoutMarker(host, segments)
}

// withoutMarker removes _git (or _ssh) and what may stand between it and the
// repository. On dev.azure.com a missing project has the repository's name.
func withoutMarker(host string, segments []string) []string {
	for i, seg := range segments {
		if seg != "_git" && seg != "_ssh" {
			continue
		}
		before, after := segments[:i:i], segments[i+1:]
		if len(after) > 1 && (after[0] == "_full" || after[0] == "_optimized") {
			after = after[1:]
		}
		if host == "dev.azure.com" && len(before) == 1 && len(after) == 1 {
			before = append(before, after[0])
		}
		return append(before, after...)
	}
	return segments
}

// bitbucketServer removes the scm/ under which Bitbucket Server and Data Center
// serve over HTTP what they serve without it over SSH, and any context path
// before it.
func bitbucketServer(host string, segments []string) []string {
	n := len(segments)
	if public[host] || n < 3 || segments[n-3] != "scm" {
		return segments
	}
	return segments[n-2:]
}
