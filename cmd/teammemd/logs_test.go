//go:build !windows

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
)

// logIn opens a log as a detached daemon has it.
func logIn(t *testing.T, dir string) *os.File {
	t.Helper()
	file, err := startLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	rename(t, file.Name(), filepath.Join(dir, "daemon.log"))
	return file
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func textIn(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// TestRotatedLogLosesNoLine writes from several goroutines, past the log's back
// once, and finds every line from some moment on, each whole and once.
func TestRotatedLogLosesNoLine(t *testing.T) {
	t.Parallel()
	const most, writers, each = 4096, 4, 500
	dir := t.TempDir()
	file := logIn(t, dir)
	name := filepath.Join(dir, "daemon.log")
	log := newRotatedLog(file, oldLog(name), most)
	var seen strings.Builder // all that was ever in an old log that was replaced
	var mu sync.Mutex
	var before string
	n := 0
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for range each {
				mu.Lock()
				if n == 1000 {
					_, _ = file.WriteString("a crash writes past the log\n")
				}
				fmt.Fprintf(log, "line %d\n", n)
				n++
				if old := textIn(t, oldLog(name)); old != before {
					seen.WriteString(old)
					before = old
				}
				if info, err := file.Stat(); err != nil || info.Size() > most {
					t.Errorf("%d bytes, %v", info.Size(), err)
				}
				mu.Unlock()
			}
		})
	}
	writing.Wait()
	var want strings.Builder
	for i := range writers * each {
		if i == 1000 {
			want.WriteString("a crash writes past the log\n")
		}
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if diff := cmp.Diff(want.String(), seen.String()+textIn(t, name)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if info, err := os.Stat(oldLog(name)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the old log: %v, %v", info, err)
	}
}

// TestALogThatCannotBeRotatedGrows keeps every line where the copy cannot be
// written.
func TestALogThatCannotBeRotatedGrows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := newRotatedLog(logIn(t, dir), filepath.Join(dir, "no such directory", "old"), 2000)
	for i := range 800 {
		if _, err := fmt.Fprintf(log, "line %03d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	text := textIn(t, filepath.Join(dir, "daemon.log"))
	for i := range 800 {
		if !strings.Contains(text, fmt.Sprintf("line %03d\n", i)) {
			t.Errorf("line %d is lost", i)
		}
	}
	if complaints := strings.Count(text, "log not rotated: "); complaints == 0 || complaints > 10 {
		t.Errorf("%d complaints in 800 lines", complaints)
	}
}

// TestFollowerThroughRotations reads every line once, also across rotations and
// the log of another daemon.
func TestFollowerThroughRotations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "daemon.log")
	log := newRotatedLog(logIn(t, dir), oldLog(name), 200)
	f, err := followLog(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.file.Close() }()
	var want, got bytes.Buffer
	take := func() {
		text, err := f.more()
		if err != nil {
			t.Fatal(err)
		}
		got.Write(text)
	}
	for i := range 300 {
		if i == 150 { // another daemon
			take()
			rename(t, name, oldLog(name))
			log = newRotatedLog(logIn(t, dir), oldLog(name), 200)
			take()
		}
		fmt.Fprintf(log, "line %d\n", i)
		fmt.Fprintf(&want, "line %d\n", i)
		if i%7 == 0 {
			take()
		}
	}
	take()
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTailOf(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "daemon.log")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(oldLog(name), "{\"time\":\"2026-03-04T05:00:00Z\",\"msg\":\"a\"}\ntime=2026-03-04T06:00:00.5Z msg=b\n")
	write(name, "goroutine 1\n{\"time\":\"2026-03-04T07:00:00Z\",\"msg\":\"c\"}\nno end")
	at := func(hour int) time.Time { return time.Date(2026, 3, 4, hour, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		n     int
		since time.Time
		want  string
	}{
		{-1, time.Time{}, "a b goroutine c no"},
		{0, time.Time{}, ""},
		{2, time.Time{}, "c no"},
		{100, time.Time{}, "a b goroutine c no"},
		{-1, at(6), "b goroutine c no"},
		{2, at(6), "c no"},
		{-1, at(7), "c no"},
		{-1, at(8), ""},
	} {
		lines, size, err := tailOf(name, tt.n, tt.since)
		if err != nil || size != int64(len(textIn(t, name))) {
			t.Fatalf("size %d, %v", size, err)
		}
		var got []string
		for _, line := range lines {
			for _, word := range []string{"a\"", "msg=b", "goroutine", "c\"", "no end"} {
				if bytes.Contains(line, []byte(word)) {
					got = append(got, strings.Trim(strings.Fields(strings.TrimPrefix(word, "msg="))[0], `"`))
				}
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%d lines since %s: %q, want %q", tt.n, tt.since, got, tt.want)
		}
	}
	if _, _, err := tailOf(filepath.Join(t.TempDir(), "none"), 1, time.Time{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log that is not there: %v", err)
	}
}

func TestParseSpan(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"1h": time.Hour, "1h30m": 90 * time.Minute, "45s": 45 * time.Second, "2d": 48 * time.Hour, "1w": 168 * time.Hour} {
		if got, err := parseSpan("for", text); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "soon", "0s", "-1h", "1y", "99999999w", "1d12h", "1"} {
		if got, err := parseSpan("for", text); !errors.Is(err, api.ErrUsage) {
			t.Errorf("%q: %s, %v, want a usage error", text, got, err)
		}
	}
}
