package sqlitestore_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

var scale = flag.Bool("scale", false, "full counts and bounds of time in the tests whose names begin with TestScale")

// choose returns the count of a full run or of a usual one.
func choose(full, usual int) int {
	if *scale {
		return full
	}
	return usual
}

// durations are those of one kind of write.
type durations []time.Duration

// add does f and keeps how long it took.
func (d *durations) add(tb testing.TB, f func() error) {
	tb.Helper()
	begun := time.Now()
	err := f()
	*d = append(*d, time.Since(begun))
	if err != nil {
		tb.Fatal(err)
	}
}

// at returns a percentile in milliseconds.
func (d durations) at(percent int) float64 {
	sorted := slices.Sorted(slices.Values(d))
	return float64(sorted[(len(sorted)-1)*percent/100].Microseconds()) / 1000
}

// bare is SQLite with the same durability as the store, and one table.
type bare struct {
	conn *sqlite.Conn
	n    int
}

func newBare(tb testing.TB) *bare {
	tb.Helper()
	conn, err := sqlite.OpenConn(filepath.Join(tb.TempDir(), "bare.db"), sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenWAL)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	for _, statement := range []string{
		"PRAGMA synchronous = FULL", "PRAGMA wal_autocheckpoint = 4000",
		"CREATE TABLE bodies (key TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID",
	} {
		if err := sqlitex.ExecuteTransient(conn, statement, nil); err != nil {
			tb.Fatal(err)
		}
	}
	return &bare{conn: conn}
}

// commit inserts the contents in one transaction.
func (b *bare) commit(puts []store.Put) (err error) {
	defer sqlitex.Transaction(b.conn)(&err)
	for _, p := range puts {
		b.n++
		err := sqlitex.Execute(b.conn, "INSERT INTO bodies VALUES (?, ?)", &sqlitex.ExecOptions{Args: []any{strconv.Itoa(b.n) + p.Key.String(), p.Content}})
		if err != nil {
			return err
		}
	}
	return nil
}

// log is a file with room, the least that a durable write needs.
type log struct {
	file *os.File
	at   int64
}

// logRoom is what a log has room for, in bytes; it begins anew after that.
const logRoom = 16 << 20

func newLog(tb testing.TB) *log {
	tb.Helper()
	file, err := os.Create(filepath.Join(tb.TempDir(), "log"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { file.Close() })
	if _, err := file.Write(make([]byte, logRoom)); err != nil {
		tb.Fatal(err)
	}
	if err := file.Sync(); err != nil {
		tb.Fatal(err)
	}
	return &log{file: file}
}

func (l *log) append(bytes []byte) error {
	if l.at+int64(len(bytes)) > logRoom {
		l.at = 0
	}
	if _, err := l.file.WriteAt(bytes, l.at); err != nil {
		return err
	}
	l.at += int64(len(bytes))
	return l.file.Sync()
}

func commit(ctx context.Context, s *sqlitestore.Store, repo api.Repo, c store.Change) error {
	_, err := s.Update(ctx, repo, func(store.Tx) (store.Change, error) { return c, nil })
	return err
}

// TestScalePut is a PUT of 20 entries of 4 KB, beside what no such write can do
// without: the same bytes in one commit of SQLite, and in one sync of a file. All
// three in turn.
func TestScalePut(t *testing.T) {
	s, lite, file := serve(t, t.TempDir()), newBare(t), newLog(t)
	if err := commit(t.Context(), s, acme, entries(200, "before")); err != nil {
		t.Fatal(err)
	}
	var ours, commits, syncs durations
	for i := range choose(1_000, 20) {
		c := entries(20, i)
		ours.add(t, func() error { return commit(t.Context(), s, acme, c) })
		commits.add(t, func() error { return lite.commit(c.Puts) })
		syncs.add(t, func() error { return file.append(make([]byte, 20*4096)) })
	}
	t.Logf("FIGURE PUT of 20 x 4 KB, durable: p50 %.2f ms, p95 %.2f ms; the same bytes in one commit of bare SQLite: p50 %.2f ms; in one sync of a file: p50 %.2f ms; %d of each in turn",
		ours.at(50), ours.at(95), commits.at(50), syncs.at(50), len(ours))
}

// TestScaleWriters is 64 writers over 1,000 repos, each write durable, beside one
// writer of bare SQLite and of a file.
func TestScaleWriters(t *testing.T) {
	const writers, repos = 64, 1000
	rounds, count := choose(5, 1), choose(4_000, 200)
	s, lite, file := serve(t, t.TempDir()), newBare(t), newLog(t)
	text := strings.Repeat("memory text, ", 80)[:1000]
	var next atomic.Int64
	put := func() (api.Repo, store.Change) {
		n := next.Add(1)
		return mustRepo(fmt.Sprintf("acme/r%d", n%repos)), signed(change(fmt.Sprintf("%d.md", n/repos%50), strconv.FormatInt(n, 10)+" "+text))
	}
	rate := func(n int, f func()) float64 {
		begun := time.Now()
		f()
		return float64(n) / time.Since(begun).Seconds()
	}
	var ours, commits, syncs []float64
	for range rounds {
		ours = append(ours, rate(count, func() {
			var left atomic.Int64
			left.Store(int64(count))
			var group sync.WaitGroup
			for range writers {
				group.Go(func() {
					for left.Add(-1) >= 0 {
						repo, c := put()
						if err := commit(t.Context(), s, repo, c); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
		}))
		few := count / 10 // alone, they are slow
		commits = append(commits, rate(few, func() {
			for range few {
				if _, c := put(); lite.commit(c.Puts) != nil {
					t.Fatal("bare SQLite does not commit")
				}
			}
		}))
		syncs = append(syncs, rate(few, func() {
			for range few {
				if err := file.append([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
		}))
	}
	middle := func(rates []float64) float64 { return slices.Sorted(slices.Values(rates))[len(rates)/2] }
	t.Logf("FIGURE %d writers of 1 KB over %d repos, durable: %.0f a second; one writer of bare SQLite: %.0f; one of a file, a sync each: %.0f; medians of %d rounds in turn",
		writers, repos, middle(ours), middle(commits), middle(syncs), rounds)
}

// TestScaleEntries fills one store, leaves another empty, and compares how long
// the same PUTs take in both, in turn.
func TestScaleEntries(t *testing.T) {
	repos, each, puts := choose(10_000, 1_000), choose(100, 20), choose(4_000, 100)
	full, empty := serve(t, t.TempDir()), serve(t, t.TempDir())
	begun := time.Now()
	fill(t, full, repos, each)
	filled := time.Since(begun)

	random := rand.New(rand.NewPCG(1, 2))
	var large, small durations
	written := map[api.Repo]map[string]string{}
	text := strings.Repeat("another text, ", 80)[:1000]
	for i := range puts {
		repo, key := numbered(random.IntN(repos)), fmt.Sprintf("notes/%03d.md", random.IntN(each))
		content := strconv.Itoa(i) + " " + text
		if written[repo] == nil {
			written[repo] = map[string]string{}
		}
		written[repo][key] = content
		c := signed(change(key, content))
		large.add(t, func() error { return commit(t.Context(), full, repo, c) })
		small.add(t, func() error { return commit(t.Context(), empty, repo, c) })
	}
	checkFilled(t, full, repos, each, written)
	ratio := large.at(99) / small.at(99)
	t.Logf("FIGURE %d entries in %d repos, filled in %.0f s: PUT of 1 KB p50 %.2f ms, p99 %.2f ms; into an empty database, in turn: p50 %.2f ms, p99 %.2f ms; p99 %.2f times as long",
		repos*each, repos, filled.Seconds(), large.at(50), large.at(99), small.at(50), small.at(99), ratio)
	if *scale && ratio > 2 {
		t.Errorf("the p99 of a PUT is %.2f times the empty database's, want at most 2", ratio)
	}
}

func numbered(i int) api.Repo { return mustRepo(fmt.Sprintf("acme/r%05d", i)) }

// fill writes each repo's entries in one change, many repos at a time.
func fill(t *testing.T, s *sqlitestore.Store, repos, each int) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(64)
	text := strings.Repeat("memory text, ", 40)[:480]
	for i := range repos {
		group.Go(func() error {
			c := store.Change{At: time.Now()}
			for j := range each {
				content := fmt.Sprintf("%d %d %s", i, j, text)
				c.Puts = append(c.Puts, store.Put{Key: mustKey(fmt.Sprintf("notes/%03d.md", j)), Content: content, Sum: api.SumString(content)})
			}
			return commit(t.Context(), s, numbered(i), signed(c))
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// checkFilled wants every entry of every repo, and what was written after in some.
func checkFilled(t *testing.T, s *sqlitestore.Store, repos, each int, written map[api.Repo]map[string]string) {
	t.Helper()
	for i := range repos {
		repo := numbered(i)
		head, err := s.Head(t.Context(), repo)
		if err != nil || len(head.Items) != each {
			t.Fatalf("%s: %v, or not %d entries", repo, err, each)
		}
		for key, content := range written[repo] {
			item, ok := head.Item(mustKey(key))
			if !ok || item.Sum != api.SumString(content) {
				t.Errorf("%s: %s is not as it was written last", repo, key)
			}
		}
	}
}
