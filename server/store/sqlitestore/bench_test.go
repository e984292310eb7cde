package sqlitestore_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// times collects durations and reports their median and 99th percentile.
type times []time.Duration

func (d times) report(b *testing.B) {
	b.Helper()
	slices.Sort(d)
	b.ReportMetric(float64(d[len(d)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(d[len(d)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkPut writes 20 entries of 4 KB durably, by one writer, into a repo of
// 200 entries.
func BenchmarkPut(b *testing.B) {
	s := open(b, b.TempDir(), true)
	var d times
	n := 0
	for b.Loop() {
		pairs := make([]string, 0, 40)
		for range 20 {
			n++
			pairs = append(pairs, fmt.Sprintf("notes/%03d.md", n%200), strings.Repeat(fmt.Sprintf("%015d\n", n), 256))
		}
		c := puts(b, pairs...)
		begin := time.Now()
		if _, err := s.Update(b.Context(), repoOf(b, "acme/api"), always(c)); err != nil {
			b.Fatal(err)
		}
		d = append(d, time.Since(begin))
	}
	d.report(b)
}

// BenchmarkWriters has 64 writers put one entry each at a time, over 1,000 repos.
func BenchmarkWriters(b *testing.B) {
	s := open(b, b.TempDir(), true)
	repos := make([]api.Repo, 1000)
	for i := range repos {
		repos[i] = repoOf(b, fmt.Sprintf("acme/r%d", i))
	}
	var n atomic.Int64
	b.SetParallelism(32) // times GOMAXPROCS, 2 on the reference machine
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1)
			c := puts(b, fmt.Sprintf("%d.md", i%20), fmt.Sprintf("text %d", i))
			if _, err := s.Update(b.Context(), repos[i%1000], always(c)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
}

// filled returns a store with a repo of n entries of 4 KB.
func filled(b *testing.B, n int) (dir string, sums []api.Checksum) {
	b.Helper()
	dir = b.TempDir()
	s := open(b, dir, true)
	c := store.Change{At: when}
	for i := range n {
		content := strings.Repeat(fmt.Sprintf("%015d\n", i), 256)
		c.Puts = append(c.Puts, puts(b, fmt.Sprintf("notes/%05d.md", i), content).Puts...)
	}
	head, err := s.Update(b.Context(), repoOf(b, "acme/api"), always(c))
	if err != nil {
		b.Fatal(err)
	}
	for _, it := range head.Items {
		sums = append(sums, it.Sum)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return dir, sums
}

func BenchmarkHead(b *testing.B) {
	dir, _ := filled(b, 5000)
	repo := repoOf(b, "acme/api")
	b.Run("cached", func(b *testing.B) {
		s := open(b, dir, true)
		headOf(b, s, "acme/api")
		for b.Loop() {
			if _, err := s.Head(b.Context(), repo); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		s := open(b, dir, false) // without the lock nothing is cached
		for b.Loop() {
			if _, err := s.Head(b.Context(), repo); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkBodies reads 200 entries of 4 KB.
func BenchmarkBodies(b *testing.B) {
	dir, sums := filled(b, 200)
	s := open(b, dir, true)
	for b.Loop() {
		if bodies, err := s.Bodies(b.Context(), repoOf(b, "acme/api"), sums); err != nil || len(bodies) != 200 {
			b.Fatal(len(bodies), err)
		}
	}
}

// BenchmarkUpdateLarge puts one entry into a repo of 5,000.
func BenchmarkUpdateLarge(b *testing.B) {
	dir, _ := filled(b, 5000)
	s := open(b, dir, true)
	var d times
	for i := 0; b.Loop(); i++ {
		c := puts(b, "notes/02500.md", fmt.Sprint(i))
		begin := time.Now()
		if _, err := s.Update(b.Context(), repoOf(b, "acme/api"), always(c)); err != nil {
			b.Fatal(err)
		}
		d = append(d, time.Since(begin))
	}
	d.report(b)
}

func BenchmarkOpen(b *testing.B) {
	dir, _ := filled(b, 20)
	for b.Loop() {
		if err := open(b, dir, true).Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTokenByHash is what every request that misses the server's own cache
// of tokens pays.
func BenchmarkTokenByHash(b *testing.B) {
	s := open(b, b.TempDir(), true)
	if err := s.AddToken(b.Context(), token("t")); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.TokenByHash(b.Context(), token("t").Hash); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGeneration(b *testing.B) {
	s := open(b, b.TempDir(), true)
	for b.Loop() {
		if _, err := s.Generation(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
