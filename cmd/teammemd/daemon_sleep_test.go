package main

import (
	"testing"
	"time"
)

// TestF18Slept tells a sleep, in which the monotonic clock stands still, and a
// stop, in which it does not, from a tick that came late.
func TestF18Slept(t *testing.T) {
	start := time.Now()
	// A time without a monotonic reading is compared by the wall alone: it stands
	// for the end of a sleep.
	wall := func(d time.Duration) time.Time { return start.Round(0).Add(d) }
	tests := []struct {
		name string
		now  time.Time
		want time.Duration
	}{
		{"a tick", start.Add(sleepTick), 0},
		{"a late tick", start.Add(sleepTick + sleepLeast), 0},
		{"stopped", start.Add(90 * time.Second), 88 * time.Second},
		{"asleep", wall(time.Hour), time.Hour - sleepTick},
		{"clock set back", wall(-time.Hour), 0},
	}
	for _, test := range tests {
		if got := slept(start, test.now); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
