//go:build unix

package launchd_test

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// start runs what launchd would run, with a stand-in for the program.
func start(t *testing.T, program string) (command *exec.Cmd, home string) {
	t.Helper()
	home = t.TempDir()
	if program != "" {
		folder := filepath.Join(home, ".local", "bin")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "teammemd"), []byte("#!/bin/sh\n"+program+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var arguments []string
	for _, argument := range agent(t)["ProgramArguments"].Nodes {
		arguments = append(arguments, argument.Text)
	}
	if len(arguments) != 3 {
		t.Fatalf("%d arguments", len(arguments))
	}
	command = exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
	command.Env = []string{"HOME=" + home}
	return command, home
}

func TestAgentTriesAgainOnlyWhatMayMend(t *testing.T) {
	tests := map[string]int{"0": 0, "1": 1, "3": 3, "75": 75, "2": 0, "4": 0, "77": 0, "78": 0}
	for code, want := range tests {
		command, home := start(t, `echo "ran $*"; exit `+code)
		err := command.Run()
		if got := command.ProcessState.ExitCode(); got != want {
			t.Errorf("the program ends with %s: the agent with %d (%v), want %d", code, got, err, want)
		}
		if log, err := os.ReadFile(filepath.Join(home, "Library", "Logs", "teammemd.log")); err != nil || string(log) != "ran daemon\n" {
			t.Errorf("the log says %q, %v", log, err)
		}
	}
}

func TestAgentWithoutProgramDoesNotLoop(t *testing.T) {
	command, _ := start(t, "")
	if slices.ContainsFunc([]string{"/usr/local/bin/teammemd", "/usr/bin/teammemd"}, func(path string) bool { _, err := os.Stat(path); return err == nil }) {
		t.Skip("SKIP: teammemd is installed on this machine")
	}
	if err := command.Run(); err != nil {
		t.Errorf("without the program: %v, want success", err)
	}
}

func TestAgentPassesSignalsOn(t *testing.T) {
	// A shell cannot trap what was ignored when it began, as SIGHUP is for
	// everything below nohup. What is caught here has its default there.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	ready := filepath.Join(t.TempDir(), "ready")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	command, home := start(t, `trap 'echo reloaded >>"$HOME/said"; echo again >'"'"`+ready+`"'"'' HUP
trap 'echo flushed >>"$HOME/said"; exit 0' TERM
echo up >'`+ready+`'
while :; do /bin/sleep 0.05; done`)
	// Open for writing as well, so that the reader meets no end of file
	// between two of the program's messages.
	pipe, err := os.OpenFile(ready, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := pipe.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(pipe)
	wait := func(want string) {
		t.Helper()
		if line, err := lines.ReadString('\n'); err != nil || line != want+"\n" {
			t.Fatalf("the program says %q, %v, want %q", line, err, want)
		}
	}
	wait("up")
	if err := command.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	wait("again")
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("the agent ends with %v, want success", err)
	}
	if said, err := os.ReadFile(filepath.Join(home, "said")); err != nil || string(said) != "reloaded\nflushed\n" {
		t.Errorf("the program was told %q, %v", said, err)
	}
}
