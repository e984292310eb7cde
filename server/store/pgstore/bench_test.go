package pgstore_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
	"github.com/teammem/teammemd/server/store/seal"
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

// p50 reports the median of what was measured, and returns it in milliseconds.
func p50(b *testing.B, name string, took []time.Duration) float64 {
	b.Helper()
	slices.Sort(took)
	ms := float64(took[len(took)/2].Microseconds()) / 1000
	b.ReportMetric(ms, name)
	return ms
}

// plainPool is PostgreSQL without us, and a table without a key.
func plainPool(b *testing.B, dsn string) *pgxpool.Pool {
	b.Helper()
	pool, err := pgxpool.New(b.Context(), dsn+" pool_max_conns="+strconv.Itoa(pgstore.DefaultMaxConns))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	for _, statement := range []string{
		"CREATE TABLE IF NOT EXISTS floor (repo bigint, key text, content bytea)", "ALTER TABLE floor ALTER COLUMN content SET COMPRESSION lz4",
	} {
		if _, err := pool.Exec(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	return pool
}

// BenchmarkPut is one durable change of 20 entries of 4 KB, in turn with its floor:
// one INSERT of as many rows of the same bytes into a table without a key.
func BenchmarkPut(b *testing.B) {
	for name, keys := range map[string]*seal.Keys{"plain": nil, "encrypted": storetest.Keys(b)} {
		b.Run(name, func(b *testing.B) { benchmarkPut(b, keys) })
	}
}

func benchmarkPut(b *testing.B, keys *seal.Keys) {
	b.Helper()
	dsn := pgtest.Schema(b)
	s, pool := sealing(b, dsn, keys), plainPool(b, dsn)
	write := func(c store.Change) {
		if _, err := s.Update(b.Context(), acme, func(store.Tx) (store.Change, error) { return c, nil }); err != nil {
			b.Fatal(err)
		}
	}
	insert := func(c store.Change) {
		keys, contents := make([]string, len(c.Puts)), make([][]byte, len(c.Puts))
		for i, p := range c.Puts {
			keys[i], contents[i] = p.Key.String(), []byte(p.Content)
		}
		if _, err := pool.Exec(b.Context(), "INSERT INTO floor SELECT 1, k, c FROM unnest($1::text[], $2::bytea[]) AS u (k, c)", keys, contents); err != nil {
			b.Fatal(err)
		}
	}
	write(entries(200, "before"))
	insert(entries(20, "before"))
	followed(b, s)
	var took, floor []time.Duration
	for b.Loop() {
		b.StopTimer()
		one, other := entries(20, time.Now()), entries(20, time.Now())
		b.StartTimer()
		begun := time.Now()
		write(one)
		took = append(took, time.Since(begun))
		b.StopTimer()
		begun = time.Now()
		insert(other)
		floor = append(floor, time.Since(begun))
		b.StartTimer()
	}
	b.ReportMetric(p50(b, "p50-ms", took)-p50(b, "floor-p50-ms", floor), "above-floor-ms")
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
// 1,000 repos, in turn with their floor: as many single INSERTs of the same bytes.
// One iteration is 2,000 writes of each.
func BenchmarkWriters(b *testing.B) {
	const writers, each = 64, 2000
	dsn := pgtest.Schema(b)
	s, pool := serve(b, dsn), plainPool(b, dsn)
	followed(b, s)
	text := strings.Repeat("memory text, ", 80)[:1024]
	repos := make([]api.Repo, 1000)
	for i := range repos {
		repos[i] = mustRepo(fmt.Sprintf("acme/r%d", i))
	}
	var next atomic.Int64
	run := func(until int64, write func(i int64) error) time.Duration {
		begun := time.Now()
		next.Store(until - each)
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for i := next.Add(1); i <= until; i = next.Add(1) {
					if err := write(i); err != nil {
						b.Error(err)
					}
				}
			})
		}
		all.Wait()
		return time.Since(begun)
	}
	update := func(i int64) error {
		_, err := s.Update(b.Context(), repos[i%1000], putting(fmt.Sprintf("%d.md", i/1000%50), strconv.FormatInt(i, 10)+text))
		return err
	}
	insert := func(i int64) error {
		_, err := pool.Exec(b.Context(), "INSERT INTO floor VALUES ($1, $2, $3)", i, "key", []byte(strconv.FormatInt(i, 10)+text))
		return err
	}
	done := int64(each)
	run(done, update) // makes the repos
	run(done, insert)
	var took, floor time.Duration
	for b.Loop() {
		done += each
		took += run(done, update)
		b.StopTimer()
		floor += run(done, insert)
		b.StartTimer()
	}
	writes := float64(b.N) * each
	b.ReportMetric(writes/took.Seconds(), "writes/s")
	b.ReportMetric(writes/floor.Seconds(), "floor-writes/s")
	b.ReportMetric(floor.Seconds()/took.Seconds(), "x-floor")
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
