package sqlitestore

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

const (
	// rewrapBatch is how many data keys one transaction wraps again, and
	// resealBatch how many contents it seals.
	rewrapBatch = 500
	resealBatch = 100
)

// rotation is one call of RotateKeys.
type rotation struct {
	*Store

	done     store.Rotation
	progress func(store.Rotation)
}

// RotateKeys wraps data keys again, and with data seals every content with a new
// one. The store must be open for serving, so that no server runs.
func (s *Store) RotateKeys(ctx context.Context, data bool, progress func(store.Rotation)) (store.Rotation, error) {
	r := rotation{Store: s, progress: progress}
	if r.progress == nil {
		r.progress = func(store.Rotation) {}
	}
	if err := r.run(ctx, data); err != nil {
		return r.done, fmt.Errorf("changing keys: %w", err)
	}
	return r.done, nil
}

func (r *rotation) run(ctx context.Context, data bool) error {
	switch {
	case r.lock == nil:
		return errNotServing
	case r.seals.keys == nil:
		return errNoKeyFile
	}
	if err := r.rewrap(ctx); err != nil || !data {
		return err
	}
	if err := r.write(ctx, func(conn *sqlite.Conn) error {
		return exec(conn, "UPDATE data_rotation SET generation = generation + 1, under_way = 1 WHERE under_way = 0")
	}); err != nil {
		return err
	}
	repos, err := r.reposWithContents(ctx)
	if err != nil {
		return err
	}
	for _, repo := range repos {
		if err := r.reseal(ctx, repo); err != nil {
			return fmt.Errorf("repo number %d: %w", repo, err)
		}
	}
	// What was plain is in free pages and in the log until then.
	if err := r.Scrub(ctx); err != nil {
		return err
	}
	return r.write(ctx, func(conn *sqlite.Conn) error { return exec(conn, "UPDATE data_rotation SET under_way = 0") })
}

// rewrap wraps every data key under the first master key.
func (r *rotation) rewrap(ctx context.Context) error {
	first := r.seals.keys.First()
	for {
		n := 0
		err := r.write(ctx, func(conn *sqlite.Conn) error {
			type row struct {
				repo, number int64
				w            seal.Wrapped
			}
			var rows []row
			if err := sqlitex.Execute(conn, "SELECT repo, number, master, wrapped FROM data_keys WHERE master <> ? LIMIT ?", &sqlitex.ExecOptions{
				Args: []any{first, rewrapBatch},
				ResultFunc: func(stmt *sqlite.Stmt) error {
					rows = append(rows, row{stmt.ColumnInt64(0), stmt.ColumnInt64(1), seal.Wrapped{Master: stmt.ColumnText(2), Sealed: blob(stmt, 3)}})
					return nil
				},
			}); err != nil {
				return err
			}
			for _, k := range rows {
				w, err := r.seals.keys.Rewrap(k.repo, k.number, k.w)
				if err != nil {
					return err
				}
				if err := exec(conn, "UPDATE data_keys SET master = ?, wrapped = ? WHERE repo = ? AND number = ?", w.Master, w.Sealed, k.repo, k.number); err != nil {
					return err
				}
			}
			n = len(rows)
			return nil
		})
		if err != nil || n == 0 {
			return err
		}
		r.done.Wrapped += int64(n)
		r.progress(r.done)
	}
}

func (r *rotation) reposWithContents(ctx context.Context) (repos []int64, err error) {
	err = r.read(ctx, "SELECT id FROM repos WHERE version > 0 ORDER BY id", nil, func(stmt *sqlite.Stmt) error {
		repos = append(repos, stmt.ColumnInt64(0))
		return nil
	})
	return repos, err
}

// reseal gives a repo a data key of this rotation, unless it has one, seals its
// contents with it, and drops those before.
func (r *rotation) reseal(ctx context.Context, repo int64) error {
	var key *seal.DataKey
	if err := r.write(ctx, func(conn *sqlite.Conn) (err error) {
		key, err = r.keyOfRotation(conn, repo)
		return err
	}); err != nil {
		return err
	}
	r.progress(r.done)
	var after [32]byte
	for more := true; more; {
		n := int64(0)
		err := r.write(ctx, func(conn *sqlite.Conn) (err error) {
			n, more, err = r.resealSome(conn, repo, key, &after)
			return err
		})
		if err != nil {
			return err
		}
		r.done.Contents += n
		r.progress(r.done)
	}
	return r.write(ctx, func(conn *sqlite.Conn) error {
		return exec(conn, "DELETE FROM data_keys WHERE repo = ? AND number < ? AND NOT EXISTS (SELECT 1 FROM bodies b WHERE b.repo = data_keys.repo AND b.data_key = data_keys.number)",
			repo, key.Number())
	})
}

func (r *rotation) keyOfRotation(conn *sqlite.Conn, repo int64) (*seal.DataKey, error) {
	wanted, err := queryInt(conn, "SELECT generation FROM data_rotation")
	if err != nil {
		return nil, err
	}
	newest, err := findDataKey(conn, newestKey, repo)
	if err != nil {
		return nil, err
	}
	if newest.number > 0 && newest.generation >= int64(wanted) {
		return r.seals.dataKey(conn, repo, newest.number)
	}
	var version int
	if err := sqlitex.Execute(conn, "SELECT version FROM repos WHERE id = ?", &sqlitex.ExecOptions{
		Args:       []any{repo},
		ResultFunc: func(stmt *sqlite.Stmt) error { version = stmt.ColumnInt(0); return nil },
	}); err != nil {
		return nil, err
	}
	r.done.Made++
	return r.makeKey(repo, newest.number+1, uint64(version))
}

// resealSome seals the contents after a checksum that are not sealed with key, one
// batch of them.
func (r *rotation) resealSome(conn *sqlite.Conn, repo int64, key *seal.DataKey, after *[32]byte) (n int64, more bool, err error) {
	type row struct {
		sum    [32]byte
		sealed []byte
	}
	var rows []row
	err = sqlitex.Execute(conn, "SELECT sum, "+contentColumns+" FROM bodies WHERE repo = ? AND sum > ? AND data_key <> ? ORDER BY sum LIMIT ?", &sqlitex.ExecOptions{
		Args: []any{repo, after[:], key.Number(), resealBatch},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			sum, err := columnSum(stmt, 0)
			if err != nil {
				return err
			}
			content, err := r.seals.readContent(conn, stmt, 1, repo, sum)
			if err != nil {
				return fmt.Errorf("content %s: %w", sum, err)
			}
			rows = append(rows, row{sum, key.Seal(sum, content)})
			return nil
		},
	})
	if err != nil {
		return 0, false, err
	}
	for i := range rows {
		if err := exec(conn, "UPDATE bodies SET content = '', data_key = ?, sealed = ? WHERE repo = ? AND sum = ?", key.Number(), rows[i].sealed, repo, rows[i].sum[:]); err != nil {
			return 0, false, err
		}
		*after = rows[i].sum
	}
	return int64(len(rows)), len(rows) == resealBatch, nil
}
