package rules

import (
	"regexp"
	"strings"

	"github.com/teammem/teammemd/scanner/samples"
)

// prefixes belong to one vendor each, and no word begins with them. The rules of
// the vendors know how their tokens go on today.
var prefixes = strings.Fields(`
	AGE-SECRET-KEY-1 AQ.Ab ATATT3 ATBB ATCTT3 BBDC- CCIPAT_ CCIPRJ_ CFPAT- CLOJARS_ EAACEdEose0cBA FLWSECK- FLWSECK_TEST- GOCSPX- GR1348941 HRKU-
	KGAT_ NRAK- NRII- PMAK- PMAT- access_token$production$ access_token$sandbox$ api_org_ apify_api_ bkua_ cfut_ crsr_ dckr_oat_ dckr_pat_ doo_v1_
	dop_v1_ dor_v1_ dp.ct. dp.pt. dp.sa. dp.st. dt0c01. dt0s01. duffel_live_ duffel_test_ e2b_ esecret_ figd_ gho_ ghp_ ghr_ ghs_ ghu_ github_pat_
	glagent- glcbt- glc_ gldt- glffct- glft- glimt- gloas- glpat- glptt- glrt- glsa_ glsoat- gsk_ hcaik_ hf_ hvb. hvs. jina_ lin_api_ lin_oauth_ lsv2_pt_
	lsv2_sk_ mdb_sa_sk_ mlsn. napi_ nbp_ nfp_ npg_ npm_ ntn_ nvapi- os_v2_ packagist_ pcsk_ phx_ pnb_ pnu_ pplx- pscale_oauth_ pscale_pw_ pscale_tkn_
	pul- pypi-AgE rdme_ rk_live_ rnd_ rubygems_ rzp_live_ sb_secret_ sbp_ secret-live- sgp_ shippo_live_ shpat_ shpca_ shppa_ shpss_ sk-admin- sk-ant-
	sk-lf- sk-or-v1- sk-proj- sk-svcacct- sk_live_ sktsec_ sntrys_ sntryu_ snyk_uat. sq0atp- sq0csp- sqa_ sqp_ squ_ syt_ tfp_ tgp_v1_ tk-us- tskey- tvly-
	vca_ vcp_ vercel_blob_rw_ whsec_ xai- xapp- xkeysib- xnd_production_ xoxa- xoxb- xoxc- xoxd- xoxe- xoxp- xoxs- xsmtpsib-
`)

// vendorsOther has the rule that outlives a change of a vendor's format.
var vendorsOther = []Rule{
	{
		ID: "tm-known-prefix", Tier: Block1, Title: "Token with the beginning of a known vendor's", Vague: true,
		Reason:   "A token that begins like those of a known service opens what it was made for.",
		Keywords: lowered(prefixes), Pattern: "(?:" + alternatives(prefixes) + ")[A-Za-z0-9_-]{16,400}", Alphabet: `\w-`,
		Filters: []Filter{notPlaceholder, randomTail},
		Hits: func(s *samples.Source) []string {
			return []string{"gh" + "p_" + s.Text(samples.Alnum, 24), "pc" + "sk_" + s.Text(samples.Hex, 40)}
		},
		Misses: func(s *samples.Source) []string {
			return []string{"npm_config_registry_and_scope", "gh" + "p_" + s.Text(samples.Alnum, 12), "sk-ant-the-key-of-the-team"}
		},
	},
}

// randomTail keeps a token that goes on at random after its prefix.
var randomTail = Filter{Name: "random-tail-1", Keep: func(m Match) bool {
	secret := m.Secret()
	for _, prefix := range prefixes {
		if tail, ok := strings.CutPrefix(secret, prefix); ok {
			return isRandom(tail)
		}
	}
	return false
}}

// alternatives is a pattern for any of words.
func alternatives(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = regexp.QuoteMeta(word)
	}
	return strings.Join(quoted, "|")
}
