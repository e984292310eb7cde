package sqlitestore

import (
	"errors"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

// checkHead compares entries and tombstones with the newest versions.
func (r *checkedRepo) checkHead(conn *sqlite.Conn, p *past) error {
	row := &repoRow{id: r.id, head: &store.Head{}}
	for what, load := range map[string]func(*sqlite.Conn, *repoRow) error{"an entry": loadItems, "a tombstone": loadTombs} {
		if err := load(conn, row); err != nil {
			r.problem(api.Key{}, "%s: %v", what, err)
			return nil // reading goes on with the next repo
		}
	}
	for _, it := range row.head.Items {
		v, known := p.newest[it.Key]
		switch {
		case !known || v.Op != store.OpPut:
			r.problem(it.Key, "the entry is live, the history says that it is not")
		case v.Pruned:
			r.problem(it.Key, "the entry is live, its content was pruned")
		case v.Sum != it.Sum || v.Bytes != it.Bytes || v.Version != it.Version || !v.At.Equal(it.Modified) || v.Allowed != it.Allowed:
			r.problem(it.Key, "the entry is not what version %d made of it", v.Version)
		}
		delete(p.newest, it.Key)
	}
	for _, t := range row.head.Tombs {
		if v, known := p.newest[t.Key]; !known || v.Op != store.OpRetire || v.Version != t.Version {
			r.problem(t.Key, "the key is retired, the history says that it is not, or when")
		}
		delete(p.newest, t.Key)
	}
	for key := range p.newest {
		r.problem(key, "the key is in the history and neither live nor retired")
	}
	return nil
}

// checkBodies computes the checksum of every content.
func (r *checkedRepo) checkBodies(conn *sqlite.Conn, p *past) error {
	err := sqlitex.Execute(conn, "SELECT sum, "+contentColumns+" FROM bodies WHERE repo = ?", &sqlitex.ExecOptions{
		Args: []any{r.id},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			sum, err := columnSum(stmt, 0)
			if err != nil {
				r.problem(api.Key{}, "a content: %v", err)
				return nil
			}
			content, err := r.seals.readContent(conn, stmt, 1, r.id, sum)
			if errors.Is(err, seal.ErrNoKey) {
				return err // nothing that is sealed can be checked
			}
			switch {
			case err != nil:
				r.problem(api.Key{}, "a content: %s: %v", sum, err)
			case p.ledger[sum]:
				r.problem(api.Key{}, "a content that was redacted is there: %s", sum)
			case api.SumString(content) != sum:
				r.problem(api.Key{}, "a content is not that of its checksum %s", sum)
			case !p.kept[sum]:
				r.problem(api.Key{}, "a content is there that no version has: %s", sum)
			}
			delete(p.kept, sum)
			return nil
		},
	})
	if err != nil {
		return err
	}
	for sum := range p.kept {
		r.problem(api.Key{}, "a content is missing: %s", sum)
	}
	return nil
}
