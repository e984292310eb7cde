package simtest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/sync/simtest"
)

var (
	seeds = flag.Uint64("seeds", 2000, "how many histories to run")
	first = flag.Uint64("first", 0, "the first seed")
	trace = flag.Bool("trace", false, "write down everything that happens")
	plain = flag.Bool("plain", false, "show failures as they are, without looking for smaller ones")
	soak  = flag.Bool("soak", false, "say every ten seconds how far it is")
)

// play runs a history.
func play(history simtest.History) (simtest.Stats, error) {
	w, err := simtest.New(history)
	if err != nil {
		return simtest.Stats{}, err
	}
	if *trace {
		w.Record(os.Stderr)
	}
	err = w.Run()
	return w.Stats(), err
}

// tooMany ends a run in which everything fails.
const tooMany = 3

// shards runs seeds on all processors and adds up what happened.
type shards struct {
	next, failures atomic.Uint64
	mu             sync.Mutex
	total          simtest.Stats // guarded by mu
}

func (s *shards) run(t *testing.T) {
	t.Helper()
	s.next.Store(*first)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for s.failures.Load() < tooMany {
				from := s.next.Add(16) - 16
				if from >= *first+*seeds {
					return
				}
				s.some(t, from, min(from+16, *first+*seeds))
			}
		})
	}
	workers.Wait()
}

func (s *shards) some(t *testing.T, from, to uint64) {
	t.Helper()
	var sum simtest.Stats
	for seed := from; seed < to; seed++ {
		history := simtest.Draw(seed)
		stats, err := play(history)
		sum.Add(stats)
		if err != nil {
			s.failures.Add(1)
			t.Errorf("seed %d: %v\n%s", seed, err, smallest(history))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.Add(sum)
}

// smallest says how to keep a failure.
func smallest(history simtest.History) string {
	if *plain {
		return ""
	}
	small := simtest.Minimise(history, func(h simtest.History) bool {
		_, err := play(h)
		return err != nil
	})
	_, err := play(small)
	encoded, _ := json.Marshal(kept{Why: fmt.Sprint(err), History: small})
	return fmt.Sprintf("%d operations suffice; to keep it, write this to testdata/<what it is about>.json:\n%s", len(small.Ops), encoded)
}

func TestHistories(t *testing.T) {
	t.Parallel()
	var s shards
	begun := time.Now()
	debug.SetGCPercent(400) // there is little to keep, and much to make
	if *soak {
		ticker := time.NewTicker(10 * time.Second)
		defer ticker.Stop()
		done := make(chan struct{})
		defer close(done)
		go func() {
			for {
				select {
				case <-done:
					return
				case <-ticker.C:
					fmt.Fprintf(os.Stderr, "%v: seed %d of %d to %d, %d failures\n", time.Since(begun).Round(time.Second),
						s.next.Load(), *first, *first+*seeds-1, s.failures.Load())
				}
			}
		}()
	}
	s.run(t)
	rate := float64(s.total.Histories) / time.Since(begun).Seconds()
	t.Logf("FIGURE simulation: %s; %d failures, %.0f histories per second", s.total.String(), s.failures.Load(), rate)
	if *seeds >= 1000 && s.failures.Load() == 0 {
		checkMix(t, &s.total)
	}
}

// checkMix makes sure that the simulation simulates.
func checkMix(t *testing.T, total *simtest.Stats) {
	t.Helper()
	for name, n := range map[string]int{
		"kills": total.Kills, "power losses": total.Crashes, "conflicts": total.Conflicts, "saved copies": total.Copies,
		"pushes": total.Pushes, "confirmations": total.Confirmed, "operations in the midst of work": total.Ambushes,
	} {
		if n < total.Histories/10 {
			t.Errorf("%d histories had %d %s", total.Histories, n, name)
		}
	}
	for _, name := range simtest.FaultNames() {
		if total.Faults[name] == 0 {
			t.Errorf("no history met the fault %q", name)
		}
	}
}

func TestSameSeedSameTrace(t *testing.T) {
	t.Parallel()
	record := func(seed uint64) [sha256.Size]byte {
		w, err := simtest.New(simtest.Draw(seed))
		if err != nil {
			t.Fatal(err)
		}
		digest := sha256.New()
		w.Record(digest)
		_ = w.Run() // another test's matter
		return [sha256.Size]byte(digest.Sum(nil))
	}
	for seed := *first; seed < *first+*seeds; seed += 100 {
		if once, twice := record(seed), record(seed); once != twice {
			t.Errorf("invariant 9: seed %d gives two traces", seed)
		}
	}
}

// kept is a history that failed once.
type kept struct {
	Why     string          `json:"why"`
	History simtest.History `json:"history"`
}

func TestKept(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("there are no kept histories (%v)", err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var k kept
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&k); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := play(k.History); err != nil {
			t.Errorf("%s (%s): %v", name, k.Why, err)
		}
	}
}
