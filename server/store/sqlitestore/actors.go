package sqlitestore

import (
	"crypto/rand"
	"encoding/hex"
	"maps"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
)

// actorID is a pseudonym.
type actorID [16]byte

func (id actorID) String() string { return hex.EncodeToString(id[:]) }

// actorRef is an actor's number in one repo, with the pseudonym.
type actorRef struct {
	number int64
	id     actorID
}

// knownActors bounds the pseudonyms in memory, about 300 bytes each.
const knownActors = 10_000

// actorCache spares a write the look into the table of actors. Those that a
// transaction enters become known with its commit. It is owned by whoever holds
// the turn.
type actorCache struct {
	known   map[actorOf]actorRef
	entered map[actorOf]actorRef // by the transaction that is open
}

// actorOf is an actor in one repo.
type actorOf struct {
	repo  int64
	actor api.Actor
}

// settle ends a transaction.
func (c *actorCache) settle(committed bool) {
	if committed && len(c.entered) > 0 {
		if c.known == nil || len(c.known) > knownActors {
			c.known = make(map[actorOf]actorRef)
		}
		maps.Copy(c.known, c.entered)
	}
	clear(c.entered)
}

// forget drops everything: actors were erased, or numbers of repos changed hands.
func (c *actorCache) forget() { c.known, c.entered = nil, nil }

// actor returns who an actor is in a repo, entering them if need be, inside the
// writer's transaction.
func (s *Store) actor(repo int64, a api.Actor) (actorRef, error) {
	of := actorOf{repo, a}
	if ref, ok := s.actors.known[of]; ok {
		return ref, nil
	}
	if ref, ok := s.actors.entered[of]; ok {
		return ref, nil
	}
	ref, err := findActor(s.writer, of)
	if err == nil && ref.number == 0 {
		ref, err = enterActor(s.writer, of)
	}
	if err != nil {
		return actorRef{}, err
	}
	if s.actors.entered == nil {
		s.actors.entered = make(map[actorOf]actorRef)
	}
	s.actors.entered[of] = ref
	return ref, nil
}

// findActor returns the zero value where there is none.
func findActor(conn *sqlite.Conn, of actorOf) (ref actorRef, err error) {
	a := of.actor
	err = sqlitex.Execute(conn, `SELECT number, id FROM actors WHERE repo = ? AND person = ? AND token = ? AND account = ?
		AND device = ? AND agent = ? AND session = ? AND erased = 0`, &sqlitex.ExecOptions{
		Args: []any{of.repo, a.Person, a.Token, a.User, a.Device, a.Agent, a.Session},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			ref.number = stmt.ColumnInt64(0)
			return columnBlob(stmt, 1, ref.id[:])
		},
	})
	return ref, err
}

func enterActor(conn *sqlite.Conn, of actorOf) (ref actorRef, err error) {
	_, _ = rand.Read(ref.id[:]) // never fails
	err = sqlitex.Execute(conn, "SELECT coalesce(max(number), 0) + 1 FROM actors WHERE repo = ?", &sqlitex.ExecOptions{
		Args:       []any{of.repo},
		ResultFunc: func(stmt *sqlite.Stmt) error { ref.number = stmt.ColumnInt64(0); return nil },
	})
	if err != nil {
		return actorRef{}, err
	}
	a := of.actor
	return ref, exec(conn, "INSERT INTO actors (repo, number, id, token, account, person, device, agent, session) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		of.repo, ref.number, ref.id[:], a.Token, a.User, a.Person, a.Device, a.Agent, a.Session)
}

// actorColumns are those of an actor in a join; scanActor reads them.
const actorColumns = "a.token, a.account, a.person, a.device, a.agent, a.session"

func scanActor(stmt *sqlite.Stmt, first int) api.Actor {
	return api.Actor{
		Token: stmt.ColumnText(first), User: stmt.ColumnText(first + 1), Person: stmt.ColumnText(first + 2),
		Device: stmt.ColumnText(first + 3), Agent: stmt.ColumnText(first + 4), Session: stmt.ColumnText(first + 5),
	}
}
