package tests

import (
	"fmt"
	"testing"
	"time"
)

// TestSyncSpeed measures the whole process of `sync` over 1,000 files, alone
// and with a daemon, with nothing to do and with one change. It runs alone.
func TestSyncSpeed(t *testing.T) {
	files, runs := 1_000, 7
	if testing.Short() {
		files, runs = 200, 3
	}
	p := newPair(t)
	for i := range files {
		p.a.write(fmt.Sprintf("dir-%02d/note-%04d.md", i%40, i), fmt.Sprintf("note %d\n%s", i, sized(800+i)))
	}
	if r := p.a.sync(0); r.Sent != files {
		t.Fatalf("sent %d, want %d", r.Sent, files)
	}
	// Files that rest for a while are trusted by their times.
	time.Sleep(2 * time.Second)
	measure := func(what string, limit time.Duration, change func(int)) {
		steady(t, func() string {
			took := make([]time.Duration, 0, runs)
			for i := range runs {
				change(i)
				took = append(took, p.a.ok("sync").took)
			}
			middle := quantile(took, 0.5)
			t.Logf("FIGURE sync of %d files, %s: median %d ms of %d runs", files, what, middle.Milliseconds(), runs)
			return tooLong(t, "sync, "+what, middle, limit)
		})
	}
	changes := 0
	one := func(int) {
		changes++
		p.a.write("dir-00/note-0000.md", fmt.Sprintf("change %d\n", changes))
	}
	none := func(int) {}
	measure("nothing to do", 50*time.Millisecond, none)
	measure("one change", 150*time.Millisecond, one)
	p.a.daemon()
	measure("nothing to do, through the daemon", 50*time.Millisecond, none)
	measure("one change, through the daemon", 150*time.Millisecond, one)
}
