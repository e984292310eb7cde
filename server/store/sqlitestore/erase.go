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
	err = s.alone(ctx, func() error {
		defer s.actors.forget()
		_, err := s.commit(func() (err error) {
			if erased, err = eraseActors(s.writer, match); err != nil {
				return err
			}
			detail := fmt.Sprintf(`{"actors":%d}`, erased)
			if err := s.record(serverRepo, store.Event{Action: store.ActionErase, Actor: by, At: at, Detail: detail}); err != nil {
				return err
			}
			_, err = eraseActors(s.writer, match) // who erases themselves is entered by that row
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
type actorPlace struct {
	repo int64
	id   actorID
}

func eraseActors(conn *sqlite.Conn, match func(api.Actor) bool) (int, error) {
	var found []actorPlace
	err := sqlitex.Execute(conn, "SELECT a.repo, a.id, "+actorColumns+" FROM actors a WHERE a.erased = 0", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			if !match(scanActor(stmt, 2)) {
				return nil
			}
			p := actorPlace{repo: stmt.ColumnInt64(0)}
			err := columnBlob(stmt, 1, p.id[:])
			found = append(found, p)
			return err
		},
	})
	if err != nil {
		return 0, err
	}
	for _, p := range found {
		if err := exec(conn, `UPDATE actors SET token = '', account = '', person = '', device = '', agent = '', session = '', erased = 1
			WHERE repo = ? AND id = ?`, p.repo, p.id[:]); err != nil {
			return 0, err
		}
	}
	// What their rows say beside the digest goes as well: one walk for all of them.
	return len(found), exec(conn, `UPDATE audit SET detail = '', salt = NULL
		WHERE detail <> '' AND EXISTS (SELECT 1 FROM actors a WHERE (a.repo, a.id) = (audit.repo, audit.actor) AND a.erased = 1)`)
}
