package systemd_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammemd/systemd"
)

// maxExposure is the highest exposure of the server's unit, in tenths: 1.5 of 10.
const maxExposure = "15"

// analyze runs systemd-analyze on a unit that it writes to a folder of its own.
func analyze(t *testing.T, name, unit string, arguments ...string) (output string, err error) {
	t.Helper()
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("SKIP: systemd-analyze is missing; install systemd")
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, append(arguments, path)...)
	command.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	said, err := command.CombinedOutput()
	return string(said), err
}

func TestUnitsAreVerified(t *testing.T) {
	for _, tt := range []struct{ name, unit, manager string }{
		{systemd.UserUnitName, systemd.UserUnit, "--user"},
		{systemd.ServerUnitName, systemd.ServerUnit, "--system"},
	} {
		// A warning is on stderr and does not change the exit status.
		if said, err := analyze(t, tt.name, tt.unit, tt.manager, "--man=no", "verify"); err != nil || said != "" {
			t.Errorf("%s: %v\n%s", tt.name, err, said)
		}
		broken := strings.Replace(tt.unit, "[Service]", "[Service]\nNoSuchKey=yes", 1)
		if said, err := analyze(t, tt.name, broken, tt.manager, "--man=no", "verify"); err == nil && said == "" {
			t.Errorf("%s: a key that does not exist passes, so this test proves nothing", tt.name)
		}
	}
}

func TestServerExposure(t *testing.T) {
	said, err := analyze(t, systemd.ServerUnitName, systemd.ServerUnit, "--offline=true", "--threshold="+maxExposure, "--no-pager", "security")
	overall := regexp.MustCompile(`Overall exposure level for \S+ \S+`).FindString(said)
	if err != nil || overall == "" {
		t.Errorf("%v: %s, want at most %s tenths\n%s", err, overall, maxExposure, said)
	}
	t.Log(overall)
	open, _, _ := strings.Cut(systemd.ServerUnit, "DynamicUser=")
	if _, err := analyze(t, systemd.ServerUnitName, open, "--offline=true", "--threshold="+maxExposure, "--no-pager", "security"); err == nil {
		t.Error("a unit without its walls passes, so this test proves nothing")
	}
}

func TestServerCanDoItsWork(t *testing.T) {
	said, err := analyze(t, systemd.ServerUnitName, systemd.ServerUnit, "--offline=true", "--json=short", "--no-pager", "security")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var checks []struct {
		Name string `json:"name"`
		Set  bool   `json:"set"`
	}
	if err := json.Unmarshal([]byte(said), &checks); err != nil {
		t.Fatal(err)
	}
	// What the server needs: to serve, to say that it is ready.
	needs := []string{"PrivateNetwork=", "RestrictAddressFamilies=~AF_UNIX", "RestrictAddressFamilies=~AF_(INET|INET6)"}
	seen := 0
	for _, check := range checks {
		if !slices.Contains(needs, check.Name) {
			continue
		}
		seen++
		if check.Set {
			t.Errorf("%s takes away what the server needs", check.Name)
		}
	}
	if seen != len(needs) {
		t.Errorf("%d of %d checks are in the report", seen, len(needs))
	}
}

// values returns every value of a key in a unit.
func values(unit, key string) []string {
	var found []string
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			found = append(found, value)
		}
	}
	return found
}

func TestUnitsSayWhatTheProgramReliesOn(t *testing.T) {
	for _, tt := range []struct{ unit, key, want string }{
		{systemd.UserUnit, "ExecStart", "/usr/bin/env teammemd daemon"},
		{systemd.UserUnit, "Type", "notify"},
		{systemd.UserUnit, "WatchdogSec", "180"},
		{systemd.UserUnit, "Restart", "on-failure"},
		{systemd.UserUnit, "WantedBy", "default.target"},
		{systemd.ServerUnit, "ExecStart", "/usr/bin/env teammemd server --config /etc/teammemd/server.toml"},
		{systemd.ServerUnit, "Type", "notify"},
		{systemd.ServerUnit, "StateDirectory", "teammemd"},
		{systemd.ServerUnit, "CapabilityBoundingSet", ""},
		{systemd.ServerUnit, "MemoryDenyWriteExecute", "yes"},
		{systemd.ServerUnit, "WantedBy", "multi-user.target"},
	} {
		if got := values(tt.unit, tt.key); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s is %q, want %q once", tt.key, got, tt.want)
		}
	}
	for _, unit := range []string{systemd.UserUnit, systemd.ServerUnit} {
		never := strings.Fields(strings.Join(values(unit, "RestartPreventExitStatus"), " "))
		for _, status := range []string{"2", "77", "78"} {
			if !slices.Contains(never, status) {
				t.Errorf("status %s is tried again", status)
			}
		}
		for _, status := range []string{"1", "75"} {
			if slices.Contains(never, status) {
				t.Errorf("status %s is not tried again", status)
			}
		}
	}
}
