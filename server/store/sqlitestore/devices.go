package sqlitestore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// mergeDevice adds a sighting to what is known. Numbers of another epoch begin
// anew, unless they are of an earlier time than what is there.
const mergeDevice = `
	INSERT INTO devices (repo, id, actor, nameless, first_ms, seen_ms, epoch, pulled, cleaned, cleaned_ms)
	SELECT :repo, :id, :actor, :nameless, :first, :seen, :epoch, :pulled, :cleaned, :cleaned_ms
	WHERE EXISTS (SELECT 1 FROM devices WHERE repo = :repo AND id = :id) OR (SELECT count(*) FROM devices WHERE repo = :repo) < :most
	ON CONFLICT DO UPDATE SET
		actor = excluded.actor, nameless = excluded.nameless,
		first_ms = min(first_ms, excluded.first_ms), seen_ms = max(seen_ms, excluded.seen_ms),
		epoch = excluded.epoch,
		pulled = iif(epoch = excluded.epoch, max(pulled, excluded.pulled), excluded.pulled),
		cleaned_ms = iif(epoch = excluded.epoch AND cleaned >= excluded.cleaned, cleaned_ms, excluded.cleaned_ms),
		cleaned = iif(epoch = excluded.epoch, max(cleaned, excluded.cleaned), excluded.cleaned)
	WHERE epoch = excluded.epoch OR seen_ms <= excluded.seen_ms`

// RecordDevices adds what was seen of devices, in one transaction.
func (s *Store) RecordDevices(ctx context.Context, seen map[api.Repo][]store.Device) error {
	if len(seen) == 0 {
		return nil
	}
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		for _, repo := range slices.SortedFunc(maps.Keys(seen), func(a, b api.Repo) int { return cmp.Compare(a.String(), b.String()) }) {
			id, found, err := findWritten(conn, repo)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			for _, d := range seen[repo] {
				if err := s.recordDevice(conn, id, d); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("recording devices: %w", err)
	}
	return nil
}

func (s *Store) recordDevice(conn *sqlite.Conn, repo int64, d store.Device) error {
	actor, err := s.actor(repo, d.Actor)
	if err != nil {
		return err
	}
	return sqlitex.Execute(conn, mergeDevice, &sqlitex.ExecOptions{Named: map[string]any{
		":repo": repo, ":id": d.ID[:], ":actor": actor.number, ":nameless": d.Nameless, ":first": toMillis(d.First), ":seen": toMillis(d.Seen),
		":epoch": d.Epoch, ":pulled": int64(d.Pulled), ":cleaned": int64(d.Cleaned), ":cleaned_ms": toMillis(d.CleanedAt), ":most": store.MaxDevices,
	}})
}

// Devices lists those of a repo.
func (s *Store) Devices(ctx context.Context, repo api.Repo) ([]store.Device, error) {
	var devices []store.Device
	err := s.read(ctx, `SELECT d.id, d.nameless, d.first_ms, d.seen_ms, d.epoch, d.pulled, d.cleaned, d.cleaned_ms, `+actorColumns+`
		FROM repos r JOIN devices d ON d.repo = r.id LEFT JOIN actors a ON (a.repo, a.number) = (d.repo, d.actor)
		WHERE r.name = ? ORDER BY d.id`, []any{repo.String()}, func(stmt *sqlite.Stmt) error {
		d := store.Device{
			Nameless: stmt.ColumnInt64(1) != 0, First: fromMillis(stmt.ColumnInt64(2)), Seen: fromMillis(stmt.ColumnInt64(3)),
			Epoch: stmt.ColumnText(4), Pulled: uint64(stmt.ColumnInt64(5)), Cleaned: uint64(stmt.ColumnInt64(6)),
			CleanedAt: fromMillis(stmt.ColumnInt64(7)), Actor: scanActor(stmt, 8),
		}
		if err := columnBlob(stmt, 0, d.ID[:]); err != nil {
			return err
		}
		devices = append(devices, d)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the devices of %q: %w", repo, err)
	}
	return devices, nil
}

// ForgetDevices drops those that nobody saw since before.
func (s *Store) ForgetDevices(ctx context.Context, before time.Time) (dropped int, err error) {
	err = s.write(ctx, func(conn *sqlite.Conn) error {
		err := exec(conn, "DELETE FROM devices WHERE seen_ms < ?", toMillis(before))
		dropped = conn.Changes()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("forgetting devices: %w", err)
	}
	return dropped, nil
}
