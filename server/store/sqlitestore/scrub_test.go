package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// findBytes returns the files below a directory that hold a text anywhere.
func findBytes(tb testing.TB, dir, text string) (found []string) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			found = append(found, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

const mark = "leakleakleak"

// leave writes texts with the mark among texts without it and returns both.
func leave(t *testing.T, s *sqlitestore.Store) (marked, plain []string) {
	t.Helper()
	for i := range 40 {
		var c store.Change
		for n := range 10 {
			text := fmt.Sprint(i, " ", n, strings.Repeat(" plain", 20+n*i))
			c.Puts = append(c.Puts, change(fmt.Sprintf("%s/%d.md", api.SumString(text).String()[7:20], n), text).Puts...)
			plain = append(plain, text)
			text = fmt.Sprint(mark, i, " ", n, strings.Repeat(" large", i*i*n), mark)
			// What was allowed in it stands in a table whose rows move much.
			put := change(fmt.Sprintf("%s/%d-marked.md", api.SumString(text).String()[7:20], n), text).Puts[0]
			put.Allowed = mark + strings.Repeat(" why", (i*n)%71)
			c.Puts = append(c.Puts, put)
			marked = append(marked, text)
		}
		if _, err := s.Update(t.Context(), acme, func(store.Tx) (store.Change, error) { return c, nil }); err != nil {
			t.Fatal(err)
		}
	}
	return marked, plain
}

// purge redacts texts and retires what has them.
func purge(texts ...string) func(store.Tx) (store.Change, error) {
	return func(tx store.Tx) (store.Change, error) {
		c := store.Change{At: time.Now(), Action: store.ActionRedact}
		for _, text := range texts {
			c.Redact = append(c.Redact, api.SumString(text))
		}
		for _, item := range tx.Head().Items {
			for _, sum := range c.Redact {
				if item.Sum == sum {
					c.Retire = append(c.Retire, item.Key)
				}
			}
		}
		return c, nil
	}
}

// TestScrub looks for redacted texts in every byte of the data directory.
func TestScrub(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	marked, plain := leave(t, s)
	if len(findBytes(t, dir, mark)) == 0 {
		t.Fatal("the texts cannot be found: the test looks in the wrong place")
	}
	// Pages that become empty are joined: what still has the mark moves.
	for _, texts := range [][]string{plain[:300], marked} {
		if _, err := s.Update(t.Context(), acme, purge(texts...)); err != nil {
			t.Fatal(err)
		}
	}
	before, err := s.Head(t.Context(), acme)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if files := findBytes(t, dir, mark); len(files) != 0 {
		t.Errorf("%v still hold a redacted text", files)
	}
	sum := api.SumString(marked[7])
	wantLedgerOnly(t, dir, string(sum[:]))
	after, err := s.Update(t.Context(), acme, putting("on.md", "goes on"))
	if err != nil || after.Version != before.Version+1 {
		t.Errorf("writing after a scrub: %+v, %v", after, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if files := findBytes(t, dir, mark); len(files) != 0 {
		t.Errorf("%v hold a redacted text after closing", files)
	}
	wantSound(t, dir)
}

// wantLedgerOnly checks that a checksum stands nowhere but in the ledger.
func wantLedgerOnly(t *testing.T, dir, sum string) {
	t.Helper()
	count := 0
	for _, name := range []string{"teammemd.db", "teammemd.db-wal"} {
		count += strings.Count(read(t, filepath.Join(dir, name)), sum)
	}
	if count != 1 {
		t.Errorf("the checksum of a redacted text is there %d times, want once", count)
	}
}

// TestDeletedRowsBecomeZeros is what holds between a redaction and the scrub:
// of a text larger than a page nothing is left in the database itself.
func TestDeletedRowsBecomeZeros(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	marked, _ := leave(t, s)
	if _, err := s.Update(t.Context(), acme, purge(marked...)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // folds the log in
		t.Fatal(err)
	}
	if files := findBytes(t, dir, strings.Repeat(" large", 20)); len(files) != 0 {
		t.Errorf("%v hold a redacted text without a scrub", files)
	}
}

func TestScrubWaitsForReaders(t *testing.T) {
	dir := t.TempDir()
	s := open(t, sqlitestore.Options{Dir: dir, Serve: true, BusyTimeout: 100 * time.Millisecond})
	if _, err := s.Update(t.Context(), acme, putting("a.md", "one")); err != nil {
		t.Fatal(err)
	}
	release := readOutside(t, dir)
	if err := s.Scrub(t.Context()); err == nil || !strings.Contains(err.Error(), "try again") {
		t.Errorf("scrubbing beside a reader: %v", err)
	}
	if _, err := s.Update(t.Context(), acme, putting("a.md", "two")); err != nil {
		t.Errorf("writing after a scrub that failed: %v", err)
	}
	release()
	if err := s.Scrub(t.Context()); err != nil {
		t.Errorf("scrubbing after the reader left: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Scrub(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("scrubbing with a context that ended: %v", err)
	}
}
