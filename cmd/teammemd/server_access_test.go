package main

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/scanner"
)

// TestPolicyFileAtStart: a faulty policy file is a faulty configuration, at the
// start and at a reload, which changes nothing then.
func TestPolicyFileAtStart(t *testing.T) {
	dir := t.TempDir()
	faulty := "[[rules]]\nrepos = [\"acme/*\"]\nusers = [\"ada\"]\nrole = \"emperor\"\n"
	c := config.Server{Listen: "127.0.0.1:0", Data: filepath.Join(dir, "data")}.WithDefaults()
	c.Access.PolicyFile = write(t, dir, "policy.toml", faulty)
	start := func() (*embedded, error) {
		return newEmbedded(t.Context(), c, scanner.New(scanner.Options{}), slog.New(slog.DiscardHandler), nil)
	}
	_, err := start()
	if api.ExitCode(err) != api.ExitConfig || !strings.Contains(err.Error(), "emperor") && !strings.Contains(err.Error(), "role is reader") {
		t.Fatalf("a start with a faulty policy: %v", err)
	}
	if !strings.Contains(err.Error(), `"ada"`) {
		t.Errorf("not all problems are reported: %v", err)
	}
	good := strings.NewReplacer("emperor", "reader", `"ada"`, `"ada@local"`).Replace(faulty)
	write(t, dir, "policy.toml", good)
	e, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	write(t, dir, "policy.toml", faulty)
	if waiting, err := e.Reload(t.Context(), c); api.ExitCode(err) != api.ExitConfig {
		t.Errorf("a reload of a faulty policy: %v, %v", waiting, err)
	}
	write(t, dir, "policy.toml", good)
	if waiting, err := e.Reload(t.Context(), c); err != nil || len(waiting) > 0 {
		t.Errorf("a reload of a good policy: %v, %v", waiting, err)
	}
}
