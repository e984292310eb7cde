package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	teamsync "github.com/teammem/teammemd/sync"
)

// TestF21NewTokenIsTriedOnce: each token that could count is tried once, and only
// where one is needed.
func TestF21NewTokenIsTriedOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	source := tokens{root: config.Root{ID: "one", TokenFile: file}}
	tried := make(map[string]api.Checksum)
	out := fmt.Errorf("looking: %w", api.ErrSignedOut)
	steps := []struct {
		what string
		file string // "-" for none
		err  error
		want bool
	}{
		{"in step", "a-token", nil, false},
		{"refused: it may be a new one already", "a-token", out, true},
		{"refused again", "a-token", out, false},
		{"offline meanwhile", "b-token", api.ErrOffline, false},
		{"a new one", "b-token", out, true},
		{"refused too", "b-token", out, false},
		{"the file is gone", "-", fmt.Errorf("reading: %w", api.ErrConfig), false},
		{"it is back, with the token that did not count", "b-token", out, false},
		{"and with a third", "c-token", fmt.Errorf("reading: %w", api.ErrConfig), true},
		{"in step again", "c-token", nil, false},
		{"revoked and the same: one try", "c-token", out, true},
	}
	for _, step := range steps {
		if step.file == "-" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(file, []byte(step.file+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := hasNewToken(teamsync.Report{Err: step.err}, source, "one", tried); got != step.want {
			t.Errorf("%s: %v, want %v", step.what, got, step.want)
		}
	}
}
