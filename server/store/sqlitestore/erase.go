package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Erase forgets who a person is. Scrub takes the names out of the files.
func (s *Store) Erase(ctx context.Context, match func(api.Actor) bool, by api.Actor, at time.Time) (erased int, err error) {
	if s.lock == nil {
		return 0, fmt.Errorf("erasing a person: %w", errNotServing)
	}
	matching := func(_ actorID, a api.Actor) bool { return match(a) }
	err = s.alone(ctx, func() error {
		defer s.actors.forget()
		_, err := s.commit(func() (err error) {
			if erased, err = eraseActors(s.writer, matching); err != nil {
				return err
			}
			detail := fmt.Sprintf(`{"actors":%d}`, erased)
			if err := s.record(serverRepo, store.Event{Action: store.ActionErase, Actor: by, At: at, Detail: detail}); err != nil {
				return err
			}
			_, err = eraseActors(s.writer, matching) // who erases themselves is entered by that row
			return err
		})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("erasing a person: %w", err)
	}
	return erased, nil
}

// actorPlace is where an actor's row is.
type actorPlace struct{ repo, number int64 }

// eraseActors takes away the names of the actors that match and returns how many
// did.
func eraseActors(conn *sqlite.Conn, match func(actorID, api.Actor) bool) (int, error) {
	var found []actorPlace
	err := sqlitex.Execute(conn, "SELECT a.repo, a.number, a.id, "+actorColumns+" FROM actors a WHERE a.erased = 0", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			var id actorID
			if err := columnBlob(stmt, 2, id[:]); err != nil {
				return err
			}
			if match(id, scanActor(stmt, 3)) {
				found = append(found, actorPlace{stmt.ColumnInt64(0), stmt.ColumnInt64(1)})
			}
			return nil
		},
	})
	if err != nil {
		return 0, err
	}
	for _, p := range found {
		if err := exec(conn, `UPDATE actors SET token = '', account = '', person = '', device = '', agent = '', session = '', erased = 1
			WHERE repo = ? AND number = ?`, p.repo, p.number); err != nil {
			return 0, err
		}
	}
	// What their rows say beside the digest goes as well: one walk for all of them.
	return len(found), exec(conn, `UPDATE audit SET detail = '', salt = NULL
		WHERE detail <> '' AND EXISTS (SELECT 1 FROM actors a WHERE (a.repo, a.number) = (audit.repo, audit.actor) AND a.erased = 1)`)
}
