package main

import (
	"context"
	"encoding/xml"
	"fmt"
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
	house
	process *benchChild
	id      string // of the device
	port    int
}

func (s *syncthing) name() string {
	if s.delay == 10 {
		return "syncthing, as it comes"
	}
	return fmt.Sprintf("syncthing, fsWatcherDelayS %d", s.delay)
}

func (s *syncthing) dirs() [2]string { return [2]string{s.sides[0].team(), s.sides[1].team()} }

func (s *syncthing) mostTrials() int { return s.most }

func (s *syncthing) begin(ctx context.Context, r *rig) error {
	for i, name := range []string{"ada", "ben"} {
		side := &s.sides[i]
		var err error
		if side.house, err = r.house(name); err != nil {
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
	side.process, err = side.house.start(ctx, nil, s.program, "serve", "--home="+side.home(), "--no-browser", "--no-restart", "--no-upgrade")
	return err
}

// meet waits until the two talk to each other, by a file that one of them has.
func (s *syncthing) meet(ctx context.Context) error {
	const greeting = "hello\n"
	from, to := filepath.Join(s.sides[0].team(), "hello.md"), filepath.Join(s.sides[1].team(), "hello.md")
	if err := os.WriteFile(from, []byte(greeting), 0o600); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	if err := awaitText(ctx, to, greeting); err != nil {
		return err
	}
	if err := os.Remove(from); err != nil {
		return fmt.Errorf("removing: %w", err)
	}
	return until(ctx, raceLimit, 10*time.Millisecond, "a removal to arrive", func() (bool, error) {
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

// The parts of Syncthing's configuration that are not its defaults. A later
// release reads an earlier version.
type (
	stConfig struct {
		XMLName xml.Name   `xml:"configuration"`
		Version int        `xml:"version,attr"`
		Folder  stFolder   `xml:"folder"`
		Devices []stDevice `xml:"device"`
		GUI     stGUI      `xml:"gui"`
		Options stOptions  `xml:"options"`
	}
	stFolder struct {
		ID      string     `xml:"id,attr"`
		Path    string     `xml:"path,attr"`
		Type    string     `xml:"type,attr"`
		Rescan  int        `xml:"rescanIntervalS,attr"`
		Watch   bool       `xml:"fsWatcherEnabled,attr"`
		Delay   int        `xml:"fsWatcherDelayS,attr"`
		Devices []stMember `xml:"device"`
		Free    struct {
			Unit  string  `xml:"unit,attr"`
			Value float64 `xml:",chardata"`
		} `xml:"minDiskFree"`
		Conflicts int `xml:"maxConflicts"`
	}
	stMember struct {
		ID string `xml:"id,attr"`
	}
	stDevice struct {
		ID      string `xml:"id,attr"`
		Name    string `xml:"name,attr"`
		Address string `xml:"address"`
	}
	stGUI struct {
		Enabled bool   `xml:"enabled,attr"`
		Address string `xml:"address"`
	}
	stOptions struct {
		Listen      string `xml:"listenAddress"`
		GlobalAnn   bool   `xml:"globalAnnounceEnabled"`
		LocalAnn    bool   `xml:"localAnnounceEnabled"`
		Relays      bool   `xml:"relaysEnabled"`
		NAT         bool   `xml:"natEnabled"`
		Stun        int    `xml:"stunKeepaliveStartS"`
		Reports     int    `xml:"urAccepted"`
		Crashes     bool   `xml:"crashReportingEnabled"`
		Upgrade     int    `xml:"autoUpgradeIntervalH"`
		Browser     bool   `xml:"startBrowser"`
		Reconnect   int    `xml:"reconnectionIntervalS"`
		AnnounceLAN bool   `xml:"announceLANAddresses"`
	}
)

// configure writes the whole configuration of one instance.
func (s *syncthing) configure(side *syncthingSide) error {
	c := stConfig{Version: 35}
	c.Folder = stFolder{
		ID: "bench", Path: side.team(), Type: "sendreceive", Rescan: 3600, Watch: true, Delay: s.delay, Conflicts: 10,
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
