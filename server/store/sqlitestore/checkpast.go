package sqlitestore

import (
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// past is what a history says.
type past struct {
	changes []change                  // that made versions, oldest first
	newest  map[api.Key]store.Version // of each key
	kept    map[api.Checksum]bool     // contents that must be there
	ledger  map[api.Checksum]bool     // contents that must not
}

// change is what the versions of one change say of it.
type change struct {
	version uint64
	seals   [][32]byte
	actor   int64
	at      int64
	mixed   bool // they contradict each other
}

// checkVersions reads the history of a repo.
func (r *checkedRepo) checkVersions(conn *sqlite.Conn) (*past, error) {
	p := &past{newest: make(map[api.Key]store.Version), kept: make(map[api.Checksum]bool), ledger: make(map[api.Checksum]bool)}
	if err := r.loadLedger(conn, p); err != nil {
		return nil, err
	}
	return p, sqlitex.Execute(conn, "SELECT "+ownVersionColumns+", v.ordinal, v.before FROM versions v WHERE v.repo = ? ORDER BY v.version, v.ordinal", &sqlitex.ExecOptions{
		Args: []any{r.id},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			v, err := scanVersion(stmt)
			var seal [32]byte
			if err == nil {
				seal, err = scanSeal(stmt, &v)
			}
			if err != nil {
				r.problem(v.Key, "version %d: %v", v.Version, err)
				return nil
			}
			c := p.changeOf(v.Version, stmt.ColumnInt64(6), v.At.UnixMilli())
			c.seals = append(c.seals, seal)
			if stmt.ColumnInt(ownVersionWidth) != len(c.seals) {
				r.problem(v.Key, "version %d: its ordinals have a gap", v.Version)
			}
			if before := p.newest[v.Key].Version; uint64(stmt.ColumnInt64(ownVersionWidth+1)) != before {
				r.problem(v.Key, "version %d does not lead to version %d of its key", v.Version, before)
			}
			r.checkVersion(&v, p)
			return nil
		},
	})
}

// changeOf returns the change that a version belongs to. They come in order.
func (p *past) changeOf(version uint64, actor, at int64) *change {
	if n := len(p.changes); n == 0 || p.changes[n-1].version != version {
		p.changes = append(p.changes, change{version: version, actor: actor, at: at})
	}
	c := &p.changes[len(p.changes)-1]
	c.mixed = c.mixed || c.actor != actor || c.at != at
	return c
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

// checkVersion checks one version by itself and takes it into the past.
func (r *checkedRepo) checkVersion(v *store.Version, p *past) {
	if v.Redacted {
		if !v.Sum.IsZero() || v.Bytes != 0 || v.Allowed != "" || v.Salt != [16]byte{} {
			r.problem(api.Key{}, "version %d was redacted and tells of its content", v.Version)
		}
		return
	}
	switch {
	case v.Op == store.OpPut && v.Sum.IsZero(), v.Op == store.OpRetire && !v.Sum.IsZero():
		r.problem(v.Key, "version %d: a checksum too many or too few", v.Version)
	case v.Op != store.OpPut && v.Op != store.OpRetire:
		r.problem(v.Key, "version %d: its operation is unknown", v.Version)
	case p.ledger[v.Sum]:
		r.problem(v.Key, "version %d has a content that was redacted", v.Version)
	case v.Op == store.OpPut && !v.Pruned:
		p.kept[v.Sum] = true
	}
	p.newest[v.Key] = *v // they come oldest first
}
