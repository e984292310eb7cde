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
	m, content, err := t.readPlain(at)
	if err != nil {
		return api.Loaded{}, err
	}
	sum := api.Sum(content)
	old := t.cache[at.rel()]
	// Whole by age, or because an earlier, settled read had the same content.
	if !m.unchangedFor(how.Settle, now, old) && (!old.settled || old.sum != sum) {
		if !how.Twice {
			return api.Loaded{}, api.ErrUnsettled
		}
		if err := wait(ctx, between); err != nil {
			return api.Loaded{}, err
		}
		again, second, err := t.readPlain(at)
		if err != nil {
			return api.Loaded{}, err
		}
		if content = second; again != m || api.Sum(second) != sum {
			return api.Loaded{}, api.ErrUnsettled
		}
	}
	if held := notText(content); held != nil {
		return api.Loaded{}, held
	}
	return api.Loaded{Content: string(content), Sum: sum}, nil
}

// readPlain reads a file that has to be plain and of an accepted size.
func (t *Tree) readPlain(at spot) (mark, []byte, error) {
	m, held, err := at.dir.look(at.name)
	if err != nil {
		return mark{}, nil, err
	}
	if held == nil {
		held = t.tooLarge(m.size)
	}
	if held != nil {
		return mark{}, nil, held
	}
	content, err := at.dir.read(at.name, m, make([]byte, m.size+1))
	if err == nil || errors.Is(err, api.ErrUnsettled) || errors.Is(err, fs.ErrNotExist) {
		return m, content, err
	}
	return mark{}, nil, unreadable(err)
}
