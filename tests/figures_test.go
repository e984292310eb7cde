package tests

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// steady measures up to three times, since the machine may be busy with
// something else for a while, and fails when no measurement is good enough.
func steady(t *testing.T, measure func() string) {
	t.Helper()
	for try := 1; ; try++ {
		complaint := measure()
		if complaint == "" {
			return
		}
		if try == 3 {
			t.Error(complaint)
			return
		}
		t.Logf("measurement %d: %s", try, complaint)
	}
}

// usualStart is how long the program takes to start and to say its version on the
// machine that the limits of time are for, the one of docs/benchmarks.md.
const usualStart = 8 * time.Millisecond

// tooLong is a complaint about something that took longer than a limit. Machines
// are shared, and some are slow for a while: one that is over the limit is asked
// how long the program takes just to start at that moment, and the limit grows in
// proportion, to five times at most; and how long work takes there that has no part
// of ours, for a start is so short that it gets a processor at once where all are
// taken. One that is not is held to the limit.
func tooLong(t *testing.T, what string, took, limit time.Duration) string {
	t.Helper()
	if took <= limit {
		return ""
	}
	starts := make([]time.Duration, 15)
	for i := range starts {
		begun := time.Now()
		if err := exec.Command(program(t), "version").Run(); err != nil {
			t.Fatal(err)
		}
		starts[i] = time.Since(begun)
	}
	start := quantile(starts, 0.5)
	waits := contention(t)
	slowness := max(waits, min(5, float64(start)/float64(usualStart)))
	found := fmt.Sprintf("%s: %s, more than %s, where a start takes %s (usually %s), and work %.1f times as long as it has a processor",
		what, took, limit, start, usualStart, waits)
	if took <= time.Duration(float64(limit)*slowness) {
		t.Log(found)
		return ""
	}
	return found
}

// contention is how long a process takes that only works, in terms of the time
// that it has a processor: 1 where nothing else is to do.
func contention(t *testing.T) float64 {
	t.Helper()
	cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		t.Logf("how busy the machine is cannot be measured: %v", err)
		return 1
	}
	return max(1, float64(time.Since(begun))/float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()))
}

// quantile is the value below which a share of the durations lies.
func quantile(all []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// used is what a process has used.
type used struct {
	cpu time.Duration
	rss int64 // bytes
}

// usage reads it where the system has /proc.
func usage(pid int) (used, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return used{}, false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	if len(fields) < 22 {
		return used{}, false
	}
	number := func(i int) int64 { n, _ := strconv.ParseInt(fields[i], 10, 64); return n }
	const tick = 10 * time.Millisecond // sysconf(_SC_CLK_TCK) is 100 on every system with /proc
	return used{time.Duration(number(11)+number(12)) * tick, number(21) * int64(os.Getpagesize())}, true
}
