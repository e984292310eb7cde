package search_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/search"
)

// vocabulary is words whose frequency falls as their number grows, as in any
// language (Zipf).
type vocabulary struct {
	words []string
	zipf  *rand.Zipf
}

func newVocabulary() *vocabulary {
	r := rand.New(rand.NewPCG(1, 2))
	v := &vocabulary{zipf: rand.NewZipf(r, 1.1, 4, 29_999)}
	const letters = "etaoinshrdlucmfwypvbgk"
	for i := range 30_000 {
		var b strings.Builder
		for range 2 + r.IntN(4) + min(i/2000, 5) {
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		fmt.Fprintf(&b, "%x", i%16)
		v.words = append(v.words, b.String())
	}
	return v
}

// note is a text of 4 KB.
func (v *vocabulary) note(number int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nname: note-%d\ndescription: %s %s\n---\n# %s\n\n", number, v.next(), v.next(), v.next())
	for b.Len() < 4096 {
		b.WriteString(v.next())
		if b.Len()%13 == 0 {
			b.WriteString(".\n")
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()[:4096]
}

func (v *vocabulary) next() string { return v.words[v.zipf.Uint64()] }

// asked are queries as people type them: rare and common words, two and three of
// them, a phrase, a beginning, one with a word to leave out.
func (v *vocabulary) asked() []string {
	w := v.words
	return []string{
		w[25_000], w[300], w[0], w[40] + " " + w[900], w[3] + " " + w[5] + " " + w[2000], `"` + w[1] + " " + w[2] + `"`, w[700][:3] + "*", w[10] + " -" + w[4], w[12_000] + " " + w[80],
	}
}

func repoOf(n int) (entries, *vocabulary) {
	v := newVocabulary()
	e := entries{}
	for i := range n {
		e[fmt.Sprintf("notes/part-%02d/file-%05d.md", i%37, i)] = v.note(i)
	}
	return e, v
}

// percentiles reports p50 and p95 in ms.
func percentiles(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

// ask runs queries in turn.
func ask(b *testing.B, asked []string, answer func(query string) int) {
	b.Helper()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		answer(asked[i%len(asked)])
		took = append(took, time.Since(began))
	}
	percentiles(b, took)
}

var sizes = []int{50, 200, 1_000, 5_000, 20_000}

// BenchmarkSizes answers nine queries with 20 results and their snippets, in turn:
// "texts" reads all texts anew for each query, "entries" looks into each entry
// that was taken apart before, "dictionary" has an inverted index as well, "fts5"
// is SQLite's, in memory, ranked by its bm25 and with its snippets.
func BenchmarkSizes(b *testing.B) {
	for _, n := range sizes {
		e, v := repoOf(n)
		x := build(b, e)
		for _, with := range []bool{false, true} {
			name := map[bool]string{false: "entries", true: "dictionary"}[with]
			other := search.Inverted(x, with)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				ask(b, v.asked(), func(query string) int {
					return other.Find(parse(b, query), search.Page{Limit: 20}).Total
				})
				b.ReportMetric(float64(other.Bytes())/float64(n*4096), "bytes/byte")
			})
		}
		if n <= 1_000 {
			items, contents := e.items(b), e.contents()
			b.Run(fmt.Sprintf("texts/%d", n), func(b *testing.B) {
				ask(b, v.asked(), func(query string) int {
					fresh := (*search.Index)(nil).Next(items, contents, api.MaxEntryBytes)
					return fresh.Find(parse(b, query), search.Page{Limit: 20}).Total
				})
			})
		}
		b.Run(fmt.Sprintf("fts5/%d", n), func(b *testing.B) {
			conn := fts5(b, e)
			ask(b, v.asked(), func(query string) int { return askFTS5(b, conn, query) })
		})
	}
}

func fts5(b *testing.B, e entries) *sqlite.Conn {
	b.Helper()
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	run := func(query string, args ...any) {
		if err := sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args}); err != nil {
			b.Fatal(err)
		}
	}
	run("CREATE VIRTUAL TABLE notes USING fts5(key, content, tokenize = 'unicode61 remove_diacritics 2')")
	run("BEGIN")
	for key, content := range e {
		run("INSERT INTO notes VALUES (?, ?)", key, content)
	}
	run("COMMIT")
	return conn
}

func askFTS5(b *testing.B, conn *sqlite.Conn, query string) (n int) {
	b.Helper()
	if left, right, ok := strings.Cut(query, " -"); ok {
		query = left + " NOT " + right
	}
	err := sqlitex.Execute(conn, "SELECT key, snippet(notes, 1, '[', ']', '', 24) FROM notes WHERE notes MATCH ? ORDER BY bm25(notes, 3.0, 1.0) LIMIT 20", &sqlitex.ExecOptions{
		Args:       []any{query},
		ResultFunc: func(*sqlite.Stmt) error { n++; return nil },
	})
	if err != nil {
		b.Fatal(query, err)
	}
	return n
}

// BenchmarkBuild takes all entries apart, as after the start of a server.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{200, 5_000} {
		e, _ := repoOf(n)
		items, contents := e.items(b), e.contents()
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.SetBytes(int64(n * 4096))
			for b.Loop() {
				(*search.Index)(nil).Next(items, contents, api.MaxEntryBytes)
			}
		})
	}
}

// BenchmarkFollow makes the index after a write of one entry.
func BenchmarkFollow(b *testing.B) {
	for _, n := range []int{200, 5_000, 20_000} {
		e, v := repoOf(n)
		x := build(b, e)
		items := e.items(b)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				content := v.note(i + n)
				items[i*7919%n].Sum = api.SumString(content)
				began := time.Now()
				x = x.Next(items, map[api.Checksum]string{items[i*7919%n].Sum: content}, api.MaxEntryBytes)
				took = append(took, time.Since(began))
			}
			percentiles(b, took)
		})
	}
}

// BenchmarkMemory compares what an index says that it takes with what the heap
// grows by, both per byte of text. The texts are the index's own: each was read
// from the store for it.
func BenchmarkMemory(b *testing.B) {
	const n = 5_000
	for b.Loop() {
		e, _ := repoOf(n)
		items, contents := e.items(b), e.contents()
		clear(e)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		x := (*search.Index)(nil).Next(items, contents, api.MaxEntryBytes)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(x.Bytes())/(n*4096), "said/byte")
		b.ReportMetric(1+float64(after.HeapAlloc-before.HeapAlloc)/(n*4096), "heap/byte")
		runtime.KeepAlive(contents)
		runtime.KeepAlive(x)
	}
}
