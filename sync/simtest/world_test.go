package simtest_test

import (
	"flag"
	"os"
	"testing"

	"github.com/teammem/teammemd/sync/simtest"
)

var (
	seeds = flag.Uint64("seeds", 2000, "how many histories to run")
	trace = flag.Bool("trace", false, "write down everything that happens")
	first = flag.Uint64("first", 0, "the first seed")
)

func TestHistories(t *testing.T) {
	var total simtest.Stats
	bad := 0
	for seed := *first; seed < *first+*seeds; seed++ {
		w, err := simtest.New(simtest.Draw(seed))
		if err != nil {
			t.Fatal(err)
		}
		if *trace {
			w.Record(os.Stderr)
		}
		if err := w.Run(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			if bad++; bad > 20 {
				break
			}
		}
		total.Add(w.Stats())
	}
	t.Log(total.String())
}
