package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// gitleaks is the module that the library comes from; its top is the command.
const gitleaks = "github.com/zricethezav/gitleaks/v8"

// command scans with gitleaks' own command, built for the purpose, and returns
// the processor time of that process. What it found is thrown away with the
// folder that it worked in.
func command(ctx context.Context, texts []string) (time.Duration, error) {
	dir, err := os.MkdirTemp("", "teammemd-scanprecision-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	bin, notes := filepath.Join(dir, "gitleaks"), filepath.Join(dir, "notes")
	if said, err := exec.CommandContext(ctx, "go", "build", "-o", bin, gitleaks).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building it: %w\n%s", err, said)
	}
	if err := os.Mkdir(notes, 0o700); err != nil {
		return 0, err
	}
	for i, text := range texts {
		if err := os.WriteFile(filepath.Join(notes, fmt.Sprintf("%06d.md", i)), []byte(text), 0o600); err != nil {
			return 0, err
		}
	}
	cmd := exec.CommandContext(ctx, bin, "dir", "--no-banner", "--exit-code", "0", "--redact=100",
		"--report-format", "json", "--report-path", filepath.Join(dir, "report.json"), notes)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GITLEAKS_CONFIG=", "GITLEAKS_CONFIG_TOML=")
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("running it: %w", err)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
