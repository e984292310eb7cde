package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

func TestSignIn(t *testing.T) {
	tests := []struct {
		name, file string
		want       []string // of each problem, a part
	}{
		{"nothing", "[sign_in]\nlocal = false", nil},
		{"all of it", `
[sign_in]
url = "https://memory.example.com"
[sign_in.forge]
kind = "github"
client_id = "Iv1"
[sign_in.oidc]
issuer = "https://id.example.com/realm"
client_id = "teammemd"
[sign_in.exchange]
policies = ["repository=acme/* -> {repository}"]`, nil},
		{"loopback", "[sign_in]\nurl = \"http://127.0.0.1:8787\"\n[sign_in.forge]\nkind = \"gitea\"\nurl = \"http://[::1]:3000\"\nclient_id = \"x\"", nil},
		{"a path", "[sign_in]\nurl = \"https://example.com/memory\"", []string{"sign_in.url"}},
		{"in the clear", "[sign_in]\nurl = \"http://example.com\"", []string{"in the clear"}},
		{"an unknown kind", "[sign_in.forge]\nkind = \"svn\"", []string{"forge.kind"}},
		{"gitea without its url", "[sign_in]\nurl = \"https://m.example\"\n[sign_in.forge]\nkind = \"gitea\"\nclient_id = \"x\"", []string{"gitea needs forge.url"}},
		{"no client", "[sign_in]\nurl = \"https://m.example\"\n[sign_in.forge]\nkind = \"github\"\n[sign_in.oidc]\nissuer = \"https://i.example\"", []string{"forge.client_id", "oidc.client_id"}},
		{"no url", "[sign_in.forge]\nkind = \"github\"\nclient_id = \"x\"\n[sign_in.oidc]\nissuer = \"https://i.example\"\nclient_id = \"x\"", []string{"forge sends", "provider sends"}},
		{"issuers in the clear", "[sign_in]\nurl = \"https://m.example\"\n[sign_in.oidc]\nissuer = \"http://i.example\"\n[sign_in.exchange]\nissuer = \"http://j.example\"\npolicies = [\"a=b -> *\"]", []string{"oidc.issuer", "exchange.issuer"}},
		{"no audience", "[sign_in.exchange]\npolicies = [\"a=b -> *\"]", []string{"exchange.audience"}},
		{"a secret in the file", "[sign_in.forge]\nclient_secret = \"x\"", []string{"does not belong into a file"}},
	}
	for _, tt := range tests {
		_, err := config.LoadServer(config.Input{File: write(t, filepath.Join(t.TempDir(), "s.toml"), tt.file), Required: true})
		if len(tt.want) == 0 {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		var problems config.ProblemErrors
		if !errors.As(err, &problems) || len(problems) != len(tt.want) || !errors.Is(err, api.ErrConfig) {
			t.Errorf("%s: %v, want %d problems", tt.name, err, len(tt.want))
			continue
		}
		for i, part := range tt.want {
			if !strings.Contains(problems[i].Text, part) {
				t.Errorf("%s: problem %d is %q, want %q in it", tt.name, i, problems[i].Text, part)
			}
		}
	}
}

// TestSignInSecrets: a secret comes from a file that a key or a variable names,
// or from a variable, and is never shown.
func TestSignInSecrets(t *testing.T) {
	secret := strings.Join([]string{"not", "a", "real", "one"}, "-")
	file := write(t, filepath.Join(t.TempDir(), "secret"), secret+"\n")
	for name, vars := range map[string]map[string]string{
		"variable": {"TEAMMEMD_SERVER_SIGN_IN_FORGE_CLIENT_SECRET": secret},
		"file":     {"TEAMMEMD_SERVER_SIGN_IN_FORGE_CLIENT_SECRET_FILE": file},
	} {
		got, err := config.LoadServer(config.Input{Getenv: env(vars)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if value, err := got.Config.SignIn.Forge.Secret(); value != secret || err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var shown strings.Builder
		if err := got.Show(&shown); err != nil || strings.Contains(shown.String(), secret) {
			t.Errorf("%s: the secret is shown, %v", name, err)
		}
	}
	if _, err := (config.OIDC{ClientSecretFile: file + ".missing"}).Secret(); err == nil {
		t.Error("a file that is missing gives a secret")
	}
}
