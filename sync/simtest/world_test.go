package simtest_test

import (
	"flag"
	"testing"

	"github.com/teammem/teammemd/sync/simtest"
)

var (
	seeds = flag.Uint64("seeds", 2000, "how many histories to run")
	first = flag.Uint64("first", 0, "the first seed")
)

func run(t *testing.T, seed uint64, opts simtest.Options) *simtest.World {
	t.Helper()
	w, err := simtest.New(seed, opts)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if err := w.Run(); err != nil {
		t.Fatalf("seed %d, options %+v: %v", seed, opts, err)
	}
	return w
}

// options varies the size of a history with its seed.
func options(seed uint64) simtest.Options {
	return simtest.Options{Clients: 2 + int(seed%4), Operations: 20 + int(seed*7%180), Keys: 1 + int(seed%9), Restore: seed%5 == 0}
}

func TestHistories(t *testing.T) {
	t.Parallel()
	saved := 0
	for seed := *first; seed < *first+*seeds; seed++ {
		saved += run(t, seed, options(seed)).Saved()
	}
	if saved == 0 {
		t.Error("no history had a conflict: the simulation does not simulate")
	}
}

func TestSameSeedSameTrace(t *testing.T) {
	t.Parallel()
	for seed := range *seeds / 100 {
		if once, twice := run(t, seed, options(seed)).Trace(), run(t, seed, options(seed)).Trace(); once != twice {
			t.Errorf("seed %d gives two traces: %s and %s", seed, once, twice)
		}
	}
}
