package simtest

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// label is what the name of a staged file says.
type label struct {
	kind byte // as the first letter of memdir's names: w, x or d
	key  api.Key
	sum  api.Checksum
}

// move is one placement under way.
type move struct {
	api.Placement
	out       *api.Placed
	name      string // in the team directory
	exists    bool
	here      *inode // what was there at first
	gen       int
	staged    string // in the staging directory, "" for none
	displaced bool
	done      bool
}

// Place puts contents into the tree: all are staged and synced, then each
// enters by exchange and what came out is inspected, then the directory is
// synced, then what was displaced goes.
func (t tree) Place(_ context.Context, placements []api.Placement) []api.Placed {
	out := make([]api.Placed, len(placements))
	moves := make([]*move, len(placements))
	for i, p := range placements {
		moves[i] = &move{Placement: p, out: &out[i], name: p.Key.String()}
		t.referee.placing(t.machine, p)
	}
	if t.leftovers {
		if err := t.recover(); err != nil && t.dead {
			return failed(moves, out, errDead)
		}
	}
	if t.root != present {
		return failed(moves, out, api.ErrRootMissing)
	}
	for _, m := range moves {
		m.out.Err = t.prepare(m)
	}
	remaining := slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return m.done || m.out.Err != nil })
	for _, m := range remaining {
		m.out.Err = t.stage(m)
	}
	if err := t.between(); err != nil {
		return failed(remaining, out, err)
	}
	t.disk.syncDir(staging)
	for _, m := range remaining {
		if m.out.Err == nil {
			m.out.Err = t.enter(m)
		}
	}
	if err := t.syncTeam(); err != nil {
		failed(slices.DeleteFunc(slices.Clone(remaining), func(m *move) bool { return m.out.Err != nil }), out, err)
	}
	for _, m := range remaining {
		if err := t.between(); err != nil {
			return failed(remaining, out, err)
		}
		t.discard(m.staged)
	}
	for i := range out {
		if out[i].Err == nil {
			t.referee.placed[placements[i].Key] = placements[i].Sum
			continue
		}
		out[i].Err = fmt.Errorf("placing %q: %w", placements[i].Key, out[i].Err)
	}
	return out
}

func failed(moves []*move, out []api.Placed, err error) []api.Placed {
	for _, m := range moves {
		m.out.Err = err
	}
	return out
}

// prepare looks at the target before anything is written.
func (t tree) prepare(m *move) error {
	if err := t.between(); err != nil {
		return err
	}
	f := t.disk.shown[team][m.name]
	switch {
	case f == nil && m.Expect.IsZero():
		return nil
	case f == nil:
		return api.ErrUnsettled
	}
	m.exists, m.here, m.gen = true, f, f.gen
	if f.text.sum == m.Sum && !planted.In(planted.Rewrites) {
		// Identical: made durable, not written again.
		f.sync()
		t.disk.syncDir(team)
		m.done = true
		return nil
	}
	if m.Expect.IsZero() {
		return api.ErrUnsettled
	}
	return nil
}

// stage writes one content beside the tree, durably but for its name.
func (t tree) stage(m *move) error {
	if err := t.between(); err != nil {
		return err
	}
	f := newFile()
	f.ours = true
	temp := t.stagedName(label{kind: 'w', key: m.Key})
	t.disk.relink(link{staging, temp, f})
	if err := t.between(); err != nil {
		return err
	}
	if t.treeFull > 0 && !t.w.settling {
		t.treeFull--
		t.w.stats.fault(TreeFull)
		f.write(textOf(m.Content[:len(m.Content)/2]), t.clock(), t.w.now)
		t.discard(temp)
		return fmt.Errorf("writing a temporary file: %w", errNoSpace)
	}
	f.write(text{m.Content, m.Sum}, t.clock(), t.w.now)
	t.disk.written += len(m.Content)
	if err := t.between(); err != nil {
		return err
	}
	if t.breaks() {
		t.discard(temp)
		return fmt.Errorf("writing a temporary file: %w", errIO)
	}
	if !planted.In(planted.NoFsync) {
		f.sync()
	}
	if err := t.between(); err != nil {
		return err
	}
	m.staged = t.stagedName(label{kind: 'x', key: m.Key, sum: m.Sum})
	t.disk.relink(link{staging, temp, nil}, link{staging, m.staged, f})
	return nil
}

// enter moves a staged file to its place in the tree.
func (t tree) enter(m *move) error {
	if err := t.between(); err != nil {
		return err
	}
	if t.root != present {
		return api.ErrRootMissing
	}
	here := t.disk.shown[team][m.name]
	switch {
	case !m.exists && here != nil:
		return api.ErrUnsettled
	case !m.exists:
		t.change(link{staging, m.staged, nil}, link{team, m.name, t.disk.shown[staging][m.staged]})
		m.staged = ""
		return nil
	case here == nil:
		return api.ErrUnsettled // it went away, or is about to come back
	}
	if planted.In(planted.RenameOver) {
		t.change(link{staging, m.staged, nil}, link{team, m.name, t.disk.shown[staging][m.staged]})
		m.staged = ""
		return nil
	}
	t.w.broke(promiseNoRewrite(here, m))
	t.superseded(m, here)
	t.exchange(m)
	m.displaced = true
	return t.inspect(m)
}

// superseded forgets the debt for a text whose successor the server gave out
// before it was restored. SYNC.md lets known bytes be displaced without a copy,
// since the server's history has them; that this history was lost while the
// contents were on their way, no client can know before it asks again. So the text
// counts as replaced in the history that is lost, as if they had arrived in time.
// What a client asks for after the restore is another matter: see
// [referee.pulled].
func (t tree) superseded(m *move, here *inode) {
	if t.given == t.w.restores || !slices.Contains(m.Known, here.text.sum) {
		return
	}
	t.w.owed = slices.DeleteFunc(t.w.owed, func(d debt) bool {
		return d.key == m.Key && d.text == here.text && !t.w.findsBeside(d, here)
	})
}

func (t tree) exchange(m *move) {
	mine, theirs := t.disk.shown[staging][m.staged], t.disk.shown[team][m.name]
	t.change(link{staging, m.staged, theirs}, link{team, m.name, mine})
}

// change changes names in the tree. The watcher sees our own changes as well.
func (t tree) change(links ...link) {
	t.disk.relink(links...)
	t.touched()
}

// patience is how many steps a displaced file's writer is waited for.
const patience = 3

// rest waits until nobody writes a staged file any more.
func (t tree) rest(name string) (*inode, error) {
	f := t.disk.shown[staging][name]
	for range patience {
		if err := t.between(); err != nil {
			return nil, err
		}
		if f == nil || f.writers == 0 {
			break
		}
		t.w.now = t.w.now.Add(betweenReads)
	}
	return f, nil
}

// inspect decides about what an exchange brought out: known bytes may go,
// unknown ones are saved, anything else is put back.
func (t tree) inspect(m *move) error {
	f, err := t.rest(m.staged)
	switch {
	case err != nil:
		return err
	case f.writers > 0:
		return t.takeBack(m, api.ErrUnsettled)
	case len(f.text.s) > t.maxBytes():
		return t.takeBack(m, &api.HeldError{Reason: api.HeldTooLarge, Detail: "too large"})
	case f.text.sum == m.Sum || slices.Contains(m.Known, f.text.sum):
		return nil
	}
	id, err := t.keep(m.Key, f.text, "displaced")
	if err != nil {
		return t.takeBack(m, err)
	}
	m.out.Saved = id
	return nil
}

// keep saves a copy, for the tree.
func (t tree) keep(key api.Key, content text, why string) (string, error) {
	if planted.In(planted.UnknownDropped) && why == "displaced" {
		return "dropped", nil
	}
	return t.state.Save(context.Background(), api.SavedCopy{Key: key, Content: content.s, Sum: content.sum, At: t.clock(), Why: why})
}

// takeBack undoes an exchange because of cause, which it returns.
func (t tree) takeBack(m *move, cause error) error {
	if t.dead {
		return errDead
	}
	if err := t.between(); err != nil {
		return err
	}
	m.displaced = false
	if t.root != present {
		t.keepOrLeave(m)
		return cause
	}
	here := t.disk.shown[team][m.name]
	if here == nil {
		// Ours was removed or renamed by somebody: what we displaced goes back.
		t.change(link{staging, m.staged, nil}, link{team, m.name, t.disk.shown[staging][m.staged]})
		m.staged = ""
		return cause
	}
	t.exchange(m)
	if here.ours && here.writers == 0 && here.text.sum == m.Sum {
		return cause
	}
	if err := t.between(); err != nil {
		return err
	}
	// A later save belongs into the tree.
	if t.root == present && t.disk.shown[team][m.name] != nil {
		t.exchange(m)
	}
	t.keepOrLeave(m)
	return cause
}

// keepOrLeave saves a displaced file whose bytes nobody else may have; what
// cannot be saved now stays.
func (t tree) keepOrLeave(m *move) {
	name := m.staged
	m.staged = ""
	f, err := t.rest(name)
	if err != nil {
		return
	}
	if f.writers == 0 && f.text.sum != m.Sum && !slices.Contains(m.Known, f.text.sum) {
		m.out.Saved, err = t.keep(m.Key, f.text, "displaced")
	}
	if err == nil && f.writers == 0 {
		t.discard(name)
		return
	}
	t.leftovers = true
}

// discard removes a staged file, if there is one.
func (t tree) discard(name string) {
	if name == "" || t.dead || t.disk.shown[staging][name] == nil {
		return
	}
	t.disk.relink(link{staging, name, nil})
}

// syncTeam makes the names in the tree durable.
func (t tree) syncTeam() error {
	if err := t.between(); err != nil {
		return err
	}
	if t.breaks() {
		return fmt.Errorf("syncing a directory: %w", errIO)
	}
	t.disk.syncDir(team)
	return nil
}

// breaks reports whether an fsync fails now.
func (t tree) breaks() bool {
	if t.treeBroken == 0 || t.w.settling {
		return false
	}
	t.treeBroken--
	t.w.stats.fault(TreeBroken)
	return true
}

func (t tree) stagedName(l label) string {
	name := string(l.kind) + "-" + strconv.Itoa(t.w.stats.Staged)
	t.w.stats.Staged++
	t.labels[name] = l
	return name
}
