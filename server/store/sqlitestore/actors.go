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

// knownActors bounds the pseudonyms in memory, about 300 bytes each.
const knownActors = 10_000

// actorCache spares a write the look into the table of actors. Those that a
// transaction enters become known with its commit. It is owned by whoever holds
// the turn.
type actorCache struct {
	known   map[actorOf]actorID
	entered map[actorOf]actorID // by the transaction that is open
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
			c.known = make(map[actorOf]actorID)
		}
		maps.Copy(c.known, c.entered)
	}
	clear(c.entered)
}

// forget drops everything: actors were erased, or numbers of repos changed hands.
func (c *actorCache) forget() { c.known, c.entered = nil, nil }

// actorID returns the pseudonym of an actor in a repo, entering it if need be,
// inside the writer's transaction.
func (s *Store) actorID(repo int64, a api.Actor) (actorID, error) {
	of := actorOf{repo, a}
	if id, ok := s.actors.known[of]; ok {
		return id, nil
	}
	if id, ok := s.actors.entered[of]; ok {
		return id, nil
	}
	id, found, err := findActor(s.writer, of)
	if err == nil && !found {
		_, _ = rand.Read(id[:]) // never fails
		err = exec(s.writer, "INSERT INTO actors (repo, id, token, account, person, device, agent, session) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			repo, id[:], a.Token, a.User, a.Person, a.Device, a.Agent, a.Session)
	}
	if err != nil {
		return actorID{}, err
	}
	if s.actors.entered == nil {
		s.actors.entered = make(map[actorOf]actorID)
	}
	s.actors.entered[of] = id
	return id, nil
}

func findActor(conn *sqlite.Conn, of actorOf) (id actorID, found bool, err error) {
	a := of.actor
	err = sqlitex.Execute(conn, `SELECT id FROM actors WHERE repo = ? AND person = ? AND token = ? AND account = ?
		AND device = ? AND agent = ? AND session = ? AND erased = 0`, &sqlitex.ExecOptions{
		Args: []any{of.repo, a.Person, a.Token, a.User, a.Device, a.Agent, a.Session},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			found = true
			return columnBlob(stmt, 0, id[:])
		},
	})
	return id, found, err
}

// actorColumns are those of an actor in a join; scanActor reads them.
const actorColumns = "a.token, a.account, a.person, a.device, a.agent, a.session"

func scanActor(stmt *sqlite.Stmt, first int) api.Actor {
	return api.Actor{
		Token: stmt.ColumnText(first), User: stmt.ColumnText(first + 1), Person: stmt.ColumnText(first + 2),
		Device: stmt.ColumnText(first + 3), Agent: stmt.ColumnText(first + 4), Session: stmt.ColumnText(first + 5),
	}
}
