package sqlitestore

import (
	"math"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// checkChain follows the chain from its beginning and returns the rows that made
// versions, in their order.
func (r *checkedRepo) checkChain(conn *sqlite.Conn) (made []store.AuditRow, err error) {
	var end chain
	last := uint64(0)
	err = sqlitex.Execute(conn, `SELECT t.number, t.action, t.actor, t.at_ms, t.version, t.salt, t.detail, t.digest, t.seals, t.hash, a.id IS NULL
		FROM audit t LEFT JOIN actors a ON (a.repo, a.id) = (t.repo, t.actor) WHERE t.repo = ? ORDER BY t.number`, &sqlitex.ExecOptions{
		Args: []any{r.id},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			row, err := scanAudit(stmt)
			if err != nil {
				r.problem(api.Key{}, "audit row %d: %v", row.Number, err)
				return nil
			}
			r.checkRow(&row, end, stmt.ColumnIsNull(5))
			if stmt.ColumnInt(10) != 0 {
				r.problem(api.Key{}, "audit row %d: its actor is unknown", row.Number)
			}
			end = chain{row.Number, row.Hash}
			if row.Version == 0 {
				return nil
			}
			if row.Version != last+1 {
				r.problem(api.Key{}, "audit row %d: version %d follows version %d", row.Number, row.Version, last)
			}
			last = row.Version
			row.Detail = "" // may be long
			made = append(made, row)
			return nil
		},
	})
	if end != r.chain {
		r.problem(api.Key{}, "the chain ends at row %d, its repo says %d, or the hashes differ", end.number, r.chain.number)
	}
	if last != r.version {
		r.problem(api.Key{}, "the repo has version %d, its chain %d", r.version, last)
	}
	if n := len(made); n > 0 && made[n-1].At.UnixMilli() != r.modified {
		r.problem(api.Key{}, "the repo's last change is not at the time of the chain's")
	}
	return made, err
}

// checkRow checks a row against the one before. What was taken away of it
// leaves its digest.
func (r *checkedRepo) checkRow(row *store.AuditRow, before chain, unsalted bool) {
	if row.Number != before.number+1 {
		r.problem(api.Key{}, "audit row %d follows row %d", row.Number, before.number)
	}
	if row.Chain(before.hash) != row.Hash {
		r.problem(api.Key{}, "audit row %d: its hash is not that of the chain", row.Number)
	}
	if gone := unsalted && row.Detail == ""; !gone && row.Digest != store.DigestDetail(row.Salt, row.Detail) {
		r.problem(api.Key{}, "audit row %d: its digest is not that of its detail", row.Number)
	}
}

// checkVersions checks the history against the rows that made it, and returns
// what the head must be.
func (r *checkedRepo) checkVersions(conn *sqlite.Conn, made []store.AuditRow) (*past, error) {
	p := &past{live: make(map[api.Key]store.Version), kept: make(map[api.Checksum]bool), ledger: make(map[api.Checksum]bool)}
	if err := r.loadLedger(conn, p); err != nil {
		return nil, err
	}
	var change sealed
	err := sqlitex.Execute(conn, "SELECT "+ownVersionColumns+", v.ordinal, v.seal FROM versions v WHERE v.repo = ? ORDER BY v.version, v.ordinal", &sqlitex.ExecOptions{
		Args: []any{r.id},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			v, err := scanVersion(stmt)
			var seal [32]byte
			if err == nil {
				err = columnBlob(stmt, ownVersionWidth+1, seal[:])
			}
			if err != nil {
				r.problem(v.Key, "version %d: %v", v.Version, err)
				return nil
			}
			if v.Version != change.version {
				made = r.checkSeals(change, made)
				change = sealed{version: v.Version}
			}
			change.add(&v, seal)
			r.checkVersion(&v, seal, p)
			if stmt.ColumnInt(ownVersionWidth) != len(change.seals) {
				r.problem(v.Key, "version %d: its ordinals have a gap", v.Version)
			}
			return nil
		},
	})
	made = r.checkSeals(change, made)
	r.checkSeals(sealed{version: math.MaxUint64}, made)
	return p, err
}

func (r *checkedRepo) loadLedger(conn *sqlite.Conn, p *past) error {
	return sqlitex.Execute(conn, "SELECT sum FROM redactions WHERE repo = ?", &sqlitex.ExecOptions{
		Args: []any{r.id},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			if sum, err := columnSum(stmt, 0); err == nil && !sum.IsZero() {
				p.ledger[sum] = true
				return nil
			}
			r.problem(api.Key{}, "the ledger of redactions has a checksum that is none")
			return nil
		},
	})
}

// sealed is what the versions of one change say of it.
type sealed struct {
	version uint64
	seals   [][32]byte
	actors  map[string]bool
	times   map[int64]bool
}

func (c *sealed) add(v *store.Version, seal [32]byte) {
	if c.seals == nil {
		c.actors, c.times = make(map[string]bool), make(map[int64]bool)
	}
	c.seals = append(c.seals, seal)
	c.actors[v.ActorID], c.times[v.At.UnixMilli()] = true, true
}

// checkSeals compares a change with its row and returns the rows after it.
// Changes between the rows that made none are redactions alone.
func (r *checkedRepo) checkSeals(c sealed, made []store.AuditRow) []store.AuditRow {
	for len(made) > 0 && made[0].Version < c.version {
		if made[0].Seals != [32]byte{} {
			r.problem(api.Key{}, "version %d is missing from the history", made[0].Version)
		}
		made = made[1:]
	}
	if len(c.seals) == 0 {
		return made
	}
	if len(made) == 0 || made[0].Version != c.version {
		r.problem(api.Key{}, "version %d is not in the chain", c.version)
		return made
	}
	row := made[0]
	if store.SealAll(c.seals) != row.Seals {
		r.problem(api.Key{}, "version %d: its seals are not those of the chain", c.version)
	}
	if len(c.actors) != 1 || !c.actors[row.ActorID] {
		r.problem(api.Key{}, "version %d: its actor is not that of the chain", c.version)
	}
	if len(c.times) != 1 || !c.times[row.At.UnixMilli()] {
		r.problem(api.Key{}, "version %d: its time is not that of the chain", c.version)
	}
	return made[1:]
}
