package cputime_test

import (
	"testing"
	"time"

	"github.com/teammem/teammemd/scanner/cputime"
)

// TestUsed works until a stretch of processor time is used, then waits: work
// counts, waiting does not.
func TestUsed(t *testing.T) {
	begun := cputime.Used()
	if begun == 0 {
		t.Skip("SKIP: this system does not tell processor time")
	}
	const stretch = 50 * time.Millisecond
	for wall := time.Now(); cputime.Used()-begun < stretch; {
		if time.Since(wall) > time.Minute {
			t.Fatalf("a minute of work counts as %v", cputime.Used()-begun)
		}
	}
	worked, wall := cputime.Used(), time.Now()
	<-time.After(10 * stretch)
	if waited := cputime.Used() - worked; waited > time.Since(wall)/2 {
		t.Errorf("waiting for %v counts as %v of work", time.Since(wall), waited)
	}
}
