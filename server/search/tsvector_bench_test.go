package search_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/server/search"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

// BenchmarkDatabases compares an index in memory with those of the databases, on
// the queries of [BenchmarkSizes] in one run: "memory" is ours, "fts5" is SQLite's,
// "tsvector" is PostgreSQL's with a GIN index, its ranking and its headlines, over
// a socket of the same machine. "put" is what one more note of 4 KB costs in
// PostgreSQL, durable, in a table without and with such an index.
func BenchmarkDatabases(b *testing.B) {
	for _, n := range []int{200, 5_000, 20_000} {
		e, v := repoOf(n)
		x := build(b, e)
		b.Run(fmt.Sprintf("memory/%d", n), func(b *testing.B) {
			ask(b, v.asked(), func(query string) int { return x.Find(parse(b, query), search.Page{Limit: 20}).Total })
		})
		b.Run(fmt.Sprintf("fts5/%d", n), func(b *testing.B) {
			conn := fts5(b, e)
			ask(b, v.asked(), func(query string) int { return askFTS5(b, conn, query) })
		})
		notes := newNotes(b, e)
		b.Run(fmt.Sprintf("tsvector/%d", n), func(b *testing.B) {
			ask(b, v.asked(), func(query string) int { return notes.ask(b, query) })
			b.ReportMetric(notes.size(b)/float64(n*4096), "bytes/byte")
		})
		for _, table := range []string{"plain", "notes"} {
			name := map[string]string{"plain": "without", "notes": "with"}[table]
			b.Run(fmt.Sprintf("put/%s/%d", name, n), func(b *testing.B) {
				var took []time.Duration
				for i := 0; b.Loop(); i++ {
					content := v.note(n + i)
					began := time.Now()
					notes.exec(b, "UPDATE "+table+" SET content = $2 WHERE key = $1", notes.keys[i*7919%n], content)
					took = append(took, time.Since(began))
				}
				percentiles(b, took)
			})
		}
	}
}

// notes are entries in PostgreSQL, in a table with an index for searching and in
// one without.
type notes struct {
	conn *pgx.Conn
	keys []string
}

func newNotes(b *testing.B, e entries) *notes {
	b.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, pgtest.Schema(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close(ctx) })
	s := &notes{conn: conn}
	s.exec(b, `CREATE TABLE plain (key text PRIMARY KEY, content text NOT NULL)`)
	s.exec(b, `CREATE TABLE notes (key text PRIMARY KEY, content text NOT NULL, words tsvector NOT NULL GENERATED ALWAYS AS (to_tsvector('simple', content)) STORED)`)
	rows := make([][]any, 0, len(e))
	for key, content := range e {
		rows = append(rows, []any{key, content})
		s.keys = append(s.keys, key)
	}
	slices.Sort(s.keys)
	for _, table := range []string{"plain", "notes"} {
		if _, err := conn.CopyFrom(ctx, pgx.Identifier{table}, []string{"key", "content"}, pgx.CopyFromRows(rows)); err != nil {
			b.Fatal(err)
		}
	}
	s.exec(b, "CREATE INDEX ON notes USING gin (words)")
	s.exec(b, "VACUUM ANALYZE")
	return s
}

func (s *notes) exec(b *testing.B, statement string, args ...any) {
	b.Helper()
	if _, err := s.conn.Exec(context.Background(), statement, args...); err != nil {
		b.Fatal(err)
	}
}

// ask runs one query, with 20 results and their headlines.
func (s *notes) ask(b *testing.B, query string) (n int) {
	b.Helper()
	parsed := "websearch_to_tsquery('simple', $1)"
	if prefix, ok := strings.CutSuffix(query, "*"); ok {
		parsed, query = "to_tsquery('simple', $1)", prefix+":*"
	}
	rows, err := s.conn.Query(context.Background(), `
		SELECT key, ts_headline('simple', content, q, 'MaxWords=24, MinWords=8') FROM (
			SELECT key, content, q FROM notes, `+parsed+` q WHERE words @@ q ORDER BY ts_rank_cd(words, q) DESC, key LIMIT 20
		) best`, query)
	if err != nil {
		b.Fatal(err)
	}
	var key, headline string
	if _, err := pgx.ForEachRow(rows, []any{&key, &headline}, func() error { n++; return nil }); err != nil {
		b.Fatal(query, err)
	}
	return n
}

// size is what the index and the words of the entries take, in bytes.
func (s *notes) size(b *testing.B) (bytes float64) {
	b.Helper()
	err := s.conn.QueryRow(context.Background(), "SELECT pg_total_relation_size('notes') - pg_total_relation_size('plain')").Scan(&bytes)
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}
