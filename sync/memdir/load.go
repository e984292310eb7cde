package memdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/teammem/teammemd/api"
)

// Load reads one file whole, as the engine's Tree asks: the content returned is
// the buffer that was hashed. A file of a name that takes no part is absent.
func (t *Tree) Load(ctx context.Context, key api.Key, how api.Reading) (api.Loaded, error) {
	root, err := t.openRoot()
	if err != nil {
		return api.Loaded{}, err
	}
	defer root.release()
	content, err := t.load(ctx, root, key, how)
	if err != nil {
		return api.Loaded{}, fmt.Errorf("reading %q: %w", key, err)
	}
	return content, nil
}

func (t *Tree) load(ctx context.Context, root *dir, key api.Key, how api.Reading) (api.Loaded, error) {
	if !t.names.takesPart(key) {
		return api.Loaded{}, fs.ErrNotExist
	}
	p := newPool(root)
	defer p.release()
	at, err := t.locate(p, key, nil)
	if err != nil {
		return api.Loaded{}, err
	}
	now := t.clock()
	first, err := t.readPlain(at)
	if err != nil {
		return api.Loaded{}, err
	}
	old := t.cache[at.rel()]
	// Whole by age, or because an earlier, settled read had the same content.
	ripe := first.unchangedFor(how.Settle, now, first.busy, old)
	if !ripe && (!old.settled || old.sum != first.sum) {
		if err := t.readTwice(ctx, at, first, how); err != nil {
			return api.Loaded{}, err
		}
	}
	if held := notText(first.content); held != nil {
		return api.Loaded{}, held
	}
	return api.Loaded{Content: string(first.content), Sum: first.sum}, nil
}

// readTwice accepts a young file if a second read agrees with the first.
func (t *Tree) readTwice(ctx context.Context, at spot, first reading, how api.Reading) error {
	if !how.Twice {
		return api.ErrUnsettled
	}
	if err := wait(ctx, between); err != nil {
		return err
	}
	second, err := t.readPlain(at)
	if err == nil && (second.mark != first.mark || second.sum != first.sum || second.busy) {
		err = api.ErrUnsettled
	}
	return err
}

// reading is one complete read of a plain file.
type reading struct {
	mark
	content []byte
	sum     api.Checksum
	busy    bool // open for writing
}

// readPlain reads a file that has to be plain and of an accepted size.
func (t *Tree) readPlain(at spot) (reading, error) {
	m, held, err := at.look(at.name)
	if err != nil {
		return reading{}, err
	}
	if held == nil {
		held = t.tooLarge(m.size)
	}
	if held != nil {
		return reading{}, held
	}
	content, busy, err := at.read(at.name, m, make([]byte, m.size+1))
	switch {
	case errors.Is(err, api.ErrUnsettled), errors.Is(err, fs.ErrNotExist):
		return reading{}, err
	case err != nil:
		return reading{}, unreadable(err)
	}
	return reading{m, content, api.Sum(content), busy}, nil
}
