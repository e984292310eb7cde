package memdir

import (
	"errors"
	"io/fs"
	"path"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
)

// pool keeps the directories open that a group of keys shares, and knows which
// of them have to be synced.
type pool struct {
	root    *dir
	open    map[string]*dir
	unsaved map[*dir]bool
}

func newPool(root *dir) *pool {
	return &pool{root: root, open: map[string]*dir{}, unsaved: map[*dir]bool{}}
}

// take returns the directory at a path, opened by open if it is not yet. The
// prefix tells two ways of spelling a path apart.
func (p *pool) take(prefix, rel string, open func(string) (*dir, error)) (*dir, error) {
	if d, ok := p.open[prefix+rel]; ok {
		return d, nil
	}
	d, err := open(rel)
	if err != nil {
		return nil, err
	}
	p.open[prefix+rel] = d
	return d, nil
}

// changed notes that a directory has to be synced.
func (p *pool) changed(d *dir) {
	if !p.unsaved[d] {
		p.unsaved[d.retain()] = true
	}
}

// sync makes the names in all changed directories durable.
func (p *pool) sync() error {
	var group errgroup.Group
	group.SetLimit(syncers)
	for d := range p.unsaved {
		group.Go(func() error { return atomicfile.SyncDir(d.file) })
	}
	return group.Wait()
}

func (p *pool) release() {
	for _, d := range p.open {
		d.release()
	}
	for d := range p.unsaved {
		d.release()
	}
}

// spot is where a key is, or would be, on disk. Its directory belongs to the
// pool.
type spot struct {
	*dir
	name string
}

// rel returns the spot's path relative to the root, as on disk.
func (at spot) rel() string { return path.Join(at.path, at.name) }

// locate finds the place of a key. What the last snapshot saw decides, then the
// spelling on disk. With made not nil missing directories are created, see
// [dir.walk].
func (t *Tree) locate(p *pool, key api.Key, made func(*dir)) (spot, error) {
	if rel, ok := t.spelled[key]; ok {
		at, err := locateAsSeen(p, rel)
		if !errors.Is(err, fs.ErrNotExist) {
			return at, err
		}
	}
	parent, segment := splitKey(key.String())
	d, err := p.take("key:", parent, func(rel string) (*dir, error) { return p.root.walk(rel, made) })
	if err != nil {
		return spot{}, err
	}
	name, err := d.spelling(segment)
	return spot{d, name}, err
}

func locateAsSeen(p *pool, rel string) (spot, error) {
	parent, name := splitKey(rel)
	d, err := p.take("disk:", parent, p.root.onDisk)
	if err != nil {
		return spot{}, err
	}
	_, err = d.root.Lstat(name)
	return spot{d, name}, err
}
