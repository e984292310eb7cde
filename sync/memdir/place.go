package memdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/internal/planted"
)

const (
	// roundSize bounds the placements that are under way at once, and with them
	// the open directories.
	roundSize = 128
	// syncers is how many files are forced to the disk at once: file systems
	// gather concurrent fsyncs into one write of their journal.
	syncers = 8
)

// move is one placement under way.
type move struct {
	api.Placement
	out    *api.Placed
	at     spot
	exists bool        // something is at the key, and has to be exchanged
	mode   fs.FileMode // of what is there
	// name is our file in the staging directory, "" when there is none to
	// remove. With displaced set it is what the exchange brought out.
	name      string
	displaced bool
	seen      mark // of the displaced file, when it was inspected
	ours      mark // of our file, when it was staged
	lively    bool // what is at the key was changed by somebody a moment ago
	cross     bool // the staging directory is on another file system
}

// Place puts contents into the tree, as the engine's Tree asks: outcomes match
// placements by index, one that fails does not stop the others. An outcome is
// [api.ErrUnsettled] when the tree changed since the plan or a program is
// writing the file, a *[api.HeldError] when the key cannot be placed here.
//
// For each placement, in this order: a temporary file outside the tree, write,
// read back and compare, set times, fsync; rename to its staged name, fsync of
// the staging directory; exchange with the target; inspect what came out; save
// it durably when its checksum is not in Known; fsync of the parent directory;
// removal of the displaced file if it has not changed since its inspection.
func (t *Tree) Place(ctx context.Context, placements []api.Placement) []api.Placed {
	out := make([]api.Placed, len(placements))
	moves := make([]*move, len(placements))
	for i, p := range placements {
		moves[i] = &move{Placement: p, out: &out[i]}
	}
	t.sweep(ctx, grace)
	t.retryLeftovers(ctx)
	for round := range slices.Chunk(moves, roundSize) {
		t.placeRound(ctx, round)
		again := slices.DeleteFunc(slices.Clone(round), func(m *move) bool { return !m.cross })
		if len(again) > 0 {
			t.beside = true
			for _, m := range again {
				*m = move{Placement: m.Placement, out: m.out}
				m.out.Err = nil
			}
			t.placeRound(ctx, again)
			for _, m := range again {
				if m.cross {
					m.out.Err = fmt.Errorf("no directory outside the team directory is on its file system, it may be a mount point: %w", m.out.Err)
				}
			}
		}
	}
	for i := range out {
		if out[i].Err != nil {
			out[i].Err = fmt.Errorf("placing %q: %w", placements[i].Key, out[i].Err)
		}
	}
	return out
}

func (t *Tree) placeRound(ctx context.Context, moves []*move) {
	root, err := t.openRoot()
	if err != nil {
		failAll(moves, err)
		return
	}
	defer root.release()
	p := newPool(root)
	defer p.release()
	remaining := slices.DeleteFunc(slices.Clone(moves), func(m *move) bool {
		done, err := t.prepare(ctx, p, m)
		m.out.Err = err
		return done || err != nil
	})
	if len(remaining) == 0 {
		return
	}
	s, err := t.openStaging(root)
	if err != nil {
		failAll(remaining, err)
		return
	}
	defer s.close()
	t.stageAll(ctx, s, remaining)
	for _, m := range remaining {
		if m.out.Err == nil {
			m.out.Err = t.enter(ctx, p, s, m)
		}
	}
	if err := p.sync(); err != nil {
		// Which of them it left undurable is not worth knowing.
		failAll(slices.DeleteFunc(slices.Clone(remaining), func(m *move) bool { return m.out.Err != nil }), err)
	}
	for _, m := range remaining {
		t.finish(ctx, s, m)
	}
}

func failAll(moves []*move, err error) {
	for _, m := range moves {
		m.out.Err = err
	}
}

// prepare looks at the target before anything is written, and reports whether
// nothing needs to be.
func (t *Tree) prepare(ctx context.Context, p *pool, m *move) (done bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if api.SumString(m.Content) != m.Sum {
		return false, fmt.Errorf("%w: a content does not match its checksum", api.ErrBadAnswer)
	}
	if !t.names.takesPart(m.Key) {
		return false, &api.HeldError{Reason: api.HeldBadName, Detail: "files of that name are ignored here"}
	}
	at, err := t.locate(p, m.Key, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return false, m.expectNothing()
	}
	if err != nil {
		return false, plainError(err)
	}
	info, err := at.root.Lstat(at.name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, m.expectNothing()
	}
	if err != nil {
		return false, plainError(err)
	}
	before, links := markOf(info)
	if held := unfit(info, links); held != nil {
		return false, held
	}
	m.mode, m.exists = info.Mode().Perm()|0o400, true // what we cannot read back we cannot verify
	m.lively = t.editedLately(at.rel(), before)
	if before.size == int64(len(m.Content)) && !planted.In(planted.Rewrites) {
		same, err := at.holds(before, m.Sum)
		if same || err != nil {
			return same, err
		}
	}
	if m.mode&0o222 == 0 {
		// The exchange would not mind, but somebody did.
		return false, fixed(errReadOnly)
	}
	if m.Expect.IsZero() {
		if other, exact, err := at.twin(at.name); err == nil && !exact && other != "" {
			return false, twinError(other)
		}
		return false, api.ErrUnsettled
	}
	return false, nil
}

// expectNothing is the outcome for a target that is absent.
func (m *move) expectNothing() error {
	if m.Expect.IsZero() {
		return nil
	}
	return api.ErrUnsettled // it was there when the plan was made
}

// holds reports whether the file already has the content, durably then: an
// identical file is not rewritten, since agents order memories by their times.
func (at spot) holds(before mark, sum api.Checksum) (bool, error) {
	content, _, err := at.read(at.name, before, make([]byte, before.size+1))
	if err != nil || api.Sum(content) != sum {
		return false, nil //nolint:nilerr // the exchange will tell
	}
	f, err := at.root.OpenFile(at.name, openToSync|nonblock, 0)
	if err != nil {
		return false, nil //nolint:nilerr // as above
	}
	err = errors.Join(f.Sync(), f.Close(), atomicfile.SyncDir(at.file))
	return err == nil, err
}

// errReadOnly says that nobody may write a file.
var errReadOnly = errors.New("the file is read-only")

func twinError(other string) error {
	return &api.HeldError{Reason: api.HeldCaseTwin, Detail: fmt.Sprintf("%q is in its place", other)}
}

// plainError turns "not a directory" and its like into an outcome for one key.
func plainError(err error) error {
	if isFixed(err) {
		return fixed(err)
	}
	return err
}
