package main

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	teamsync "github.com/teammem/teammemd/sync"
)

func TestExitOf(t *testing.T) {
	held, conflicts := control.List[control.Held]{{Key: "a.md"}}, control.List[control.Conflict]{{ID: "1"}}
	tests := []struct {
		name   string
		report control.RootReport
		want   int
	}{
		{"in sync", control.RootReport{State: "in-sync"}, api.ExitOK},
		{"held", control.RootReport{State: "in-sync", Held: held}, api.ExitHeld},
		{"conflict", control.RootReport{State: "in-sync", Conflicts: conflicts}, api.ExitHeld},
		{"pending", control.RootReport{State: "pending", Pending: 1}, api.ExitTempFail},
		{"pending and held", control.RootReport{State: "pending", Pending: 1, Held: held}, api.ExitTempFail},
		{"an edit during the cycle", control.RootReport{State: "in-sync", Pending: 1}, api.ExitOK},
		{"offline and held", control.RootReport{State: "offline", Code: api.ExitTempFail, Held: held}, api.ExitTempFail},
		{"no access and held", control.RootReport{State: "no-access", Code: api.ExitNoAccess, Pending: 1, Held: held}, api.ExitNoAccess},
		{"signed out", control.RootReport{State: "signed-out", Code: api.ExitSignIn, Conflicts: conflicts}, api.ExitSignIn},
		{"faulty", control.RootReport{State: "halted", Code: api.ExitConfig, Held: held}, api.ExitConfig},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := exitOf(tt.report); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

func TestMovedSince(t *testing.T) {
	// The daemon's own cycle sent 3 before the one that was asked for found 5 equal.
	got := movedSince(control.RootReport{Sent: 1, Unchanged: 5, Total: control.Moved{Sent: 10, Received: 2}}, control.Moved{Sent: 6, Received: 2})
	if got.Sent != 4 || got.Received != 0 || got.Unchanged != 2 {
		t.Errorf("sent %d, received %d, unchanged %d", got.Sent, got.Received, got.Unchanged)
	}
}

// TestEveryReasonHasAFix walks the reasons for which a file can be held.
func TestEveryReasonHasAFix(t *testing.T) {
	for _, reason := range []api.Reason{
		api.HeldSecret, api.HeldSecretOnServer, api.HeldTooLarge, api.HeldEmpty, api.HeldNotText, api.HeldBadName,
		api.HeldCaseTwin, api.HeldLink, api.HeldUnreadable, api.HeldPrivateType, api.HeldForgottenOnServer, api.HeldRedacted,
		api.HeldRefusedByServer, api.HeldUnstable,
	} {
		if fixFor(teamsync.Held{Path: "a.md", Reason: reason}) == "" {
			t.Errorf("%s has no fix", reason)
		}
	}
}

func TestPrintHeld(t *testing.T) {
	for want, held := range map[string]control.Held{
		"held  a.md:3  r  ->  f\n":                            {Key: "a.md", Line: 3, Rule: "r", Reason: string(api.HeldSecret), Fix: "f"},
		"held  a.md:3  r  ->  f  (and 2 more in this file)\n": {Key: "a.md", Line: 3, Rule: "r", Reason: string(api.HeldSecret), Fix: "f", More: 2},
		"held  <r>.md  r  ->  f\n":                            {Key: "<r>.md", Rule: "r", Reason: string(api.HeldSecret), Fix: "f"},
		"held  a.md:1  r (refused-by-server)  ->  f\n":        {Key: "a.md", Line: 1, Rule: "r", Reason: "refused-by-server", Fix: "f"},
		"held  a.md  too-large: 251000 bytes  ->  split it\n": {Key: "a.md", Reason: "too-large", Detail: "251000 bytes", Fix: "split it"},
	} {
		var out bytes.Buffer
		newApp(nil, &out, nil, nil).printHeld(held)
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}

func TestManyHeldFilesAreCounted(t *testing.T) {
	var report control.RootReport
	for range maxShown + 2 {
		report.Held = append(report.Held, control.Held{Key: "a.md"})
		report.Conflicts = append(report.Conflicts, control.Conflict{ID: "x"})
	}
	var out bytes.Buffer
	a := newApp(nil, &out, nil, nil)
	a.printNotes("", report)
	if got := strings.Count(out.String(), "\n"); got != 2*(maxShown+1) || !strings.Contains(out.String(), "held  2 more; ") || !strings.Contains(out.String(), "conflict  2 more; ") {
		t.Errorf("%d lines:\n%s", got, out.String())
	}
	out.Reset()
	a.verbose = true
	a.printNotes("", report)
	if got := strings.Count(out.String(), "\n"); got != 2*(maxShown+2) {
		t.Errorf("%d lines with --verbose", got)
	}
}

func TestSummarise(t *testing.T) {
	root := func(state, server string) control.RootStatus {
		return control.RootStatus{RootReport: control.RootReport{State: state, Server: server}}
	}
	for _, tt := range []struct {
		name          string
		roots         []control.RootStatus
		state, server string
	}{
		{"none", nil, "in-sync", ""},
		{"one", []control.RootStatus{root("offline", "u")}, "offline", "u"},
		{"the worst", []control.RootStatus{root("in-sync", "u"), root("no-access", "u"), root("pending", "u")}, "no-access", "u"},
		{"two servers", []control.RootStatus{root("in-sync", "u"), root("in-sync", "v")}, "in-sync", ""},
		{"one cannot be opened", []control.RootStatus{
			root("in-sync", "u"), faultStatus(rootFault{config.Root{Server: "u"}, api.ErrConfig}),
		}, "halted", "u"},
		{"another process is at it", []control.RootStatus{faultStatus(rootFault{config.Root{Server: "u"}, api.ErrAlreadyRunning})}, "syncing", "u"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status := control.Status{Roots: tt.roots}
			summarise(&status)
			if status.State != tt.state || status.Server != tt.server {
				t.Errorf("%s at %q, want %s at %q", status.State, status.Server, tt.state, tt.server)
			}
		})
	}
}

func TestWordsForPeople(t *testing.T) {
	now := time.Now()
	for want, got := range map[string]string{
		"0 files":  count(0, "file"),
		"1 file":   count(1, "file"),
		"":         plural(0, ", %d held"),
		", 2 held": plural(2, ", %d held"),
		"never":    ago(time.Time{}),
		"5s ago":   ago(now.Add(-5500 * time.Millisecond)),
		"3m0s ago": ago(now.Add(-200 * time.Second)),
		now.AddDate(0, 0, -9).Format(time.DateOnly): ago(now.AddDate(0, 0, -9)),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for url, want := range map[string]bool{
		"http://127.0.0.1:8787": true, "http://[::1]:1": true, "http://localhost": true, "http://127.9.9.9": true,
		"https://memory.example.com": false, "http://10.0.0.1:8787": false, "::": false,
	} {
		if got := isLoopback(url); got != want {
			t.Errorf("%s: %v", url, got)
		}
	}
}

// TestChildError: a detached process that could not start is quoted, with its code.
func TestChildError(t *testing.T) {
	log := write(t, t.TempDir(), "log", "teammemd: a note\n{\"level\":\"INFO\"}\nteammemd: already running: it\nhint: stop it\n")
	ended := exec.CommandContext(t.Context(), "teammemd", "frob").Run()
	err := childError(ended, log)
	if got := api.ExitCode(err); got != api.ExitUsage {
		t.Errorf("exit code %d", got)
	}
	var hint interface{ Hint() string }
	if err.Error() != "already running: it" || !errors.As(err, &hint) || hint.Hint() != "stop it" {
		t.Errorf("%v", err)
	}
	silent := childError(ended, write(t, t.TempDir(), "log", ""))
	if !strings.Contains(silent.Error(), "ended at once; see ") {
		t.Errorf("%v", silent)
	}
}

func TestChildArgs(t *testing.T) {
	o := upOptions{listen: "127.0.0.1:0", registration: registration{path: "-odd", repo: "a/b", teamDir: "t"}}
	want := []string{"up", "--silent-child", "--listen", "127.0.0.1:0", "--repo", "a/b", "--team-dir", "t", "--", "-odd"}
	if diff := cmp.Diff(want, o.childArgs()); diff != "" {
		t.Error(diff)
	}
}
