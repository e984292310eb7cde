package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"time"
)

// maxTail bounds how much of the end of a log is read, in bytes.
const maxTail = 16 << 20

// followEvery is how often a log that is followed is looked at.
const followEvery = 200 * time.Millisecond

// tailOf returns the last lines of a log and of the old one before it: at most n
// of them, all for n < 0, and only those from since on, all for the zero time.
// size is how many bytes the log had.
func tailOf(file string, n int, since time.Time) (tail [][]byte, size int64, err error) {
	text, size, err := readTail(file)
	if err != nil {
		return nil, 0, err
	}
	before, _, err := readTail(oldLog(file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	lines := bytes.SplitAfter(append(before, text...), []byte("\n"))
	if last := len(lines) - 1; len(lines[last]) == 0 {
		lines = lines[:last]
	}
	lines = linesSince(lines, since)
	if n >= 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return lines, size, nil
}

// readTail reads the end of a file, from the beginning of a line, and returns the
// file's size in bytes.
func readTail(name string) (text []byte, size int64, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	from := max(0, info.Size()-maxTail)
	text, err = io.ReadAll(io.NewSectionReader(file, from, info.Size()-from))
	if from > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text, info.Size(), err
}

// lineTime finds when a line was written, in both forms of our logs.
var lineTime = regexp.MustCompile(`^(?:\{"time":"|time=)([^" ]+)`)

// linesSince drops the lines before a time. One without a time belongs to the
// line before it.
func linesSince(lines [][]byte, since time.Time) [][]byte {
	for i, line := range lines {
		found := lineTime.FindSubmatch(line)
		if found == nil {
			continue
		}
		if at, err := time.Parse(time.RFC3339Nano, string(found[1])); err == nil && !at.Before(since) {
			return lines[i:]
		}
	}
	if since.IsZero() {
		return lines
	}
	return nil
}

// follower reads what is added to a log, through rotations and the start of
// another daemon. It belongs to one goroutine.
type follower struct {
	name string
	file *os.File
	at   int64 // bytes read
}

// followLog returns a follower that has read nothing yet.
func followLog(name string) (*follower, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return &follower{name: name, file: file}, nil
}

// more returns what was added.
func (f *follower) more() ([]byte, error) {
	info, err := f.file.Stat()
	if err != nil {
		return nil, err
	}
	var out []byte
	if info.Size() < f.at {
		// It was rotated: what was not read yet stands in the old one.
		if old, err := os.ReadFile(oldLog(f.name)); err == nil && int64(len(old)) > f.at {
			out = old[f.at:]
		}
		f.at = 0
	}
	text, err := io.ReadAll(io.NewSectionReader(f.file, f.at, info.Size()-f.at))
	f.at += int64(len(text))
	out = append(out, text...)
	if now, statErr := os.Stat(f.name); err == nil && statErr == nil && !os.SameFile(info, now) {
		err = f.reopen()
	}
	return out, err
}

// reopen goes on with the log of another daemon.
func (f *follower) reopen() error {
	file, err := os.Open(f.name)
	if err != nil {
		return err
	}
	_ = f.file.Close()
	f.file, f.at = file, 0
	return nil
}

// follow writes what is added to out until ctx ends.
func (f *follower) follow(ctx context.Context, out io.Writer) error {
	defer func() { _ = f.file.Close() }()
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		text, err := f.more()
		if err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
