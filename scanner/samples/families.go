package samples

import (
	"strings"
)

// families is in the order of the rules. Prefixes are cut, so that this file is
// clean to every scanner.
var families = []Family{
	{"anthropic-admin-api-key", func(s *source) string { return "sk-" + "ant-" + "admin01-" + s.text(word, 93) + "AA" }},
	{"anthropic-api-key", func(s *source) string { return "sk-" + "ant-" + "api03-" + s.text(word, 93) + "AA" }},
	{"aws-access-token", func(s *source) string { return "AK" + "IA" + s.text(upper+"234567", 16) }},
	{"azure-ad-client-secret", func(s *source) string { return s.text(alnum, 3) + "8" + "Q~" + s.text(alnum, 34) }},
	{"databricks-api-token", func(s *source) string { return "da" + "pi" + s.text(hex, 32) }},
	{"digitalocean-access-token", func(s *source) string { return "doo" + "_v1_" + s.text(hex, 64) }},
	{"digitalocean-pat", func(s *source) string { return "dop" + "_v1_" + s.text(hex, 64) }},
	{"gcp-api-key", func(s *source) string { return "AI" + "za" + s.text(alnum, 35) }},
	{"github-app-token", func(s *source) string { return "gh" + "s_" + s.text(alnum, 36) }},
	{"github-fine-grained-pat", func(s *source) string { return "github" + "_pat_" + s.text(alnum, 22) + "_" + s.text(alnum, 59) }},
	{"github-oauth", func(s *source) string { return "gh" + "o_" + s.text(alnum, 36) }},
	{"github-pat", func(s *source) string { return "gh" + "p_" + s.text(alnum, 36) }},
	{"github-refresh-token", func(s *source) string { return "gh" + "r_" + s.text(alnum, 36) }},
	{"gitlab-deploy-token", func(s *source) string { return "gl" + "dt-" + s.text(alnum, 20) }},
	{"gitlab-pat", func(s *source) string { return "gl" + "pat-" + s.text(alnum, 20) }},
	{"grafana-api-key", func(s *source) string { return "eyJr" + "Ijoi" + s.text(alnum, 88) + "==" }},
	{"grafana-cloud-api-token", func(s *source) string { return "gl" + "c_" + s.text(alnum, 80) }},
	{"grafana-service-account-token", func(s *source) string { return "gl" + "sa_" + s.text(alnum, 32) + "_" + s.text(hex, 8) }},
	{"hashicorp-tf-api-token", func(s *source) string { return s.text(alnum, 14) + ".atlas" + "v1." + s.text(alnum, 67) }},
	{"huggingface-access-token", func(s *source) string { return "h" + "f_" + s.text(lower+upper, 34) }},
	{"npm-access-token", func(s *source) string { return "np" + "m_" + s.text(alnum, 36) }},
	{"openai-api-key", func(s *source) string {
		return "sk-" + "proj-" + s.text(word, 74) + "T3Blb" + "kFJ" + s.text(alnum, 74)
	}},
	{"postman-api-token", func(s *source) string { return "PM" + "AK-" + s.text(hex, 24) + "-" + s.text(hex, 34) }},
	{"private-key", privateKey},
	{"pulumi-api-token", func(s *source) string { return "pu" + "l-" + s.text(hex, 40) }},
	{"pypi-upload-token", func(s *source) string { return "pypi-" + "AgEI" + "cHlwaS5vcmc" + s.text(word, 120) + "A" }},
	{"sendgrid-api-token", func(s *source) string { return "S" + "G." + s.text(alnum, 22) + "." + s.text(alnum, 43) }},
	{"sentry-org-token", func(s *source) string {
		return "sntr" + "ys_" + "eyJpYXQiO" + s.text(alnum, 30) + "LCJyZWdpb" + "25fdXJs" + s.text(alnum, 60) + "_" + s.text(alnum, 43)
	}},
	{"sentry-user-token", func(s *source) string { return "sntr" + "yu_" + s.text(hex, 64) }},
	{"shopify-access-token", func(s *source) string { return "shp" + "at_" + s.text(hex, 32) }},
	{"shopify-shared-secret", func(s *source) string { return "shp" + "ss_" + s.text(hex, 32) }},
	{"slack-app-token", func(s *source) string {
		return "xa" + "pp-1-A" + s.text(digits+upper, 10) + "-" + s.text(digits, 13) + "-" + s.text(hex, 64)
	}},
	{"slack-bot-token", func(s *source) string {
		return "xo" + "xb-" + s.text(digits, 12) + "-" + s.text(digits, 13) + "-" + s.text(alnum, 24)
	}},
	{"slack-user-token", func(s *source) string {
		return "xo" + "xp-" + strings.Repeat(s.text(digits, 12)+"-", 3) + s.text(hex, 32)
	}},
	{"stripe-access-token", func(s *source) string { return "sk" + "_live_" + s.text(alnum, 24) }},
	{"twilio-api-key", func(s *source) string { return "S" + "K" + s.text(hex, 32) }},
}

// privateKey returns a block in the armour of PEM whose body is no key.
func privateKey(s *source) string {
	const armour = "-----"
	title := " " + "PRIV" + "ATE KEY"
	lines := []string{armour + "BEGIN" + title + armour}
	for range 6 {
		lines = append(lines, s.text(alnum+"+/", 64))
	}
	lines = append(lines, armour+"END"+title+armour)
	return strings.Join(lines, "\n")
}
