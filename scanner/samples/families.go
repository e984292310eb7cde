package samples

import (
	"strings"
)

// families is in the order of the rules. Prefixes are cut, so that this file is
// clean to every scanner.
var families = []Family{
	{"anthropic-admin-api-key", func(s *Source) string { return "sk-" + "ant-" + "admin01-" + s.Text(Word, 93) + "AA" }},
	{"anthropic-api-key", func(s *Source) string { return "sk-" + "ant-" + "api03-" + s.Text(Word, 93) + "AA" }},
	{"aws-access-token", func(s *Source) string { return "AK" + "IA" + s.Text(Upper+"234567", 16) }},
	{"azure-ad-client-secret", func(s *Source) string { return s.Text(Alnum, 3) + "8" + "Q~" + s.Text(Alnum, 34) }},
	{"databricks-api-token", func(s *Source) string { return "da" + "pi" + s.Text(Hex, 32) }},
	{"digitalocean-access-token", func(s *Source) string { return "doo" + "_v1_" + s.Text(Hex, 64) }},
	{"digitalocean-pat", func(s *Source) string { return "dop" + "_v1_" + s.Text(Hex, 64) }},
	{"gcp-api-key", func(s *Source) string { return "AI" + "za" + s.Text(Alnum, 35) }},
	{"github-app-token", func(s *Source) string { return "gh" + "s_" + s.Text(Alnum, 36) }},
	{"github-fine-grained-pat", func(s *Source) string { return "github" + "_pat_" + s.Text(Alnum, 22) + "_" + s.Text(Alnum, 59) }},
	{"github-oauth", func(s *Source) string { return "gh" + "o_" + s.Text(Alnum, 36) }},
	{"github-pat", func(s *Source) string { return "gh" + "p_" + s.Text(Alnum, 36) }},
	{"github-refresh-token", func(s *Source) string { return "gh" + "r_" + s.Text(Alnum, 36) }},
	{"gitlab-deploy-token", func(s *Source) string { return "gl" + "dt-" + s.Text(Alnum, 20) }},
	{"gitlab-pat", func(s *Source) string { return "gl" + "pat-" + s.Text(Alnum, 20) }},
	{"grafana-api-key", func(s *Source) string { return "eyJr" + "Ijoi" + s.Text(Alnum, 88) + "==" }},
	{"grafana-cloud-api-token", func(s *Source) string { return "gl" + "c_" + s.Text(Alnum, 80) }},
	{"grafana-service-account-token", func(s *Source) string { return "gl" + "sa_" + s.Text(Alnum, 32) + "_" + s.Text(Hex, 8) }},
	{"hashicorp-tf-api-token", func(s *Source) string { return s.Text(Alnum, 14) + ".atlas" + "v1." + s.Text(Alnum, 67) }},
	{"huggingface-access-token", func(s *Source) string { return "h" + "f_" + s.Text(Lower+Upper, 34) }},
	{"npm-access-token", func(s *Source) string { return "np" + "m_" + s.Text(Alnum, 36) }},
	{"openai-api-key", func(s *Source) string {
		return "sk-" + "proj-" + s.Text(Word, 74) + "T3Blb" + "kFJ" + s.Text(Alnum, 74)
	}},
	{"postman-api-token", func(s *Source) string { return "PM" + "AK-" + s.Text(Hex, 24) + "-" + s.Text(Hex, 34) }},
	{"private-key", privateKey},
	{"pulumi-api-token", func(s *Source) string { return "pu" + "l-" + s.Text(Hex, 40) }},
	{"pypi-upload-token", func(s *Source) string { return "pypi-" + "AgEI" + "cHlwaS5vcmc" + s.Text(Word, 120) + "A" }},
	{"sendgrid-api-token", func(s *Source) string { return "S" + "G." + s.Text(Alnum, 22) + "." + s.Text(Alnum, 43) }},
	{"sentry-org-token", func(s *Source) string {
		return "sntr" + "ys_" + "eyJpYXQiO" + s.Text(Alnum, 30) + "LCJyZWdpb" + "25fdXJs" + s.Text(Alnum, 60) + "_" + s.Text(Alnum, 43)
	}},
	{"sentry-user-token", func(s *Source) string { return "sntr" + "yu_" + s.Text(Hex, 64) }},
	{"shopify-access-token", func(s *Source) string { return "shp" + "at_" + s.Text(Hex, 32) }},
	{"shopify-shared-secret", func(s *Source) string { return "shp" + "ss_" + s.Text(Hex, 32) }},
	{"slack-app-token", func(s *Source) string {
		return "xa" + "pp-1-A" + s.Text(Digits+Upper, 10) + "-" + s.Text(Digits, 13) + "-" + s.Text(Hex, 64)
	}},
	{"slack-bot-token", func(s *Source) string {
		return "xo" + "xb-" + s.Text(Digits, 12) + "-" + s.Text(Digits, 13) + "-" + s.Text(Alnum, 24)
	}},
	{"slack-user-token", func(s *Source) string {
		return "xo" + "xp-" + strings.Repeat(s.Text(Digits, 12)+"-", 3) + s.Text(Hex, 32)
	}},
	{"stripe-access-token", func(s *Source) string { return "sk" + "_live_" + s.Text(Alnum, 24) }},
	{"twilio-api-key", func(s *Source) string { return "S" + "K" + s.Text(Hex, 32) }},
}

// privateKey returns a block in the armour of PEM whose body is no key.
func privateKey(s *Source) string {
	const armour = "-----"
	title := " " + "PRIV" + "ATE KEY"
	lines := []string{armour + "BEGIN" + title + armour}
	for range 6 {
		lines = append(lines, s.Text(Alnum+"+/", 64))
	}
	lines = append(lines, armour+"END"+title+armour)
	return strings.Join(lines, "\n")
}
