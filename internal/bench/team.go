package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/teammem/teammemd/internal/control"
)

// startWithin bounds how long the daemons may take to answer.
const startWithin = 15 * time.Second

// teamRepo is what the measured machines share.
const teamRepo = "bench/race"

// team is two machines of a team and their server: the measured program, as
// three processes.
type team struct {
	o Options

	server *process
	sides  [2]teamSide
	seen   map[string]bool // ids of copies that were listed
}

// teamSide is one of the two machines.
type teamSide struct {
	host
	daemon *process
	client Client
}

func newTeam(o Options) *team {
	return &team{o: o, seen: make(map[string]bool)}
}

func (t *team) name() string { return "teammemd" }

func (t *team) dirs() [2]string { return [2]string{t.sides[0].teamDir(), t.sides[1].teamDir()} }

func (t *team) begin(ctx context.Context, r *rig) error {
	url, token, err := t.beginServer(ctx, r)
	if err != nil {
		return err
	}
	for i, name := range []string{"ada", "ben"} {
		h, err := r.host(name)
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
func (t *team) beginServer(ctx context.Context, r *rig) (url, token string, err error) {
	h, err := r.host("server")
	if err != nil {
		return "", "", err
	}
	data, first := filepath.Join(h.dir, "data"), newFirstLine()
	listening := first.line
	if t.server, err = h.start(ctx, first, t.o.Program, "server", "--listen", "127.0.0.1:0", "--data", data); err != nil {
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
	out, err := h.run(ctx, t.o.Program, "server", "token", "create", "--name", "bench", "--repo", teamRepo, "--role", "writer", "--data", data)
	return url, lastLine(string(out)), err
}

func (t *team) beginSide(ctx context.Context, s *teamSide, h host, url, token string) error {
	s.host = h
	files := map[string]string{
		filepath.Join(h.xdg("config"), "teammemd", "config.toml"): fmt.Sprintf("debounce = %q\n", t.o.Debounce),
		filepath.Join(h.dir, "token"):                             token + "\n",
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return fmt.Errorf("setting up: %w", err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return fmt.Errorf("setting up: %w", err)
		}
	}
	_, err := h.run(ctx, t.o.Program, "init", "--server", url, "--token-file", filepath.Join(h.dir, "token"), "--repo", teamRepo, "--team-dir", h.teamDir(), "--yes")
	if err != nil {
		return err
	}
	if s.client, err = t.o.Client(h.getenv); err != nil {
		return err
	}
	s.daemon, err = h.start(ctx, nil, t.o.Program, "daemon")
	return err
}

// settled is true when both daemons say "in sync" at the same version, and have
// had the time to hear of every edit.
func (t *team) settled(ctx context.Context, still time.Duration) (bool, error) {
	if still < t.o.Debounce+500*time.Millisecond {
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
	status, err := s.client.Status(ctx)
	if err != nil || len(status.Roots) != 1 {
		return control.RootStatus{}, err
	}
	return status.Roots[0], nil
}

func (t *team) saved(ctx context.Context) ([]savedCopy, error) {
	var all []savedCopy
	for i, s := range t.sides {
		out, err := s.run(ctx, t.o.Program, "conflicts", "list", "--json")
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
			text, err := s.run(ctx, t.o.Program, "conflicts", "show", c.ID)
			if err != nil {
				return nil, err
			}
			all = append(all, savedCopy{side: i, id: c.ID, key: c.Key, text: string(text)})
		}
	}
	return all, nil
}

func (t *team) restore(ctx context.Context, c savedCopy) error {
	_, err := t.sides[c.side].run(ctx, t.o.Program, "conflicts", "restore", c.id)
	return err
}
