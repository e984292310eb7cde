package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

// sealer is what a store knows of keys.
type sealer struct {
	keys    *seal.Keys // nil: nothing is sealed
	ring    seal.Ring
	lacking atomic.Bool // a data key was met that cannot be unwrapped
	made    bool        // by the transaction that is open; owned by whoever holds turn
}

var (
	_ store.Sealed = (*Store)(nil)

	errNoKeyFile = fmt.Errorf("%w: no key file is named", seal.ErrNoKey)
	errKeyGone   = fmt.Errorf("its data key is gone: %w", seal.ErrDamaged)
)

// settle ends a transaction. A data key that was made and not committed never was.
func (e *sealer) settle(committed bool) {
	if e.made && !committed {
		e.ring.Forget()
	}
	e.made = false
}

// unwrap opens a data key, and remembers if its master key is missing.
func (e *sealer) unwrap(repo, number int64, w seal.Wrapped) (*seal.DataKey, error) {
	key, err := e.keys.Unwrap(repo, number, w)
	if errors.Is(err, seal.ErrNoKey) {
		e.lacking.Store(true)
	}
	return key, err
}

// dataKey returns a data key of a repo.
func (e *sealer) dataKey(conn *sqlite.Conn, repo, number int64) (*seal.DataKey, error) {
	if key := e.ring.Get(repo, number); key != nil {
		return key, nil
	}
	found, err := findDataKey(conn, "number = ?", repo, number)
	if err != nil {
		return nil, err
	}
	if found.number == 0 {
		return nil, errKeyGone
	}
	key, err := e.unwrap(repo, number, found.Wrapped)
	if err == nil {
		e.ring.Put(repo, key)
	}
	return key, err
}

// storedKey is a row of data_keys; number is 0 for none.
type storedKey struct {
	seal.Wrapped

	number, generation int64
	since              uint64
}

func findDataKey(conn *sqlite.Conn, where string, args ...any) (k storedKey, err error) {
	err = sqlitex.Execute(conn, "SELECT number, since, generation, master, wrapped FROM data_keys WHERE repo = ? AND "+where, &sqlitex.ExecOptions{
		Args: args,
		ResultFunc: func(stmt *sqlite.Stmt) error {
			k = storedKey{
				seal.Wrapped{Master: stmt.ColumnText(3), Sealed: blob(stmt, 4)}, stmt.ColumnInt64(0), stmt.ColumnInt64(2), uint64(stmt.ColumnInt64(1)),
			}
			return nil
		},
	})
	return k, err
}

// newestKey finds the data key of a repo that seals.
const newestKey = "number = (SELECT max(number) FROM data_keys n WHERE n.repo = data_keys.repo)"

func blob(stmt *sqlite.Stmt, column int) []byte {
	b := make([]byte, stmt.ColumnLen(column))
	stmt.ColumnBytes(column, b)
	return b
}

// sealing returns the key that seals what a version of a repo puts, making one if
// need be, inside the writer's transaction; nil where nothing is sealed.
func (s *Store) sealing(repo int64, version uint64) (*seal.DataKey, error) {
	e := &s.seals
	if e.keys == nil {
		return nil, nil //nolint:nilnil // nil is a key that does nothing
	}
	if n := e.ring.Newest(repo); n.DataKey != nil && !seal.Spent(n.Since, version) {
		return n.DataKey, nil
	}
	found, err := findDataKey(s.writer, newestKey, repo)
	if err != nil {
		return nil, err
	}
	if found.number == 0 || seal.Spent(found.since, version) {
		return s.makeKey(repo, found.number+1, version)
	}
	key, err := e.unwrap(repo, found.number, found.Wrapped)
	if err == nil {
		e.ring.SetNewest(repo, seal.Newest{DataKey: key, Since: found.since})
	}
	return key, err
}

// makeKey enters a new data key, inside the writer's transaction.
func (s *Store) makeKey(repo, number int64, since uint64) (*seal.DataKey, error) {
	key, wrapped, err := s.seals.keys.NewDataKey(repo, number)
	if err != nil {
		return nil, err
	}
	s.seals.made = true
	s.seals.ring.SetNewest(repo, seal.Newest{DataKey: key, Since: since})
	return key, exec(s.writer, `INSERT INTO data_keys (repo, number, since, generation, master, wrapped)
		VALUES (?, ?, ?, (SELECT generation FROM data_rotation), ?, ?)`, repo, number, int64(since), wrapped.Master, wrapped.Sealed)
}

// contentColumns are what readContent reads.
const contentColumns = "content, data_key, sealed"

// readContent returns the content of a row whose contentColumns begin at a column.
func (e *sealer) readContent(conn *sqlite.Conn, stmt *sqlite.Stmt, first int, repo int64, sum [32]byte) (string, error) {
	number := stmt.ColumnInt64(first + 1)
	if number == 0 {
		return e.keys.Plain(sum, stmt.ColumnText(first))
	}
	key, err := e.dataKey(conn, repo, number)
	if err != nil {
		return "", err
	}
	return key.Open(sum, blob(stmt, first+2))
}

// Sealing counts how contents are kept.
func (s *Store) Sealing(ctx context.Context) (n store.Sealing, err error) {
	err = s.read(ctx, "SELECT count(*) FILTER (WHERE data_key = 0), count(*) FILTER (WHERE data_key <> 0), (SELECT count(*) FROM data_keys) FROM bodies", nil, func(stmt *sqlite.Stmt) error {
		n = store.Sealing{Plain: stmt.ColumnInt64(0), Sealed: stmt.ColumnInt64(1), Keys: stmt.ColumnInt64(2)}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("counting contents: %w", err)
	}
	return n, err
}

// KeysReady says whether the data keys can be unwrapped.
func (s *Store) KeysReady(ctx context.Context) error {
	if !s.seals.lacking.Load() {
		return nil
	}
	err := s.checkKeys(ctx)
	s.seals.lacking.Store(err != nil)
	return err
}

// checkKeys unwraps one data key for each master key that any is wrapped under.
func (s *Store) checkKeys(ctx context.Context) error {
	return s.read(ctx, "SELECT repo, min(number), master, wrapped FROM data_keys GROUP BY master ORDER BY master", nil, func(stmt *sqlite.Stmt) error {
		_, err := s.seals.keys.Unwrap(stmt.ColumnInt64(0), stmt.ColumnInt64(1), seal.Wrapped{Master: stmt.ColumnText(2), Sealed: blob(stmt, 3)})
		return err
	})
}
