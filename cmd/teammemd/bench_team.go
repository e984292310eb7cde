package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/sync/remote"
)

// benchRepo is what the measured machines share.
const benchRepo = "bench/race"

// theTeam is two machines of a team and their server: this program, as three
// processes.
type theTeam struct {
	debounce time.Duration

	program string
	server  *benchChild
	sides   [2]teamSide
	seen    map[string]bool // ids of copies that were listed
}

// teamSide is one of the two machines.
type teamSide struct {
	house
	daemon  *benchChild
	machine machine
}

func newTeam(debounce time.Duration) *theTeam {
	return &theTeam{debounce: debounce, seen: make(map[string]bool)}
}

func (t *theTeam) name() string { return "teammemd" }

func (t *theTeam) dirs() [2]string { return [2]string{t.sides[0].team(), t.sides[1].team()} }

func (t *theTeam) begin(ctx context.Context, r *rig) error {
	var err error
	if t.program, err = os.Executable(); err != nil {
		return fmt.Errorf("finding the program itself: %w", err)
	}
	url, token, err := t.beginServer(ctx, r)
	if err != nil {
		return err
	}
	for i, name := range []string{"ada", "ben"} {
		h, err := r.house(name)
		if err != nil {
			return err
		}
		if err := t.beginSide(ctx, &t.sides[i], h, url, token); err != nil {
			return err
		}
	}
	return until(ctx, startWithin, 10*time.Millisecond, "the daemons to start", func() (bool, error) { return t.settled(ctx, time.Hour) })
}

// beginServer starts a server on a free port of loopback and returns its URL and
// a token for it.
func (t *theTeam) beginServer(ctx context.Context, r *rig) (url, token string, err error) {
	h, err := r.house("server")
	if err != nil {
		return "", "", err
	}
	data, first := filepath.Join(h.dir, "data"), newFirstLine()
	listening := first.line
	if t.server, err = h.start(ctx, first, t.program, "server", "--listen", "127.0.0.1:0", "--data", data); err != nil {
		return "", "", err
	}
	select {
	case line := <-listening:
		url = strings.TrimPrefix(line, "listening ")
	case <-t.server.done:
		return "", "", t.server.alive()
	case <-ctx.Done():
		return "", "", context.Cause(ctx)
	}
	out, err := h.run(ctx, t.program, "server", "token", "create", "--name", "bench", "--repo", benchRepo, "--role", "writer", "--data", data)
	return url, lastLine(string(out)), err
}

func (t *theTeam) beginSide(ctx context.Context, s *teamSide, h house, url, token string) error {
	s.house = h
	files := map[string]string{
		filepath.Join(h.xdg("config"), appDir, "config.toml"): fmt.Sprintf("debounce = %q\n", t.debounce),
		filepath.Join(h.dir, "token"):                         token + "\n",
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return fmt.Errorf("setting up: %w", err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return fmt.Errorf("setting up: %w", err)
		}
	}
	_, err := h.run(ctx, t.program, "init", "--server", url, "--token-file", filepath.Join(h.dir, "token"), "--repo", benchRepo, "--team-dir", h.team(), "--yes")
	if err != nil {
		return err
	}
	if s.machine, err = (&app{getenv: h.getenv}).machine(); err != nil {
		return err
	}
	s.daemon, err = h.start(ctx, nil, t.program, "daemon")
	return err
}

// settled is true when both daemons say "in sync" at the same version, and have
// had the time to hear of every edit.
func (t *theTeam) settled(ctx context.Context, still time.Duration) (bool, error) {
	if still < t.debounce+500*time.Millisecond {
		return false, t.server.alive()
	}
	var versions [2]uint64
	for i := range t.sides {
		root, err := t.sides[i].report(ctx)
		if errors.Is(err, control.ErrNotRunning) {
			return false, t.sides[i].daemon.alive()
		}
		if err != nil || root.State != "in-sync" || root.Pending > 0 {
			return false, err
		}
		versions[i] = root.Version
	}
	return versions[0] == versions[1], t.server.alive()
}

// report asks the side's daemon.
func (s *teamSide) report(ctx context.Context) (control.RootStatus, error) {
	daemon, err := s.machine.daemon(ctx)
	if err != nil {
		return control.RootStatus{}, err
	}
	status, err := daemon.Status(ctx)
	if err != nil || len(status.Roots) != 1 {
		return control.RootStatus{}, err
	}
	return status.Roots[0], nil
}

func (t *theTeam) kept(ctx context.Context) ([]keptCopy, error) {
	var all []keptCopy
	for i, s := range t.sides {
		out, err := s.run(ctx, t.program, "conflicts", "list", "--json")
		if err != nil {
			return nil, err
		}
		var list struct{ Conflicts []control.Conflict }
		if err := json.Unmarshal(out, &list); err != nil {
			return nil, fmt.Errorf("reading the list of conflicts: %w", err)
		}
		for _, c := range list.Conflicts {
			id := fmt.Sprint(i, c.ID)
			if t.seen[id] {
				continue
			}
			t.seen[id] = true
			text, err := s.run(ctx, t.program, "conflicts", "show", c.ID)
			if err != nil {
				return nil, err
			}
			all = append(all, keptCopy{side: i, id: c.ID, key: c.Key, text: string(text)})
		}
	}
	return all, nil
}

func (t *theTeam) restore(ctx context.Context, c keptCopy) error {
	_, err := t.sides[c.side].run(ctx, t.program, "conflicts", "restore", c.id)
	return err
}

// writer is a third member of the team, who talks to the server alone.
func (t *theTeam) writer() (*remote.Client, error) {
	roots, err := config.LoadRoots(t.sides[0].machine.paths)
	if err != nil {
		return nil, err
	}
	if len(roots) != 1 {
		return nil, fmt.Errorf("%w: %d roots are registered", api.ErrConfig, len(roots))
	}
	return t.sides[0].machine.dial(roots[0])
}

// appDir is our directory in each of the XDG directories.
const appDir = "teammemd"
