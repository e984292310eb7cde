package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"syscall"
)

// logPlace says where what is written to stream ends up: the path of a file, the
// journalctl command that shows it, or "" where neither can be told.
func logPlace(getenv func(string) string, stream io.Writer) string {
	file, ok := stream.(*os.File)
	if rotated, isLog := stream.(*rotatedLog); isLog {
		file, ok = rotated.file, true
	}
	if !ok {
		return ""
	}
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	if info.Mode().IsRegular() {
		name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
		if err != nil || strings.HasSuffix(name, " (deleted)") {
			return ""
		}
		return name
	}
	// A terminal that the journal's own service started has the variable too: only
	// the very stream that it names counts.
	if at, ok := info.Sys().(*syscall.Stat_t); !ok || getenv("JOURNAL_STREAM") != fmt.Sprintf("%d:%d", at.Dev, at.Ino) {
		return ""
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		groups = nil // the unit then has the name that we ship it under
	}
	return journalOf(string(groups))
}

// journalOf is the command that shows the log of the unit that a process belongs
// to, by what the kernel says of its control groups.
func journalOf(groups string) string {
	for line := range strings.Lines(groups) {
		group := strings.TrimSpace(line)
		unit := path.Base(group)
		if !strings.HasSuffix(unit, ".service") || strings.HasPrefix(unit, "user@") {
			continue
		}
		if strings.Contains(group, "/user@") {
			return "journalctl --user -u " + unit
		}
		return "journalctl -u " + unit
	}
	return userJournal
}
