package scanner

import (
	"testing"
	"time"
)

func TestOutlasted(t *testing.T) {
	const span = 2 * time.Second
	for _, c := range []struct {
		gone, used time.Duration
		want       bool
	}{
		{0, 0, false},
		{span - 1, 10 * span, false}, // others of this process work too
		{span, span, true},
		{span, span - 1, false}, // the machine had others to serve
		{starved*span - 1, span / 2, false},
		{starved * span, 0, true}, // nobody waits for ever
	} {
		if got := outlasted(span, c.gone, c.used); got != c.want {
			t.Errorf("after %v, %v of them worked: over is %v", c.gone, c.used, got)
		}
	}
}

// TestStarvedScanGoesOn has a deadline that is over on the clock and not on the
// processor: it waits before it looks.
func TestStarvedScanGoesOn(t *testing.T) {
	d := begin(20 * time.Millisecond)
	if d.used == 0 {
		t.Skip("SKIP: this system does not tell processor time")
	}
	<-time.After(d.span)
	d.used += time.Hour // whatever this process did meanwhile does not count
	if d.over() {
		t.Error("over, though nothing was worked")
	}
	<-time.After(starved * d.span)
	if !d.over() {
		t.Error("not over after all that time")
	}
}
