package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestJournalOf(t *testing.T) {
	t.Parallel()
	for groups, want := range map[string]string{
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/teammemd.service\n": "journalctl --user -u teammemd.service",
		"0::/system.slice/teammemd-of-ci.service\n":                                     "journalctl -u teammemd-of-ci.service",
		"1:name=systemd:/system.slice/x.service\n0::/\n":                                "journalctl -u x.service",
		"0::/user.slice/user-1000.slice/user@1000.service\n":                            userJournal,
		"": userJournal,
	} {
		if got := journalOf(groups); got != want || !journalCommand.MatchString(got) {
			t.Errorf("%q: %q, want %q", groups, got, want)
		}
	}
	for _, bad := range []string{"journalctl", "journalctl -u x; rm", "/var/log/journalctl -u x", "journalctl -u $x"} {
		if journalCommand.MatchString(bad) {
			t.Errorf("%q is taken for a command", bad)
		}
	}
}

func TestLogPlace(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	file := logIn(t, t.TempDir())
	name := filepath.Join(filepath.Dir(file.Name()), "daemon.log") // it was renamed
	if got := logPlace(none, file); got != name {
		t.Errorf("a file: %q, want %q", got, name)
	}
	if got := logPlace(none, newRotatedLog(file, "", 1)); got != name {
		t.Errorf("a rotated log: %q, want %q", got, name)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = read.Close(), write.Close() }()
	if got := logPlace(none, write); got != "" {
		t.Errorf("a pipe: %q", got)
	}
	info, err := write.Stat()
	if err != nil {
		t.Fatal(err)
	}
	at := info.Sys().(*syscall.Stat_t)
	stream := fmt.Sprintf("%d:%d", at.Dev, at.Ino)
	if got := logPlace(func(string) string { return stream }, write); !journalCommand.MatchString(got) {
		t.Errorf("the journal's stream: %q", got)
	}
	if got := logPlace(func(string) string { return "1:2" }, write); got != "" {
		t.Errorf("not the journal's stream: %q", got)
	}
}
