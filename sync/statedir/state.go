package statedir

import (
	"context"

	"github.com/teammem/teammemd/api"
)

// Load returns everything that was committed; the zero Memory with an empty map
// for a new directory. The caller owns the result. A damaged journal is an
// error that names the file.
func (d *Dir) Load(ctx context.Context) (api.Memory, error) {
	if err := ctx.Err(); err != nil {
		return api.Memory{}, err
	}
	if err := d.journal.load(); err != nil {
		return api.Memory{}, err
	}
	return clone(d.journal.memory), nil
}

// Bases returns a look-up of what is committed of a key at the moment of the
// look, the zero Base for nothing. It costs no copy of the state. Like the Dir
// it belongs to one goroutine; what it returns must not be changed. Errors are
// those of [Dir.Load].
func (d *Dir) Bases(ctx context.Context) (func(api.Key) api.Base, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := d.journal.load(); err != nil {
		return nil, err
	}
	return func(key api.Key) api.Base { return d.journal.memory.Bases[key] }, nil
}

// Commit records changes, all or none, durably when it returns nil. After an
// error nothing has changed, in memory or on disk, and a later Commit may
// succeed. What is recorded already is not written again. The change is not
// retained.
func (d *Dir) Commit(ctx context.Context, change api.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.journal.load(); err != nil {
		return err
	}
	s := delta(d.journal.memory, change)
	if s.empty() && len(s.bases) == 0 {
		return nil
	}
	return d.journal.commit(&s)
}
