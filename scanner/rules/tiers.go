package rules

// stockTiers are the tiers of gitleaks' rules, but for those that know the shape
// of one vendor's token, alone or beside the vendor's name: they are [Block1].
var stockTiers = map[string]Tier{
	// Structures: what tells the secret stands around it.
	"curl-auth-header":       Block2,
	"curl-auth-user":         Block2,
	"freemius-secret-key":    Block2,
	"hashicorp-tf-password":  Block2,
	"jwt":                    Block2,
	"jwt-base64":             Block2,
	"kubernetes-secret-yaml": Block2,
	"nuget-config-password":  Block2,
	"pkcs12-file":            Block2,
	"private-key":            Block2,

	// A vendor's name beside a value that may as well be a word or an identifier:
	// it is short, or its alphabet has a hyphen and no fixed part.
	"adafruit-api-key":              Block3,
	"airtable-api-key":              Block3,
	"cloudflare-api-key":            Block3,
	"confluent-access-token":        Block3,
	"contentful-delivery-api-token": Block3,
	"discord-client-secret":         Block3,
	"dropbox-api-token":             Block3,
	"etsy-access-token":             Block3,
	"fastly-api-token":              Block3,
	"finicity-client-secret":        Block3,
	"finnhub-access-token":          Block3,
	"gitter-access-token":           Block3,
	"launchdarkly-access-token":     Block3,
	"linkedin-client-secret":        Block3,
	"looker-client-secret":          Block3,
	"mattermost-access-token":       Block3,
	"messagebird-api-token":         Block3,
	"netlify-access-token":          Block3,
	"nytimes-access-token":          Block3,
	"rapidapi-access-token":         Block3,
	"sonar-api-token":               Block3,
	"travisci-access-token":         Block3,

	// What opens nothing alone or is meant to be seen, and what is a commit as
	// often as a secret.
	"adobe-client-id":             Warn,
	"asana-client-id":             Warn,
	"bitbucket-client-id":         Warn,
	"discord-client-id":           Warn,
	"flutterwave-public-key":      Warn,
	"generic-api-key":             Warn,
	"linkedin-client-id":          Warn,
	"lob-pub-api-key":             Warn,
	"looker-client-id":            Warn,
	"mailgun-pub-key":             Warn,
	"mapbox-api-token":            Warn,
	"messagebird-client-id":       Warn,
	"new-relic-browser-api-token": Warn,
	"new-relic-user-api-id":       Warn,
	"plaid-client-id":             Warn,
	"sendbird-access-id":          Warn,
	"sidekiq-secret":              Warn,
	"sidekiq-sensitive-url":       Warn,
	"sourcegraph-access-token":    Warn,
	"sumologic-access-id":         Warn,
	"twitter-api-key":             Warn,
}

// TierOf returns the tier of one of gitleaks' rules. A rule that is not known
// has the strictest.
func TierOf(id string) Tier {
	if tier, ok := stockTiers[id]; ok {
		return tier
	}
	return Block1
}
