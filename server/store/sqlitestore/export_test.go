package sqlitestore

import (
	"fmt"

	"zombiezen.com/go/sqlite/sqlitex"
)

// LimitPages bounds the database like a disk that is full; 0 lifts the bound.
// Nobody may write meanwhile.
func (s *Store) LimitPages(n int) error {
	if n == 0 {
		n = 1 << 30
	}
	return sqlitex.ExecuteTransient(s.writer, fmt.Sprintf("PRAGMA max_page_count = %d", n), nil)
}

// Queued returns how many updates wait for the writer.
func (s *Store) Queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}
