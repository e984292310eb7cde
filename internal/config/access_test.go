package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

func TestAccess(t *testing.T) {
	dir := t.TempDir()
	secret := strings.Repeat("hook", 4)
	file := write(t, filepath.Join(dir, "hook"), secret+"\n")
	got, err := config.LoadServer(config.Input{
		File: write(t, filepath.Join(dir, "s.toml"), "[access]\npolicy_file = \"p.toml\"\nforge = \"none\"\nrepo_host = \"git.example.com\"\npublic_readers = true\n"),
		Getenv: env(map[string]string{
			"TEAMMEMD_SERVER_ACCESS_WEBHOOK_SECRET_FILE": file,
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Access{PolicyFile: "p.toml", Forge: "none", RepoHost: "git.example.com", PublicReaders: true, WebhookSecretFile: file}
	if got.Config.Access != want {
		t.Errorf("loaded %+v, want %+v", got.Config.Access, want)
	}
	if s, err := got.Config.Access.WebhookSecret(); err != nil || s != secret {
		t.Errorf("WebhookSecret = %q, %v", s, err)
	}
	for _, row := range got.Rows() {
		if strings.Contains(row.Value, secret) {
			t.Errorf("%s shows the secret", row.Key)
		}
	}
}

func TestAccessRefused(t *testing.T) {
	dir := t.TempDir()
	short := write(t, filepath.Join(dir, "short"), "short\n")
	for text, want := range map[string]string{
		"forge = \"github\"":                         "access.forge",
		"repo_host = \"https://x\"":                  "access.repo_host",
		"webhook_secret_file = \"" + dir + "/none\"": "access.webhook_secret_file",
		"webhook_secret_file = \"" + short + "\"":    "at least 16",
		"policy = \"x\"":                             "policy",
	} {
		_, err := config.LoadServer(config.Input{File: write(t, filepath.Join(dir, "s.toml"), "[access]\n"+text+"\n")})
		if !errors.Is(err, api.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a complaint about %s", text, err, want)
		}
	}
}
