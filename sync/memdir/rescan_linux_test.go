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

// An old file is not read again. A young one is: a second save of the same size
// within one tick of the file system's clock would leave all its times alike.
func TestRescan(t *testing.T) {
	const size = 100_000 // far more than the counter's own file
	tests := []struct {
		name  string
		age   time.Duration
		how   api.Reading
		reads bool
	}{
		{"old", time.Minute, api.Reading{}, false},
		{"old, full scan", time.Minute, api.Reading{Full: true}, true},
		{"young", 0, api.Reading{}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, clockAt(&test.age))
			w.write("a.md", strings.Repeat("x", size))
			w.snapshot(settled)
			before := bytesRead(t)
			w.snapshot(test.how)
			if got := bytesRead(t) - before; (got >= size) != test.reads {
				t.Errorf("%d bytes read of a file of %d", got, size)
			}
		})
	}
}
