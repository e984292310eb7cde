package main

import (
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/statedir"
)

// TestDaemonOutwaitsACommand starts a daemon while another process has its only
// root, as 'status' and 'sync' do for a moment: it waits for that one, and for one
// that keeps the root it does not.
func TestDaemonOutwaitsACommand(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: windows has no SIGTERM")
	}
	home := t.TempDir()
	daemon := func(args ...string) *process {
		p := &process{t: t, cmd: command(t, args...), log: newLines()}
		p.cmd.Env, p.cmd.Dir, p.cmd.Stderr = append(p.cmd.Env, "HOME="+home, "TEAMMEMD_KEYRING=off"), home, p.log
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.kill)
		return p
	}
	registering := daemon("init", ".", "--server", "http://127.0.0.1:1", "--repo", "acme/api", "--team-dir", "team", "--yes")
	if err := registering.cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, registering.log)
	}
	_ = daemon("sync").cmd.Wait() // in vain: there is no server
	dirs, err := filepath.Glob(filepath.Join(home, ".local/state/teammemd/roots/*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%d roots, %v", len(dirs), err)
	}
	state, err := statedir.Open(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := state.Lock(); err != nil {
		t.Fatal(err)
	}

	kept := daemon("daemon")
	if err := kept.cmd.Wait(); err == nil || kept.cmd.ProcessState.ExitCode() != api.ExitTempFail {
		t.Errorf("a root that stays taken: %v: %s", err, kept.log)
	}

	p := daemon("daemon")
	p.log.await(t, "root not started", 1)
	if err := state.Close(); err != nil {
		t.Fatal(err)
	}
	p.log.await(t, "daemon started", 1)
	p.signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with %v: %s", err, p.log)
	}
}
