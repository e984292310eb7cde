package memdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/internal/planted"
)

// stageAll writes the contents of all moves into the staging directory,
// durably, several at once. A move that fails leaves nothing there.
func (t *Tree) stageAll(ctx context.Context, s *staging, moves []*move) {
	var group errgroup.Group
	group.SetLimit(syncers)
	for _, m := range moves {
		group.Go(func() error {
			if m.out.Err = ctx.Err(); m.out.Err == nil {
				m.out.Err = t.stage(s, m)
			}
			return nil
		})
	}
	_ = group.Wait() // errors are in the outcomes
	if err := atomicfile.SyncDir(s.file); err != nil {
		for _, m := range moves {
			m.out.Err = errors.Join(m.out.Err, err)
		}
	}
}

// stage writes one content under a temporary name and renames it to the one
// that says what it is.
func (t *Tree) stage(s *staging, m *move) error {
	temp, name := beingWritten+randomPart(), stagedName(m.Key, m.Sum)
	err := t.writeStaged(s, m, temp)
	if err == nil {
		err = s.keepKey(m.Key)
	}
	if err == nil {
		err = s.root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing a temporary file: %w", err), s.remove(temp), s.forgetKey(m.Key))
	}
	m.name = name
	m.ours, _, err = s.look(name)
	return err
}

// writeStaged creates the file with the permissions of what it will replace, or
// those that the umask gives a new file; nobody else enters the directory.
func (t *Tree) writeStaged(s *staging, m *move, temp string) error {
	f, err := s.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
	if err != nil {
		return err
	}
	err = t.fill(s, f, m, temp)
	return errors.Join(err, f.Close())
}

func (t *Tree) fill(s *staging, f *os.File, m *move, temp string) error {
	if m.exists {
		if err := f.Chmod(m.mode); err != nil {
			return err
		}
	}
	if _, err := f.WriteString(m.Content); err != nil {
		return err
	}
	back := make([]byte, len(m.Content))
	if _, err := f.ReadAt(back, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if api.Sum(back) != m.Sum {
		return errors.New("what was written reads back differently")
	}
	// A time ahead of ours would make the file look fresh for as long.
	if now := t.clock(); !m.Modified.IsZero() && m.Modified.Before(now) {
		if err := s.root.Chtimes(temp, now, m.Modified); err != nil {
			return err
		}
	}
	if planted.In(planted.NoFsync) {
		return nil
	}
	return f.Sync()
}
