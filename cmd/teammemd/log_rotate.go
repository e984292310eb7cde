package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/teammem/teammemd/internal/atomicfile"
)

// maxLog is the size in bytes at which the log of a detached daemon begins anew.
const maxLog = 1 << 20

// logFile is the log of a daemon that `up --detach` left behind, below the state
// directory; oldLog is what it had before.
func (m machine) logFile() string { return filepath.Join(m.paths.StateDir, "daemon.log") }

func oldLog(file string) string { return file + ".1" }

// rotatedLog is a log in a file that does not grow for ever: when it is full its
// text is copied to another file, durably and under its name at once, and only
// then cut. A line is never lost to that, at worst it stands in both. The file
// itself stays, since it is the process's standard error too, where a crash
// writes. It must have been opened for appending and reading, and have no other
// writer that relies on an offset. Safe for concurrent use.
type rotatedLog struct {
	file *os.File
	old  string // the path of the copy
	max  int64  // bytes

	mu   sync.Mutex
	next int64 // the size at which to rotate; guarded by mu
}

func newRotatedLog(file *os.File, old string, most int64) *rotatedLog {
	return &rotatedLog{file: file, old: old, max: most, next: most}
}

// Write implements [io.Writer]. A log that cannot be rotated grows on.
func (r *rotatedLog) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The size is asked for: a crash of a goroutine, or a child, writes as well.
	if info, err := r.file.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > 0 && info.Size()+int64(len(p)) > r.next {
		r.next = r.max
		if err := r.rotate(info.Size()); err != nil {
			r.next = info.Size() + r.max
			fmt.Fprintf(r.file, "log not rotated: %s\n", oneLine(err.Error()))
		}
	}
	return r.file.Write(p)
}

// rotate copies the text and cuts it off.
func (r *rotatedLog) rotate(size int64) error {
	text := make([]byte, size)
	n, err := r.file.ReadAt(text, 0)
	if int64(n) < size {
		return err
	}
	if err := atomicfile.WriteFile(r.old, text, 0o600); err != nil {
		return err
	}
	return r.file.Truncate(0)
}

// startLog opens a log for a process to come, under a name of its own.
func startLog(dir string) (*os.File, error) {
	first, err := os.CreateTemp(dir, "daemon-*.log")
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(first.Name(), os.O_RDWR|os.O_APPEND, 0)
	return log, errors.Join(err, first.Close())
}

// adoptLog makes a log the daemon's log; the one of the daemon before is kept as
// the old one. Where an open file cannot be renamed it keeps its first name.
func (m machine) adoptLog(name string) {
	if err := os.Rename(m.logFile(), oldLog(m.logFile())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	_ = os.Rename(name, m.logFile())
}
