package sqlitestore

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
)

const (
	// calm is the age from which the time of the log's file tells of every later
	// commit. The coarsest file systems count in steps of 2 s, and a commit shows
	// itself to readers only when its log is on the disk, which may take as long
	// as the disk does.
	calm = 10 * time.Second
	// longestGlance is how long looks at the file stand in for the database, so
	// that one which cannot be read does not go unnoticed.
	longestGlance = 10 * time.Second
)

// glance remembers how the log's file looked when the generation was read. Every
// commit, of whichever process, writes to that file; while it looks the same, so
// is the generation, and a server that does nothing need not ask four times a
// second.
type glance struct {
	mu         sync.Mutex
	log        fs.FileInfo // nil: nothing is known; guarded by mu
	read       time.Time   // guarded by mu
	generation uint64      // guarded by mu
}

// know returns the generation if the log still looks as it did.
func (g *glance) know(log fs.FileInfo, now time.Time) (generation uint64, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	age := now.Sub(g.read)
	ok = g.log != nil && age >= 0 && age < longestGlance &&
		os.SameFile(g.log, log) && g.log.Size() == log.Size() && g.log.ModTime().Equal(log.ModTime())
	return g.generation, ok
}

// note remembers a generation that was read after the log looked like this at
// the time now. A log that was written to a moment ago may be again without
// looking any different. Windows tells a file's new time only when the writer
// closes it.
func (g *glance) note(log fs.FileInfo, now time.Time, generation uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.log, g.read, g.generation = nil, now, generation
	if runtime.GOOS != "windows" && now.Sub(log.ModTime()) >= calm {
		g.log = log
	}
}

// Generation returns a number that changes with every change of tokens.
func (s *Store) Generation(ctx context.Context) (generation uint64, err error) {
	now := time.Now()
	log, noLog := os.Stat(s.path + "-wal")
	if noLog == nil && ctx.Err() == nil && !s.heads.isClosed() {
		if generation, ok := s.glance.know(log, now); ok {
			return generation, nil
		}
	}
	err = s.read(ctx, "SELECT value FROM meta WHERE name = 'credential_generation'", nil, func(stmt *sqlite.Stmt) error {
		generation = uint64(stmt.ColumnInt64(0))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("reading the credential generation: %w", err)
	}
	if noLog == nil {
		s.glance.note(log, now, generation)
	}
	return generation, nil
}
