package bench

import (
	"context"
	"encoding/xml"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// syncthing is two instances of Syncthing that know each other alone: no
// discovery, no relays, no port mapping, no reports, no upgrades, no web page,
// loopback only, and homes of their own.
type syncthing struct {
	program string
	delay   int // seconds from an event to the scan; 10 as it comes
	most    int // trials of the latency
	sides   [2]syncthingSide
}

type syncthingSide struct {
	host
	process *process
	id      string // of the device
	port    int
}

func (s *syncthing) name() string {
	if s.delay == 10 {
		return "syncthing, as it comes"
	}
	return fmt.Sprintf("syncthing, fsWatcherDelayS %d", s.delay)
}

func (s *syncthing) dirs() [2]string { return [2]string{s.sides[0].teamDir(), s.sides[1].teamDir()} }

func (s *syncthing) mostTrials() int { return s.most }

func (s *syncthing) begin(ctx context.Context, r *rig) error {
	for i, name := range []string{"ada", "ben"} {
		side := &s.sides[i]
		var err error
		if side.host, err = r.host(name); err != nil {
			return err
		}
		if _, err = side.run(ctx, s.program, "generate", "--home="+side.home()); err != nil {
			return err
		}
		out, err := side.run(ctx, s.program, "serve", "--home="+side.home(), "--device-id")
		if err != nil {
			return err
		}
		side.id = strings.TrimSpace(string(out))
		if side.port, err = freePort(ctx); err != nil {
			return err
		}
	}
	for i := range s.sides {
		if err := s.configure(&s.sides[i]); err != nil {
			return err
		}
		if err := s.start(ctx, &s.sides[i]); err != nil {
			return err
		}
	}
	return s.meet(ctx)
}

func (side *syncthingSide) home() string { return filepath.Join(side.dir, "syncthing") }

// start runs one instance as a single process.
func (s *syncthing) start(ctx context.Context, side *syncthingSide) error {
	var err error
	side.process, err = side.host.start(ctx, nil, s.program, "serve", "--home="+side.home(), "--no-browser", "--no-restart", "--no-upgrade")
	return err
}

// meet waits until the two talk to each other, by a file that one of them has.
func (s *syncthing) meet(ctx context.Context) error {
	const greeting = "hello\n"
	from, to := filepath.Join(s.sides[0].teamDir(), "hello.md"), filepath.Join(s.sides[1].teamDir(), "hello.md")
	if err := os.WriteFile(from, []byte(greeting), 0o600); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	if err := awaitText(ctx, to, greeting); err != nil {
		return err
	}
	if err := os.Remove(from); err != nil {
		return fmt.Errorf("removing: %w", err)
	}
	return until(ctx, waitLimit, 10*time.Millisecond, "a removal to arrive", func() (bool, error) {
		_, err := os.Lstat(to)
		return os.IsNotExist(err), nil
	})
}

// settled waits for longer than two delays: what was found in one scan may make
// the other side scan again.
func (s *syncthing) settled(_ context.Context, still time.Duration) (bool, error) {
	for i := range s.sides {
		if err := s.sides[i].process.alive(); err != nil {
			return false, err
		}
	}
	return still >= time.Duration(2*s.delay+3)*time.Second, nil
}

// configure writes the whole configuration of one instance.
func (s *syncthing) configure(side *syncthingSide) error {
	c := stConfig{Version: 35}
	c.Folder = stFolder{
		ID: "bench", Path: side.teamDir(), Type: "sendreceive", Rescan: 3600, Watch: true, Delay: s.delay, Conflicts: 10,
	}
	c.Folder.Free.Unit = "%"
	for _, d := range s.sides {
		c.Folder.Devices = append(c.Folder.Devices, stMember{d.id})
		c.Devices = append(c.Devices, stDevice{d.id, filepath.Base(d.dir), fmt.Sprintf("tcp://127.0.0.1:%d", d.port)})
	}
	c.GUI.Address = "127.0.0.1:0"
	c.Options = stOptions{Listen: fmt.Sprintf("tcp://127.0.0.1:%d", side.port), Reports: -1, Reconnect: 1}
	text, err := xml.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding a configuration: %w", err)
	}
	if err := os.WriteFile(filepath.Join(side.home(), "config.xml"), text, 0o600); err != nil {
		return fmt.Errorf("writing a configuration: %w", err)
	}
	return nil
}

// freePort returns a port of the loopback interface that nobody listens on.
func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port, nil
}
