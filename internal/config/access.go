package config

import (
	"strings"
	"unicode/utf8"
)

// Access says where it is looked up what signed-in people may do in a repo.
type Access struct {
	// PolicyFile has rules about people and repos; empty: none.
	PolicyFile string `toml:"policy_file"`
	// Forge is auto or none: whether the forge that people sign in with says what
	// they may in its repositories.
	Forge string `toml:"forge"`
	// RepoHost is what the names of the forge's repos begin with; empty: the host
	// of its URL.
	RepoHost string `toml:"repo_host"`
	// PublicReaders lets everyone who signs in read the memory of public
	// repositories.
	PublicReaders bool `toml:"public_readers"`
	// WebhookSecretFile holds the secret of the forge's webhooks; empty: none are
	// taken.
	WebhookSecretFile string `toml:"webhook_secret_file"`
}

// The values of [Access.Forge].
const (
	ForgeAuto = "auto"
	ForgeNone = "none"
)

func accessDefaults() Access { return Access{Forge: ForgeAuto} }

// minWebhookSecret is the shortest secret, in bytes: short ones can be guessed
// from one message.
const minWebhookSecret = 16

// WebhookSecret returns the secret of webhooks, "" for none.
func (a Access) WebhookSecret() (string, error) {
	if a.WebhookSecretFile == "" {
		return "", nil
	}
	return readSmall(a.WebhookSecretFile)
}

func (a Access) faults() []fault {
	var out []fault
	bad := func(key, text string) { out = append(out, fault{"access." + key, text}) }
	if a.Forge != ForgeAuto && a.Forge != ForgeNone {
		bad("forge", "it must be auto or none")
	}
	if strings.ContainsAny(a.RepoHost, "/ \t") {
		bad("repo_host", "it must be a host, such as git.example.com")
	}
	secret, err := a.WebhookSecret()
	switch {
	case err != nil:
		bad("webhook_secret_file", "the file cannot be read")
	case a.WebhookSecretFile != "" && (len(secret) < minWebhookSecret || !utf8.ValidString(secret)):
		bad("webhook_secret_file", "the secret in it needs at least 16 characters")
	}
	return out
}
