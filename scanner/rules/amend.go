package rules

import (
	"strings"

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
	"generic-api-key": func(r *Rule) {
		r.Vague = true
		r.Hits = func(s *samples.Source) []string {
			return []string{"signing_" + "key = " + s.Text(samples.Digits+"zxvw", 32)}
		}
	},
	"sourcegraph-access-token": hits(func(s *samples.Source) []string {
		return []string{"sourcegraph " + s.Text(samples.Hex, 40)}
	}),
	"nytimes-access-token": hits(func(s *samples.Source) []string {
		return []string{"nytimes_token = " + s.Text(samples.Alnum, 32)}
	}),
	"slack-config-access-token": keywords("xoxe"),
	"slack-webhook-url": func(r *Rule) {
		r.Keywords, r.Filters = []string{"hooks"}, append(r.Filters, LastPart)
	},
	// A function of a game engine begins like a token, without its digits.
	"grafana-cloud-api-token": func(r *Rule) {
		r.Filters = append(r.Filters, Filter{Name: "has-digit-1", Keep: func(m Match) bool {
			return strings.ContainsAny(m.Secret(), samples.Digits)
		}})
	},
	// jwt.io's own token is in every text on the matter.
	"jwt": func(r *Rule) { r.Filters = append(r.Filters, NotPlaceholder, NotNATS) },
	// The vendor's name begins every match, the words given do not.
	"lob-api-key":     keywords("lob"),
	"lob-pub-api-key": keywords("lob"),
	// The value of the other key types stands 90 bytes after the beginning.
	"openai-api-key": keywords("sk-", "t3blbkfj"),
	// Their boundaries, written otherwise than those of the other rules.
	"azure-ad-client-secret": withBoundaries(`[a-zA-Z0-9_~.]{3}\dQ~[a-zA-Z0-9_~.-]{31,34}`),
	"openshift-user-token":   withBoundaries(`sha256~[\w-]{43}`),
	"sentry-org-token": func(r *Rule) {
		withBoundaries(strings.TrimSuffix(strings.TrimPrefix(r.Pattern, `\b`), `(?:[^a-zA-Z0-9+/]|\z)`))(r)
		r.Alphabet = `\w+=` // a slash after it belongs to a path
	},
	// A command ends; a document does not.
	"curl-auth-header": func(r *Rule) {
		r.Reach, r.Filters = 1500, append(r.Filters, HeaderSecret)
		r.Hits = each(holding(`curl -H "Authorization: Bearer `, `" https://a.io`), holding("curl https://a.io --header 'X-Api-Key: ", "'"))
	},
	"curl-auth-user": func(r *Rule) {
		r.Reach, r.Filters = 1500, append(r.Filters, UserPair)
		r.Hits = each(with(`curl https://a.io -u "bill:`, `"`), with("curl --user 'bill:", "' https://a.io"))
	},
	// The longest keys in use, RSA of 16,384 bits, have 13,000 bytes.
	"private-key": func(r *Rule) {
		r.Reach, r.Filters = 20_000, append(r.Filters, KeyInArmour)
		r.Hits = each(between(armour("BEGIN")+"\n", body(64*4), "\n"+armour("END")), between(armour("BEGIN RSA")+`\n`, body(64*3), `\n`+armour("END RSA")))
	},
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
