package access

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
)

// policy is what a policy file says. It is immutable. Rules only give: the
// strongest that matches counts, whatever their order.
type policy struct{ rules []rule }

type rule struct {
	repos []auth.Pattern
	who   []matcher
	role  api.Role
}

// role returns the strongest role that a rule gives p in repo.
func (p *policy) role(who Person, repo api.Repo) api.Role {
	best := api.NoRole
	for _, r := range p.rules {
		if r.role > best &&
			slices.ContainsFunc(r.repos, func(pattern auth.Pattern) bool { return pattern.Match(repo) }) &&
			slices.ContainsFunc(r.who, func(m matcher) bool { return m.match(who) }) {
			best = r.role
		}
	}
	return best
}

// matcher selects people. The zero value selects nobody. Every form names who
// vouches for the person, but that of an address, for which any issuer does that
// the server was told to trust.
type matcher struct {
	what   string // "login", "subject", "email", "domain", "group", "issuer" or "anyone"
	value  string // folded, except a subject and a group
	issuer string // without a slash at its end
}

// localIssuer vouches for those who signed in with a join code.
const localIssuer = "local"

// parseUser reads "login@https://issuer", "#subject@https://issuer",
// "*@https://issuer", "ada@example.com", "*@example.com" or "*".
func parseUser(s string) (matcher, error) {
	bad := func() (matcher, error) {
		return matcher{}, fmt.Errorf("users: %q is not login@https://issuer, #subject@https://issuer, an address, or *", s)
	}
	if s == "*" {
		return matcher{what: "anyone"}, nil
	}
	name, issuer, ok := cutIssuer(s)
	if !ok {
		name, domain, isAddress := strings.Cut(s, "@")
		switch {
		case !isAddress || name == "" || !strings.Contains(domain, ".") || strings.ContainsAny(s, "#:/ \t") || strings.Contains(domain, "@") || strings.Contains(domain, "*"):
			return bad()
		case name == "*":
			return matcher{what: "domain", value: strings.ToLower(domain)}, nil
		case strings.Contains(name, "*"):
			return bad()
		}
		return matcher{what: "email", value: strings.ToLower(s)}, nil
	}
	switch subject, isSubject := strings.CutPrefix(name, "#"); {
	case name == "*":
		return matcher{what: "issuer", issuer: issuer}, nil
	case isSubject && subject != "":
		return matcher{what: "subject", value: subject, issuer: issuer}, nil
	case name == "" || strings.ContainsAny(name, "#* \t"):
		return bad()
	}
	return matcher{what: "login", value: strings.ToLower(name), issuer: issuer}, nil
}

// parseGroup reads "group@https://issuer".
func parseGroup(s string) (matcher, error) {
	name, issuer, ok := cutIssuer(s)
	if !ok || name == "" {
		return matcher{}, fmt.Errorf("groups: %q is neither a group of this file nor group@https://issuer", s)
	}
	return matcher{what: "group", value: name, issuer: issuer}, nil
}

// cutIssuer splits at the last "@" before an issuer, which is a URL, or "local".
func cutIssuer(s string) (name, issuer string, ok bool) {
	if name, ok := strings.CutSuffix(s, "@"+localIssuer); ok {
		return name, localIssuer, true
	}
	at := max(strings.LastIndex(s, "@https://"), strings.LastIndex(s, "@http://"))
	if at < 0 {
		return "", "", false
	}
	issuer = s[at+1:]
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", "", false
	}
	return s[:at], trimIssuer(issuer), true
}

func trimIssuer(issuer string) string { return strings.TrimRight(issuer, "/") }

func (m matcher) match(p Person) bool {
	if m.issuer != "" && m.issuer != trimIssuer(p.Issuer) {
		return false
	}
	switch m.what {
	case "anyone", "issuer":
		return true
	case "login":
		return p.Login != "" && strings.ToLower(p.Login) == m.value
	case "subject":
		return p.Subject == m.value
	case "email":
		return p.Email != "" && strings.ToLower(p.Email) == m.value
	case "domain":
		_, domain, ok := strings.Cut(strings.ToLower(p.Email), "@")
		return ok && domain == m.value
	case "group":
		return slices.Contains(p.Groups, m.value)
	}
	return false
}
