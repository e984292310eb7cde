package sqlitestore

import (
	"cmp"
	"errors"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

// errLostRepo says that a repo is not where its head was read.
var errLostRepo = errors.New("the repo's row is gone: the database is damaged")

// writeChange writes the rows of one change and returns what the repo is then.
// It stops at the first error; see [transact]. [store.ErrRenamed] comes before
// anything was written.
func (s *Store) writeChange(row *repoRow, next *store.Head, c store.Change) (*repoRow, error) {
	id := row.id
	if id == 0 {
		var err error
		if id, err = makeRepo(s.writer, next.Repo); err != nil {
			return nil, err
		}
	}
	actor, err := s.actor(id, c.Actor)
	if err != nil {
		return nil, err
	}
	key, err := s.sealing(id, next.Version)
	if err != nil {
		return nil, err
	}
	w := changeWriter{conn: s.writer, key: key, repo: id, version: int64(next.Version), at: c.At.UnixMilli(), actor: actor.number, rules: c.Rules}
	for _, p := range c.Puts {
		w.put(p)
		if _, dead := row.head.Tomb(p.Key); dead {
			w.exec("DELETE FROM tombs WHERE repo = ? AND key = ?", id, p.Key.String())
		}
	}
	for _, key := range c.Retire {
		w.retire(key)
	}
	seals := w.history(row.head, versionsOf(c, next.Version))
	if len(c.Redact) > 0 {
		w.redact(row.head, c.Redact)
	}
	if w.err != nil {
		return nil, w.err
	}
	end, err := s.seal(row, id, actor, next, c, seals)
	return &repoRow{id: id, chain: end, head: next}, err
}

// seal adds the audit row of a change and moves the repo on.
func (s *Store) seal(row *repoRow, id int64, actor actorRef, next *store.Head, c store.Change, seals [][32]byte) (chain, error) {
	event := store.Event{Action: cmp.Or(c.Action, store.ActionWrite), Actor: c.Actor, At: c.At, Detail: c.Detail}
	end := row.chain
	for {
		audit := nextRow(end, actor, event, next.Version, seals)
		err := exec(s.writer, "UPDATE repos SET version = ?, modified_ms = ?, chain = ? WHERE id = ? AND chain = ?",
			int64(next.Version), c.At.UnixMilli(), int64(audit.Number), id, int64(end.number))
		if err != nil {
			return chain{}, err
		}
		if s.writer.Changes() == 1 {
			return chain{audit.Number, audit.Hash}, insertAudit(s.writer, id, actor, audit)
		}
		before := end
		if end, err = loadChain(s.writer, id); err != nil { // another process has added to it
			return chain{}, err
		}
		if end == before {
			return chain{}, errLostRepo
		}
	}
}

// versionsOf returns the versions that a change makes, in the order of their
// keys.
func versionsOf(c store.Change, version uint64) []store.Version {
	versions := make([]store.Version, 0, len(c.Puts)+len(c.Retire))
	for _, p := range c.Puts {
		versions = append(versions, store.Version{
			Key: p.Key, Version: version, Op: store.OpPut, Sum: p.Sum, Bytes: len(p.Content), Rules: c.Rules, Allowed: p.Allowed, Salt: newSalt(),
		})
	}
	for _, key := range c.Retire {
		versions = append(versions, store.Version{Key: key, Version: version, Op: store.OpRetire, Rules: c.Rules, Salt: newSalt()})
	}
	slices.SortFunc(versions, func(a, b store.Version) int { return a.Key.Compare(b.Key) })
	return versions
}

// changeWriter writes rows until the first error.
type changeWriter struct {
	conn              *sqlite.Conn
	key               *seal.DataKey // nil: contents are kept plain
	repo, version, at int64
	actor             int64
	rules             string
	err               error
}

func (w *changeWriter) exec(query string, args ...any) {
	if w.err == nil {
		w.err = exec(w.conn, query, args...)
	}
}

func (w *changeWriter) put(p store.Put) {
	sum := p.Sum[:]
	if w.key == nil {
		w.exec("INSERT INTO bodies (repo, sum, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", w.repo, sum, p.Content)
	} else {
		w.exec("INSERT INTO bodies (repo, sum, content, data_key, sealed) VALUES (?, ?, '', ?, ?) ON CONFLICT DO NOTHING",
			w.repo, sum, w.key.Number(), w.key.Seal(p.Sum, p.Content))
	}
	w.exec(`INSERT INTO entries (repo, key, sum, bytes, version, modified_ms, allowed) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET sum = excluded.sum, bytes = excluded.bytes, version = excluded.version, modified_ms = excluded.modified_ms,
			allowed = excluded.allowed`,
		w.repo, p.Key.String(), sum, len(p.Content), w.version, w.at, p.Allowed)
}

func (w *changeWriter) retire(k api.Key) {
	key := k.String()
	w.exec("DELETE FROM entries WHERE repo = ? AND key = ?", w.repo, key)
	w.exec("INSERT INTO tombs (repo, key, version) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version", w.repo, key, w.version)
}

// history adds versions and returns their seals. A retirement's checksum is
// stored as NULL.
func (w *changeWriter) history(head *store.Head, versions []store.Version) [][32]byte {
	seals := make([][32]byte, len(versions))
	for i := range versions {
		v := &versions[i]
		seals[i] = v.Seal()
		var sum any
		if v.Op == store.OpPut {
			sum = v.Sum[:]
		}
		w.exec(`INSERT INTO versions (repo, version, ordinal, key, before, op, sum, bytes, at_ms, actor, rules, allowed, salt)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			w.repo, w.version, i+1, v.Key.String(), int64(lastChange(head, v.Key)), string(v.Op), sum, v.Bytes, w.at, w.actor, v.Rules, v.Allowed, v.Salt[:])
	}
	return seals
}

// lastChange returns the version that last changed a key, 0 for none: every key
// that was ever changed is live or retired.
func lastChange(head *store.Head, key api.Key) uint64 {
	if item, live := head.Item(key); live {
		return item.Version
	}
	tomb, _ := head.Tomb(key)
	return tomb.Version
}
