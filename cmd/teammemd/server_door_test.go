package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/scanner"
)

// TestDoorIsItsOwners: the socket for administrators can be opened by the server's
// user alone, takes the place of one that was left, and goes with the server; where
// there is no room for it the server works without.
func TestDoorIsItsOwners(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of files are not this system's")
	}
	long := filepath.Join(t.TempDir(), "a-directory-whose-name-is-longer-than-what-the-address-of-a-socket-may-have-on-any-system-that-we-know-of-today")
	for name, c := range map[string]struct {
		dir  string
		door bool
	}{"a data directory": {t.TempDir(), true}, "one with a long name": {long, false}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(c.dir, doorFile)
			if c.door {
				if err := os.WriteFile(path, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			e, err := startEmbedded(t.Context(), nil, c.dir, "127.0.0.1:0", scanner.New(scanner.Options{}), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- e.Run(ctx) }()
			err = askDoor(t.Context(), config.Server{Data: c.dir}, "/prune", pruning{Repos: "*"}, &pruned{})
			if (err == nil) != c.door {
				t.Errorf("asked at the door: %v", err)
			}
			st, err := os.Lstat(path)
			if c.door && (err != nil || st.Mode() != os.ModeSocket|0o600) || !c.door && err == nil {
				t.Errorf("the socket is %v, %v", st, err)
			}
			stop()
			if err := <-ended; err != nil {
				t.Errorf("Run = %v", err)
			}
			left, err := filepath.Glob(filepath.Join(c.dir, "*door*"))
			if _, gone := os.Lstat(path); err != nil || len(left) > 0 || gone == nil {
				t.Errorf("after the stop there is %v, %v", left, err)
			}
		})
	}
}
