package memdir_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// bytesRead returns how many bytes this process has read in its life.
func bytesRead(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skipf("SKIP: no counter of bytes read: %v", err)
	}
	found := regexp.MustCompile(`rchar: (\d+)`).FindSubmatch(text)
	if found == nil {
		t.Skip("SKIP: no counter of bytes read")
	}
	n, err := strconv.ParseUint(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// An old file is not read again: it may even have become unreadable.
func TestOldFilesAreNotReadAgain(t *testing.T) {
	reads := func(how api.Reading) uint64 {
		offset := time.Minute
		w := newWorld(t, clockAt(&offset))
		w.write("a.md", strings.Repeat("x", 4096))
		w.snapshot(settled)
		before := bytesRead(t)
		w.snapshot(how)
		return bytesRead(t) - before
	}
	overhead := bytesRead(t) // of reading the counter itself
	overhead = bytesRead(t) - overhead
	if got := reads(api.Reading{}) - overhead; got >= 4096 {
		t.Errorf("%d bytes read, want none of the file's 4096", got)
	}
	if got := reads(api.Reading{Full: true}) - overhead; got < 4096 {
		t.Errorf("%d bytes read by a full scan, want the file's 4096", got)
	}
}
