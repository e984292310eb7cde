package sqlitestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

// restoring is what the directory in which a restore is prepared begins with.
const restoring = ".restore-"

// maxNamed bounds the problems that an error names.
const maxNamed = 3

var (
	errBroken   = errors.New("the backup is broken and was not restored")
	errNoBackup = errors.New("the file is not a backup of this program")
)

// Restored is what a restore did.
type Restored struct {
	Epoch string // the new one
	Replayed
	// Kept is the file of the database that was replaced, "" where there was none.
	Kept string
	// Unread says why the ledgers of the replaced database could not be replayed;
	// nil where they were, and where there was none.
	Unread error
}

// Restore puts a backup in the place of a data directory's database, and makes
// the directory where there is none. Of the options Dir and Keys count: without the
// keys of an encrypted backup it is [seal.ErrNoKey]. It refuses while a server serves
// the directory ([store.ErrLocked]), and a backup in which a check finds anything. What
// was redacted, retired, renamed, erased and revoked since the backup is done
// again, as far as the database that is replaced can be read; that database
// stays beside the new one. Join codes are void afterwards; people and sign-ins are
// those of that database, and every sign-in ends where it cannot be read. Until the last step
// nothing is changed but the schema of an older release, and that step is one
// rename.
func Restore(ctx context.Context, to Options, backup string, by api.Actor, at time.Time) (Restored, error) {
	done, err := restore(ctx, to, backup, by, at)
	if err != nil {
		return Restored{}, fmt.Errorf("restoring %q: %w", backup, err)
	}
	return done, nil
}

func restore(ctx context.Context, to Options, backup string, by api.Actor, at time.Time) (done Restored, err error) {
	dir := to.Dir
	path := filepath.Join(dir, databaseName)
	if same, err := isSame(backup, path); err != nil || same {
		return done, errors.Join(err, errNoBackup)
	}
	err = beside(dir, backup, func(aside string) error {
		replay := func(next *Store) error { return done.replayOld(ctx, to, next, by, at) }
		if err := done.prepare(ctx, Options{Dir: aside, Keys: to.Keys}, replay, by, at); err != nil {
			return err
		}
		done.Kept, err = putInPlace(filepath.Join(aside, databaseName), path)
		return err
	})
	return done, err
}

// RestoreTo is [Restore] into a database of another kind. The directory is where the backup is
// prepared, of which nothing stays, and old is what it replaces, nil for nothing. take
// puts the prepared tables in their place.
func RestoreTo(ctx context.Context, to Options, backup string, old Replaced, by api.Actor, at time.Time, take func(Tables) error) (done Restored, err error) {
	err = beside(to.Dir, backup, func(aside string) error {
		replay := func(next *Store) error {
			if old == nil {
				return nil
			}
			return done.replayFrom(ctx, old, next, by, at)
		}
		if err := done.prepare(ctx, Options{Dir: aside, Keys: to.Keys}, replay, by, at); err != nil {
			return err
		}
		next, err := Open(ctx, Options{Dir: aside, Keys: to.Keys})
		if err != nil {
			return err
		}
		return errors.Join(next.Dump(ctx, take), next.Close())
	})
	if err != nil {
		return Restored{}, fmt.Errorf("restoring %q: %w", backup, err)
	}
	return done, nil
}

// beside lends run a directory of its own in dir, which has a copy of the backup,
// while nobody serves dir.
func beside(dir, backup string, run func(aside string) error) (err error) {
	if err := checkHeader(backup); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	aside, err := prepareAside(dir, backup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(aside)) }()
	return run(aside)
}

// checkHeader reads what marks a file as a database of ours: an empty file would
// become an empty database.
func checkHeader(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var header [100]byte
	if _, err := io.ReadFull(file, header[:]); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if !strings.HasPrefix(string(header[:]), "SQLite format 3\x00") || binary.BigEndian.Uint32(header[68:]) != applicationID {
		return errNoBackup
	}
	return nil
}

// prepareAside copies the backup into a directory of its own beside the database,
// and takes away what an interrupted restore left.
func prepareAside(dir, backup string) (aside string, err error) {
	left, err := filepath.Glob(filepath.Join(dir, restoring+"*"))
	if err != nil {
		return "", err
	}
	for _, old := range left {
		if err := os.RemoveAll(old); err != nil {
			return "", err
		}
	}
	if aside, err = os.MkdirTemp(dir, restoring); err != nil {
		return "", err
	}
	return aside, copyFile(backup, filepath.Join(aside, databaseName))
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// prepare makes the copy of the backup, in a directory with keys, into what will be
// served. replay does again what was done since.
func (r *Restored) prepare(ctx context.Context, aside Options, replay func(next *Store) error, by api.Actor, at time.Time) (err error) {
	aside.Serve = true
	next, err := Open(ctx, aside)
	if errors.Is(err, store.ErrNewerSchema) || errors.Is(err, seal.ErrNoKey) || errors.Is(err, seal.ErrDamaged) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	defer func() { err = errors.Join(err, next.Close()) }()
	if err := refuseProblems(ctx, next); err != nil {
		return err
	}
	if err := replay(next); err != nil {
		return err
	}
	if err := next.write(ctx, func(conn *sqlite.Conn) error {
		return exec(conn, "DELETE FROM join_codes") // some were used since
	}); err != nil {
		return err
	}
	if err := next.NewEpoch(ctx); err != nil {
		return err
	}
	if err := next.readConn(ctx, func(conn *sqlite.Conn) error { r.Epoch, err = loadEpoch(conn); return err }); err != nil {
		return err
	}
	detail := fmt.Sprintf(`{"epoch":%q,"redactions":%d,"retirements":%d,"erasures":%d,"revocations":%d,"unread":%t}`,
		r.Epoch, r.Redactions, r.Retirements, r.Erasures, r.Revocations, r.Unread != nil)
	if err := next.Audit(ctx, api.Repo{}, store.Event{Action: store.ActionServerChange, Actor: by, At: at, Detail: detail}); err != nil {
		return err
	}
	return next.Scrub(ctx)
}

func refuseProblems(ctx context.Context, s *Store) error {
	var problems []string
	count := 0
	err := s.Check(ctx, func(p store.Problem) {
		if count++; count <= maxNamed {
			problems = append(problems, fmt.Sprintf("%s %s: %s", p.Repo, p.Key, p.What))
		}
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: %w", errBroken, err)
	case count > 0:
		return fmt.Errorf("%w: %d problems, such as %s", errBroken, count, strings.Join(problems, "; "))
	}
	return nil
}

// replayOld does again what was done since the backup. A database that cannot be
// read is no reason to go on without one.
func (r *Restored) replayOld(ctx context.Context, to Options, next *Store, by api.Actor, at time.Time) error {
	if _, err := os.Stat(filepath.Join(to.Dir, databaseName)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	old, err := Open(ctx, Options{Dir: to.Dir, Keys: to.Keys})
	if err != nil && ctx.Err() == nil {
		r.Unread = err
		return next.write(ctx, func(conn *sqlite.Conn) error { return endSignIns(conn, toMillis(at)) })
	}
	if err != nil {
		return err
	}
	if err = r.replayFrom(ctx, old, next, by, at); err == nil {
		err = old.alone(ctx, func() error { return old.emptyLog(ctx) }) // it must not be lost between two renames
	}
	return errors.Join(err, old.Close())
}

func (r *Restored) replayFrom(ctx context.Context, old Replaced, next *Store, by api.Actor, at time.Time) error {
	p := replay{old: old, next: next, by: by, at: at}
	err := p.run(ctx)
	r.Replayed, r.Unread = p.done, p.unread
	return err
}

// putInPlace makes a prepared database the one that is served, and keeps the one
// that was. At every moment there is one under the name.
func putInPlace(prepared, path string) (kept string, err error) {
	if err := atomicfile.SyncPath(prepared); err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		if kept, err = keepOld(path); err != nil {
			return "", err
		}
	}
	if err := os.Rename(prepared, path); err != nil {
		return "", err
	}
	return kept, atomicfile.SyncPath(filepath.Dir(path))
}

// keepOld gives the database a second name. Its log goes first: SQLite would
// play it into the new one.
func keepOld(path string) (kept string, err error) {
	for n := 1; ; n++ {
		kept = fmt.Sprintf("%s.before-restore-%d", path, n)
		if _, err := os.Lstat(kept); errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	for _, side := range []string{"-wal", "-shm"} {
		if err := os.Rename(path+side, kept+side); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	if os.Link(path, kept) == nil {
		return kept, nil
	}
	return kept, os.Rename(path, kept) // a file system without links
}
