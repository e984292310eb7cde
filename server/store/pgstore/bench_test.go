package pgstore_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
	"github.com/teammem/teammemd/server/store/storetest"
)

// entries makes a change of n entries of 4 KB each, all different.
func entries(n int, salt any) store.Change {
	c := store.Change{At: time.Now(), Actor: api.Actor{Person: "ada"}}
	for i := range n {
		content := fmt.Sprint(salt, " ", i, " ") + strings.Repeat("memory text, ", 315)
		content = content[:4096]
		c.Puts = append(c.Puts, store.Put{Key: mustKey(fmt.Sprintf("notes/%05d.md", i)), Content: content, Sum: api.SumString(content)})
	}
	return c
}

func report(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

// plainPool is PostgreSQL without us.
func plainPool(b *testing.B, dsn string) *pgxpool.Pool {
	b.Helper()
	pool, err := pgxpool.New(b.Context(), dsn+" pool_max_conns="+strconv.Itoa(pgstore.DefaultMaxConns))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	if _, err := pool.Exec(b.Context(), "CREATE TABLE IF NOT EXISTS floor (repo bigint, key text, content bytea)"); err != nil {
		b.Fatal(err)
	}
	return pool
}

// BenchmarkPut is one durable change of 20 entries of 4 KB, plain and encrypted,
// beside one INSERT of
// as many rows into a table without a key.
func BenchmarkPut(b *testing.B) {
	dsn := pgtest.Schema(b)
	run := func(b *testing.B, s *pgstore.Store) {
		b.Helper()
		write := func(c store.Change) {
			if _, err := s.Update(b.Context(), acme, func(store.Tx) (store.Change, error) { return c, nil }); err != nil {
				b.Fatal(err)
			}
		}
		write(entries(200, "before"))
		followed(b, s)
		var took []time.Duration
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			c := entries(20, time.Now())
			b.StartTimer()
			begun := time.Now()
			write(c)
			took = append(took, time.Since(begun))
		}
		report(b, took)
	}
	b.Run("store", func(b *testing.B) { run(b, serve(b, dsn)) })
	b.Run("encrypted", func(b *testing.B) { run(b, sealing(b, pgtest.Schema(b), storetest.Keys(b))) })
	b.Run("floor", func(b *testing.B) {
		pool := plainPool(b, dsn)
		var took []time.Duration
		for b.Loop() {
			b.StopTimer()
			keys, contents := make([]string, 20), make([][]byte, 20)
			for i, p := range entries(20, time.Now()).Puts {
				keys[i], contents[i] = p.Key.String(), []byte(p.Content)
			}
			b.StartTimer()
			begun := time.Now()
			if _, err := pool.Exec(b.Context(), "INSERT INTO floor SELECT 1, k, c FROM unnest($1::text[], $2::bytea[]) AS u (k, c)", keys, contents); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(begun))
		}
		report(b, took)
	})
}

// followed lets a store follow while a benchmark runs, as a server does.
func followed(b *testing.B, s *pgstore.Store) {
	b.Helper()
	begun := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Follow(b.Context(), func(api.Repo, uint64) {
			select {
			case begun <- struct{}{}:
			default:
			}
		})
	}()
	<-begun
	b.Cleanup(func() { <-done })
}

// BenchmarkWriters is 64 writers, each durable change one entry of 1 KB, over
// 1,000 repos, beside as many single INSERTs.
func BenchmarkWriters(b *testing.B) {
	dsn := pgtest.Schema(b)
	text := strings.Repeat("memory text, ", 80)[:1024]
	b.Run("store", func(b *testing.B) {
		s := serve(b, dsn)
		followed(b, s)
		repos := make([]api.Repo, 1000)
		for i := range repos {
			repos[i] = mustRepo(fmt.Sprintf("acme/r%d", i))
			if _, err := s.Update(b.Context(), repos[i], putting("first.md", "x")); err != nil {
				b.Fatal(err)
			}
		}
		var next atomic.Int64
		b.SetParallelism(32) // times two cores
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				i := next.Add(1)
				if _, err := s.Update(b.Context(), repos[i%1000], putting(fmt.Sprintf("%d.md", i/1000%50), strconv.FormatInt(i, 10)+text)); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	})
	b.Run("floor", func(b *testing.B) {
		pool := plainPool(b, dsn)
		var next atomic.Int64
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				i := next.Add(1)
				if _, err := pool.Exec(b.Context(), "INSERT INTO floor VALUES ($1, $2, $3)", i, "key", []byte(strconv.FormatInt(i, 10)+text)); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	})
}

// BenchmarkHead is what a request costs that asks for a head of 5,000 entries:
// from memory, after a look at the database, and read whole.
func BenchmarkHead(b *testing.B) {
	dsn := pgtest.Schema(b)
	c := entries(5000, "x")
	for i := range c.Puts {
		c.Puts[i].Content, c.Puts[i].Sum = "x", api.SumString("x")
	}
	writer := serve(b, dsn)
	if _, err := writer.Update(b.Context(), acme, func(store.Tx) (store.Change, error) { return c, nil }); err != nil {
		b.Fatal(err)
	}
	read := func(s *pgstore.Store) func(*testing.B) {
		return func(b *testing.B) {
			b.Helper()
			for b.Loop() {
				if head, err := s.Head(b.Context(), acme); err != nil || len(head.Items) != 5000 {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("looked up", read(writer))
	b.Run("whole", read(open(b, pgstore.Options{DSN: dsn})))
	followed(b, writer)
	b.Run("from memory", read(writer))
}
