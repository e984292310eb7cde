package scanner

// structures are the rules that find a secret by what stands around it, not by
// the shape of one vendor's token.
var structures = map[string]bool{
	"curl-auth-header":       true,
	"curl-auth-user":         true,
	"hashicorp-tf-password":  true,
	"jwt":                    true,
	"jwt-base64":             true,
	"kubernetes-secret-yaml": true,
	"nuget-config-password":  true,
	"pkcs12-file":            true,
	"private-key":            true,
	"sidekiq-sensitive-url":  true,
}

// guesses are the rules that find anything random beside a suspicious word.
var guesses = map[string]bool{
	"generic-api-key": true,
}

// tierOf returns the tier of a rule.
func tierOf(id string) Tier {
	switch {
	case guesses[id]:
		return Block3
	case structures[id]:
		return Block2
	}
	return Block1
}
