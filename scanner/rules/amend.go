package rules

import (
	"fmt"
	"slices"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/regexp"

	"github.com/teammem/teammemd/scanner/samples"
)

// dropped are gitleaks' rules that cannot speak about a note, each with the
// reason.
var dropped = map[string]string{
	"hashicorp-tf-password":  "it wants the name of a Terraform file; tm-password takes its place",
	"kubernetes-secret-yaml": "it wants the name of a YAML file; tm-kubernetes-secret takes its place",
	"pkcs12-file":            "it knows a name alone, and a note is text",
}

// amended are gitleaks' rules of which more changes than their boundaries.
var amended = map[string]func(*Rule){
	// The vendor's name need not stand in the text: the token tells.
	"airtable-personnal-access-token": keywords("pat"),
	"cloudflare-origin-ca-key":        keywords("v1.0-"),
	"intra42-client-secret":           keywords("s-s4t2"),
	// Their dots stand for any character.
	"sidekiq-sensitive-url": func(r *Rule) {
		r.Keywords = []string{"contribsys"}
		r.Hits = func(s *samples.Source) []string {
			return []string{"https://" + s.Text(samples.Hex, 8) + ":" + s.Text(samples.Hex, 8) + "@gems.contribsys.com/"}
		}
	},
	// What their patterns do not say of the text around.
	"facebook-access-token": hits(func(s *samples.Source) []string {
		return []string{"facebook: " + s.Text(samples.Digits, 15) + "|" + s.Text(samples.Alnum, 30)}
	}),
	"generic-api-key": hits(func(s *samples.Source) []string {
		return []string{"signing_" + "key = " + s.Text(samples.Digits+"zxvw", 32)}
	}),
	"sourcegraph-access-token": hits(func(s *samples.Source) []string {
		return []string{"sourcegraph " + s.Text(samples.Hex, 40)}
	}),
	"nytimes-access-token": hits(func(s *samples.Source) []string {
		return []string{"nytimes_token = " + s.Text(samples.Alnum, 32)}
	}),
	"slack-config-access-token": keywords("xoxe"),
	"slack-webhook-url":         keywords("hooks"),
	// The vendor's name begins every match, the words given do not.
	"lob-api-key":     keywords("lob"),
	"lob-pub-api-key": keywords("lob"),
	// The value of the other key types stands 90 bytes after the beginning.
	"openai-api-key": keywords("sk-", "t3blbkfj"),
	// Their boundaries, written otherwise than those of the other rules.
	"azure-ad-client-secret": withBoundaries(`[a-zA-Z0-9_~.]{3}\dQ~[a-zA-Z0-9_~.-]{31,34}`),
	"openshift-user-token":   withBoundaries(`sha256~[\w-]{43}`),
	// A command ends; a document does not.
	"curl-auth-header": reach(1500),
	"curl-auth-user":   reach(1500),
	// The longest keys in use, RSA of 16,384 bits, have 13,000 bytes.
	"private-key": reach(20_000),
}

func keywords(words ...string) func(*Rule) {
	return func(r *Rule) { r.Keywords = words }
}

func withBoundaries(expression string) func(*Rule) {
	return func(r *Rule) { r.Pattern = `\b` + expression + `\b` }
}

func hits(made func(*samples.Source) []string) func(*Rule) {
	return func(r *Rule) { r.Hits = made }
}

func reach(n int) func(*Rule) {
	return func(r *Rule) { r.Reach = n }
}

// exceptions turns what a rule of gitleaks lets pass into filters, but for what
// depends on a name or a commit.
func exceptions(theirs config.Rule) ([]Filter, error) {
	var filters []Filter
	for i, list := range theirs.Allowlists {
		narrowed := withoutPlaces(list)
		if narrowed == nil {
			continue
		}
		if err := narrowed.Validate(); err != nil {
			return nil, err
		}
		filters = append(filters, Filter{
			Name: fmt.Sprintf("gitleaks-%s-%d", theirs.RuleID, i),
			Keep: func(m Match) bool { return !lets(narrowed, m) },
		})
	}
	return filters, nil
}

// withoutPlaces returns list without its paths and commits, nil when nothing of
// it may stay. A list that wants a path as well as a word is dropped: without
// its path it would let pass more than before.
func withoutPlaces(list *config.Allowlist) *config.Allowlist {
	placed := len(list.Paths) > 0 || len(list.Commits) > 0
	if placed && list.MatchCondition == config.AllowlistMatchAnd {
		return nil
	}
	if len(list.Regexes) == 0 && len(list.StopWords) == 0 {
		return nil
	}
	return &config.Allowlist{
		Description:    list.Description,
		MatchCondition: list.MatchCondition,
		RegexTarget:    list.RegexTarget,
		Regexes:        slices.Clone[[]*regexp.Regexp](list.Regexes),
		StopWords:      slices.Clone(list.StopWords),
	}
}

// lets reports whether a list lets a match pass.
func lets(list *config.Allowlist, m Match) bool {
	target := m.Secret()
	switch list.RegexTarget {
	case "match":
		target = m.identifier()
	case "line":
		target = m.Line()
	}
	regex := list.RegexAllowed(target)
	word, _ := list.ContainsStopWord(m.Secret())
	if list.MatchCondition == config.AllowlistMatchAnd {
		return (regex || len(list.Regexes) == 0) && (word || len(list.StopWords) == 0)
	}
	return regex || word
}

// identifier returns the match with the rest of the identifier before it, which
// gitleaks' own patterns take in.
func (m Match) identifier() string {
	const most = 50
	from := m.Start
	for from > 0 && m.Start-from < most && isIdentifier(m.Text[from-1]) {
		from--
	}
	return m.Text[from:m.End]
}

func isIdentifier(c byte) bool {
	return c == '_' || c == '.' || c == '-' || isAlnum(c)
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
