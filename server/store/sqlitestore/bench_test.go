package sqlitestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
	"github.com/teammem/teammemd/server/store/storetest"
)

// signed says who made a change, as the server does.
func signed(c store.Change) store.Change {
	c.Actor = api.Actor{Token: "ada's laptop", Person: "Ada Lovelace", Device: "ada-laptop", Agent: "claude-code", Session: "6f0e5c1a-1111-4222-8333-444455556666"}
	c.Rules = "8.30.1+0123456789abcdef"
	return c
}

// entries makes a change of n entries of 4 KB each, all different.
func entries(n int, salt any) store.Change {
	c := store.Change{At: time.Now()}
	for i := range n {
		content := fmt.Sprint(salt, " ", i, " ") + strings.Repeat("memory text, ", 315)
		content = content[:4096]
		c.Puts = append(c.Puts, store.Put{Key: mustKey(fmt.Sprintf("notes/%05d.md", i)), Content: content, Sum: api.SumString(content)})
	}
	return signed(c)
}

func must(b *testing.B, s *sqlitestore.Store, repo api.Repo, c store.Change) *store.Head {
	b.Helper()
	head, err := s.Update(b.Context(), repo, func(store.Tx) (store.Change, error) { return c, nil })
	if err != nil {
		b.Fatal(err)
	}
	return head
}

// both runs a benchmark on a store that keeps contents plain, and on one that
// encrypts.
func both(b *testing.B, run func(*testing.B, *sqlitestore.Store)) {
	b.Helper()
	b.Run("plain", func(b *testing.B) { run(b, serve(b, b.TempDir())) })
	b.Run("encrypted", func(b *testing.B) { run(b, sealing(b, b.TempDir(), storetest.Keys(b))) })
}

// BenchmarkPut is one durable change of 20 entries of 4 KB.
func BenchmarkPut(b *testing.B) { both(b, benchmarkPut) }

func benchmarkPut(b *testing.B, s *sqlitestore.Store) {
	b.Helper()
	must(b, s, acme, entries(200, "before"))
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		c := entries(20, i)
		b.StartTimer()
		begun := time.Now()
		must(b, s, acme, c)
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

// BenchmarkWriters is 64 writers, each durable change one entry of 1 KB, over
// 1,000 repos.
func BenchmarkWriters(b *testing.B) {
	s := serve(b, b.TempDir())
	repos := make([]api.Repo, 1000)
	for i := range repos {
		repos[i] = mustRepo(fmt.Sprintf("acme/r%d", i))
	}
	var next atomic.Int64
	text := strings.Repeat("memory text, ", 80)[:1024]
	b.SetParallelism(32) // times two cores
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := next.Add(1)
			content := strconv.FormatInt(i, 10) + text
			c := signed(change(fmt.Sprintf("%d.md", i/1000%50), content))
			if _, err := s.Update(b.Context(), repos[i%1000], func(store.Tx) (store.Change, error) { return c, nil }); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}

func BenchmarkHead(b *testing.B) {
	dir := b.TempDir()
	writer := serve(b, dir)
	must(b, writer, acme, entries(5000, "x"))
	b.Run("cold", func(b *testing.B) {
		s := open(b, sqlitestore.Options{Dir: dir}) // without Serve nothing is cached
		for b.Loop() {
			if head, err := s.Head(b.Context(), acme); err != nil || len(head.Items) != 5000 {
				b.Fatal(err)
			}
		}
	})
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			if head, err := writer.Head(b.Context(), acme); err != nil || len(head.Items) != 5000 {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkBodies reads 200 entries of 4 KB.
func BenchmarkBodies(b *testing.B) { both(b, benchmarkBodies) }

func benchmarkBodies(b *testing.B, s *sqlitestore.Store) {
	b.Helper()
	head := must(b, s, acme, entries(200, "x"))
	sums := make([]api.Checksum, len(head.Items))
	for i, item := range head.Items {
		sums[i] = item.Sum
	}
	for b.Loop() {
		if bodies, err := s.Bodies(b.Context(), acme, sums); err != nil || len(bodies) != 200 {
			b.Fatal(err)
		}
	}
}

// BenchmarkDisk is the limit beside BenchmarkPut: 80 KB appended to a file that
// has room already, and one sync.
func BenchmarkDisk(b *testing.B) {
	file, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	const room = 64
	block := make([]byte, 80<<10)
	for i := range room {
		if _, err := file.WriteAt(block, int64(i*len(block))); err != nil {
			b.Fatal(err)
		}
	}
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		begun := time.Now()
		if _, err := file.WriteAt(block, int64(i%room*len(block))); err != nil {
			b.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}
