package scanner

import "strings"

// remedy ends every reason.
const remedy = " Replace it by a reference to your vault, and rotate it if it was ever shared."

// subjects says what the most common finds are and what they open. A rule that
// is not here is named after its id.
var subjects = map[string]string{
	"anthropic-admin-api-key":       "An Anthropic admin key that can manage an organisation.",
	"anthropic-api-key":             "An Anthropic key that can spend money.",
	"aws-access-token":              "An AWS access key id, half of a pair that opens a cloud account.",
	"azure-ad-client-secret":        "An Azure client secret that signs an application in.",
	"curl-auth-header":              "A curl command with a credential in its header.",
	"curl-auth-user":                "A curl command with a user and a password.",
	"databricks-api-token":          "A Databricks token that can read and run a workspace.",
	"digitalocean-access-token":     "A DigitalOcean token that opens a cloud account.",
	"digitalocean-pat":              "A DigitalOcean token that opens a cloud account.",
	"gcp-api-key":                   "A Google API key.",
	"generic-api-key":               "A random value beside a word such as key, token or password.",
	"github-app-token":              "A GitHub app token that can read or write repositories.",
	"github-fine-grained-pat":       "A GitHub token that can read or write repositories.",
	"github-oauth":                  "A GitHub OAuth token that can read or write repositories.",
	"github-pat":                    "A GitHub token that can read or write repositories.",
	"github-refresh-token":          "A GitHub refresh token that makes new tokens.",
	"gitlab-deploy-token":           "A GitLab deploy token that can read repositories or registries.",
	"gitlab-pat":                    "A GitLab token that can read or write repositories.",
	"grafana-api-key":               "A Grafana key.",
	"grafana-cloud-api-token":       "A Grafana Cloud token.",
	"grafana-service-account-token": "A Grafana service account token.",
	"hashicorp-tf-api-token":        "A Terraform token that can change infrastructure.",
	"hashicorp-tf-password":         "A password in a Terraform file.",
	"huggingface-access-token":      "A Hugging Face token.",
	"jwt":                           "A signed token (JWT) that may still be valid.",
	"jwt-base64":                    "An encoded signed token (JWT) that may still be valid.",
	"kubernetes-secret-yaml":        "A Kubernetes secret: its values are only encoded, not encrypted.",
	"npm-access-token":              "An npm token that can publish packages.",
	"openai-api-key":                "An OpenAI key that can spend money.",
	"pkcs12-file":                   "A PKCS #12 file, which holds a private key.",
	"postman-api-token":             "A Postman key.",
	"private-key":                   "A private key.",
	"pulumi-api-token":              "A Pulumi token that can change infrastructure.",
	"pypi-upload-token":             "A PyPI token that can publish packages.",
	"sendgrid-api-token":            "A SendGrid key that can send mail in your name.",
	"sentry-org-token":              "A Sentry organisation token.",
	"sentry-user-token":             "A Sentry user token.",
	"shopify-access-token":          "A Shopify token that opens a shop.",
	"shopify-shared-secret":         "A Shopify secret that signs an application's requests.",
	"slack-app-token":               "A Slack app token.",
	"slack-bot-token":               "A Slack bot token that can read and write in a workspace.",
	"slack-user-token":              "A Slack user token that acts as a person.",
	"slack-webhook-url":             "A Slack webhook: whoever has the address can post.",
	"stripe-access-token":           "A Stripe key that can move money.",
	"twilio-api-key":                "A Twilio key that can send messages and spend money.",
}

// spellings are the words of rule ids that are not written as they are spoken.
var spellings = map[string]string{
	"api": "API", "aws": "AWS", "cicd": "CI/CD", "id": "ID", "oauth": "OAuth", "pat": "access token",
	"ptt": "pipeline trigger token", "rrt": "runner registration token", "scim": "SCIM", "tf": "Terraform",
	"url": "URL", "pub": "public", "personnal": "personal",
	"gitlab": "GitLab", "github": "GitHub", "digitalocean": "DigitalOcean", "hashicorp": "HashiCorp",
	"huggingface": "Hugging Face", "jfrog": "JFrog", "linkedin": "LinkedIn", "newrelic": "New Relic",
	"openai": "OpenAI", "openshift": "OpenShift", "planetscale": "PlanetScale", "rubygems": "RubyGems",
	"sumologic": "Sumo Logic", "travisci": "Travis CI", "flyio": "Fly.io", "frameio": "Frame.io", "npm": "npm",
}

// reasonOf returns the sentence that a person sees for a rule.
func reasonOf(id string) string {
	if subject, ok := subjects[id]; ok {
		return subject + remedy
	}
	return "A possible " + titleOf(id) + "." + remedy
}

// titleOf turns a rule's id into words.
func titleOf(id string) string {
	words := strings.Split(id, "-")
	for i, word := range words {
		if spelling, ok := spellings[word]; ok {
			words[i] = spelling
			continue
		}
		if i == 0 && word != "" {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, " ")
}
