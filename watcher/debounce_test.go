package watcher_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/watcher"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return epoch.Add(d) }

func TestDebounce(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name    string
		touches []time.Duration
		ask     time.Duration
		ready   bool
		wait    time.Duration
	}{
		{"untouched", nil, 100 * s, false, 0},
		{"just touched", []time.Duration{0}, 0, false, 2 * s},
		{"nearly quiet", []time.Duration{0}, 2*s - 1, false, 1},
		{"quiet", []time.Duration{0}, 2 * s, true, 0},
		{"long quiet", []time.Duration{0}, 100 * s, true, 0},
		{"touched again", []time.Duration{0, s}, 2 * s, false, s},
		{"quiet after the last", []time.Duration{0, s}, 3 * s, true, 0},
		{"constant writing", []time.Duration{0, s, 2 * s, 3 * s, 4 * s, 5 * s, 6 * s, 7 * s, 8 * s, 9 * s}, 9 * s, false, s},
		{"constant writing, at its maximum", []time.Duration{0, s, 2 * s, 3 * s, 4 * s, 5 * s, 6 * s, 7 * s, 8 * s, 9 * s}, 10 * s, true, 0},
		{"a clock set back by a day", []time.Duration{24 * 3600 * s}, 0, false, 2 * s},
	}
	for _, tt := range tests {
		d := watcher.Debounce{Quiet: 2 * s, Max: 10 * s}
		for _, touch := range tt.touches {
			d.Touch(at(touch))
		}
		ready, wait := d.Due(at(tt.ask))
		if ready != tt.ready || wait != tt.wait || d.Pending() != (len(tt.touches) > 0) {
			t.Errorf("%s: got %v, %v, pending %v; want %v, %v", tt.name, ready, wait, d.Pending(), tt.ready, tt.wait)
		}
	}
}

func TestDebounceClears(t *testing.T) {
	d := watcher.Debounce{Quiet: time.Second, Max: 3 * time.Second}
	d.Touch(at(0))
	d.Clear(at(time.Second))
	if ready, wait := d.Due(at(time.Hour)); ready || wait != 0 || d.Pending() {
		t.Errorf("cleared: got %v, %v", ready, wait)
	}
	// The maximum counts from the first touch after clearing.
	d.Touch(at(10 * time.Second))
	if ready, wait := d.Due(at(10 * time.Second)); ready || wait != time.Second {
		t.Errorf("touched anew: got %v, %v", ready, wait)
	}
}

func TestDebounceWithoutSettings(t *testing.T) {
	var d watcher.Debounce
	d.Touch(at(0))
	if ready, _ := d.Due(at(0)); !ready {
		t.Error("without Quiet a touch settles at once")
	}
	d = watcher.Debounce{Quiet: time.Second}
	for i := range 1000 {
		d.Touch(at(time.Duration(i) * time.Second / 2))
		if ready, _ := d.Due(at(time.Duration(i) * time.Second / 2)); ready {
			t.Fatal("without Max constant writing settles")
		}
	}
}

// TestDebounceKeepsItsPace: a writing that goes on is dealt with every Max, not
// every Max and a while.
func TestDebounceKeepsItsPace(t *testing.T) {
	t.Parallel()
	d := watcher.Debounce{Quiet: 2 * time.Second, Max: 10 * time.Second}
	var fired []time.Duration
	for now := time.Duration(0); now < 55*time.Second; now += 100 * time.Millisecond {
		if ready, _ := d.Due(at(now)); ready {
			fired = append(fired, now)
			d.Clear(at(now))
		}
		if now%(900*time.Millisecond) == 0 {
			d.Touch(at(now))
		}
	}
	want := []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, 40 * time.Second, 50 * time.Second}
	if !slices.Equal(fired, want) {
		t.Errorf("dealt with at %v, want %v", fired, want)
	}
}

// TestDebounceKeepsItsPromises runs a fake clock over random touches, waking
// exactly when Due said so, and checks every firing.
func TestDebounceKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quiet := time.Duration(rapid.IntRange(1, 50).Draw(t, "quiet")) * time.Millisecond
		longest := quiet * time.Duration(rapid.IntRange(1, 8).Draw(t, "max"))
		gaps := rapid.SliceOfN(rapid.IntRange(0, 120), 1, 60).Draw(t, "gaps")

		d := watcher.Debounce{Quiet: quiet, Max: longest}
		now := epoch
		var first, last, cleared time.Time
		fire := func() {
			due := last.Add(quiet)
			if limit := first.Add(longest); limit.Before(due) {
				due = limit
			}
			if !now.Equal(due) {
				t.Fatalf("fired %v away from where it was due", now.Sub(due))
			}
			d.Clear(now)
			cleared = now
		}
		sleepUntil := func(target time.Time) {
			for d.Pending() {
				ready, wait := d.Due(now)
				if ready {
					fire()
					return
				}
				if wait <= 0 {
					t.Fatal("not ready and no wait: a busy loop")
				}
				if now.Add(wait).After(target) {
					break
				}
				now = now.Add(wait)
			}
			if now.Before(target) {
				now = target
			}
		}
		for _, gap := range gaps {
			target := now.Add(time.Duration(gap) * time.Millisecond)
			for now.Before(target) {
				sleepUntil(target)
			}
			if ready, _ := d.Due(now); ready {
				fire()
			}
			if !d.Pending() {
				first = now
				if now.Sub(last) < quiet && cleared.Sub(last) < quiet {
					first = cleared // the same writing, dealt with in its midst
				}
			}
			last = now
			d.Touch(now)
		}
		sleepUntil(now.Add(time.Hour))
		if d.Pending() {
			t.Fatal("the last touch never fired")
		}
	})
}

func TestDebounceSaysWhetherItIsBusy(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	d := watcher.Debounce{Quiet: 2 * time.Second, Max: 10 * time.Second}
	if d.Busy(start) {
		t.Error("busy before anything was touched")
	}
	for i := range 20 {
		d.Touch(start.Add(time.Duration(i) * 500 * time.Millisecond))
	}
	if ready, _ := d.Due(start.Add(10 * time.Second)); !ready || !d.Busy(start.Add(10*time.Second)) {
		t.Error("under constant writes it is due by the maximum wait, and busy")
	}
	if d.Busy(start.Add(12 * time.Second)) {
		t.Error("busy two seconds after the last touch")
	}
}
