package sqlitestore

import (
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// checkChain follows the chain from its beginning, beside the changes that the
// history knows of. Its hashes cover what the versions say, so that a version
// which is lost, new or other than it was shows as a row that does not fit.
func (r *checkedRepo) checkChain(conn *sqlite.Conn, changes []change) error {
	var end chain
	var last store.AuditRow // that made a version
	err := sqlitex.Execute(conn, "SELECT "+auditColumns+`, t.actor, a.id IS NULL FROM audit t LEFT JOIN actors a ON (a.repo, a.number) = (t.repo, t.actor)
		WHERE t.repo = ? ORDER BY t.number`, &sqlitex.ExecOptions{
		Args: []any{r.id},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			row, err := scanAudit(stmt)
			if err != nil {
				r.problem(api.Key{}, "audit row %d: %v", row.Number, err)
				return nil
			}
			if stmt.ColumnInt(10) != 0 {
				r.problem(api.Key{}, "audit row %d: its actor is unknown", row.Number)
			}
			if row.Version > 0 {
				if row.Version != last.Version+1 {
					r.problem(api.Key{}, "audit row %d: version %d follows version %d", row.Number, row.Version, last.Version)
				}
				last = row
				changes = r.checkChange(&row, stmt.ColumnInt64(9), changes)
			}
			r.checkRow(&row, end, stmt.ColumnIsNull(5))
			end = chain{row.Number, row.Hash}
			return nil
		},
	})
	for _, c := range changes {
		r.problem(api.Key{}, "version %d is not in the chain", c.version)
	}
	if end.number != r.chain {
		r.problem(api.Key{}, "the chain ends at row %d, its repo says %d", end.number, r.chain)
	}
	if last.Version != r.version {
		r.problem(api.Key{}, "the repo has version %d, its chain %d", r.version, last.Version)
	}
	if last.Version > 0 && last.At.UnixMilli() != r.modified {
		r.problem(api.Key{}, "the repo's last change is not at the time of the chain's")
	}
	return err
}

// checkChange compares a row with the change that it is about, takes the seals
// from there, and returns the changes that are left. A redaction alone makes no
// versions.
func (r *checkedRepo) checkChange(row *store.AuditRow, actor int64, changes []change) []change {
	for len(changes) > 0 && changes[0].version < row.Version {
		r.problem(api.Key{}, "version %d is not in the chain", changes[0].version)
		changes = changes[1:]
	}
	if len(changes) == 0 || changes[0].version != row.Version {
		return changes
	}
	c := changes[0]
	row.Seals = store.SealAll(c.seals)
	if c.mixed || c.actor != actor {
		r.problem(api.Key{}, "version %d: its actor is not that of the chain", c.version)
	}
	if c.mixed || c.at != row.At.UnixMilli() {
		r.problem(api.Key{}, "version %d: its time is not that of the chain", c.version)
	}
	return changes[1:]
}

// checkRow checks a row against the one before. What was taken away of it
// leaves its digest.
func (r *checkedRepo) checkRow(row *store.AuditRow, before chain, unsalted bool) {
	if row.Number != before.number+1 {
		r.problem(api.Key{}, "audit row %d follows row %d", row.Number, before.number)
	}
	if row.Chain(before.hash) != row.Hash {
		what := ""
		if row.Version > 0 {
			what = ", or what it sealed has changed"
		}
		r.problem(api.Key{}, "audit row %d does not fit into the chain%s", row.Number, what)
	}
	if gone := unsalted && row.Detail == ""; !gone && row.Digest != store.DigestDetail(row.Salt, row.Detail) {
		r.problem(api.Key{}, "audit row %d: its digest is not that of its detail", row.Number)
	}
}
