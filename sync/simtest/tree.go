package simtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// rootState says where the team directory is.
type rootState int

const (
	present rootState = iota
	gone
	away
)

// errNoSpace and errIO are what a disk says.
var (
	errNoSpace = errors.New("no space left on device")
	errIO      = errors.New("input/output error")
)

// betweenReads is how far two reads of a young file are apart.
const betweenReads = 20 * time.Millisecond

// tree is the engine's Tree over a simulated disk. It reads, places and retires
// in the order that package memdir documents, one step at a time.
type tree struct{ *machine }

// mark is what an earlier reading of a process knew of a file.
type mark struct {
	file    *inode
	gen     int
	seen    time.Time
	sum     api.Checksum
	settled bool
}

// look is one reading of a file.
type look struct {
	name  string
	key   api.Key
	file  *inode
	gen   int
	text  text
	busy  bool
	ripe  bool
	known bool // whole before, by the same content
	held  *api.HeldError
}

func (t tree) read(name string, how api.Reading) look {
	f := t.disk.shown[team][name]
	l := look{name: name, key: t.w.keyOf[name], file: f, gen: f.gen, text: f.text, busy: f.writers > 0}
	old := t.marks[name]
	same := old.file == f && old.gen == f.gen
	l.ripe = same && t.w.now.Sub(old.seen) >= how.Settle || !l.busy && t.clock().Sub(f.changed) >= how.Settle
	l.known = old.settled && old.sum == f.text.sum
	if planted.In(planted.TornRead) {
		l.ripe, l.busy = true, false
	}
	if len(f.text.s) > t.maxBytes() {
		l.held = &api.HeldError{Reason: api.HeldTooLarge, Detail: "too large"}
	}
	if !same {
		old.seen = t.w.now
	}
	settled := l.ripe || l.known
	t.marks[name] = mark{f, f.gen, old.seen, f.text.sum, settled}
	return l
}

// again is the second reading of a young file.
func (t tree) again(l look) bool {
	f := t.disk.shown[team][l.name]
	return f == l.file && f.gen == l.gen && f.writers == 0 && !l.busy
}

// maxBytes is the largest text that takes part on this machine.
func (t tree) maxBytes() int {
	if t.w.history.Big {
		return api.MaxEntryBytes
	}
	return 600
}

// Snapshot lists the tree.
func (t tree) Snapshot(_ context.Context, how api.Reading) (api.Snapshot, error) {
	if err := t.between(); err != nil {
		return api.Snapshot{}, err
	}
	if t.root != present {
		return api.Snapshot{}, fmt.Errorf("opening team directory: %w", api.ErrRootMissing)
	}
	if t.leftovers {
		if err := t.recover(); t.dead {
			return api.Snapshot{}, err
		}
	}
	var looks []look
	young := false
	for _, name := range sortedNames(t.disk.shown[team]) {
		if _, isKey := t.w.keyOf[name]; isKey {
			l := t.read(name, how)
			young = young || !l.ripe && !l.known && how.Twice && l.held == nil
			looks = append(looks, l)
		}
	}
	if young {
		t.w.now = t.w.now.Add(betweenReads)
		if err := t.between(); err != nil {
			return api.Snapshot{}, err
		}
		if t.root != present {
			return api.Snapshot{}, fmt.Errorf("opening team directory: %w", api.ErrRootMissing)
		}
	}
	t.holdTwins(looks)
	var snapshot api.Snapshot
	for _, l := range looks {
		if f := t.disk.shown[team][l.name]; f == nil && young {
			continue
		}
		if l.held == nil && !l.ripe && !l.known && (!how.Twice || !t.again(l)) {
			l.held = &api.HeldError{Reason: api.HeldUnstable, Detail: "being written"}
		}
		if l.held != nil {
			snapshot.Held = append(snapshot.Held, api.HeldFile{Key: l.key, Path: l.name, Reason: l.held.Reason, Detail: l.held.Detail})
			continue
		}
		snapshot.Files = append(snapshot.Files, api.Local{Key: l.key, Sum: l.text.sum, Bytes: len(l.text.s)})
	}
	t.referee.found(t.machine, snapshot.Files)
	return snapshot, nil
}

// holdTwins holds all but one of the files whose names differ in case alone:
// one with a base goes first, then byte order.
func (t tree) holdTwins(looks []look) {
	if !t.w.history.Twins {
		return
	}
	best := map[string]int{}
	for i := range looks {
		fold := looks[i].key.Fold()
		j, taken := best[fold]
		if !taken {
			best[fold] = i
			continue
		}
		winner, loser := j, i
		if t.state.hasBase(looks[i].key) && !t.state.hasBase(looks[j].key) {
			winner, loser = i, j
		}
		best[fold] = winner
		looks[loser].held = &api.HeldError{Reason: api.HeldCaseTwin, Detail: "differs in case alone"}
	}
}

// Load reads one file whole.
func (t tree) Load(_ context.Context, key api.Key, how api.Reading) (api.Loaded, error) {
	if err := t.between(); err != nil {
		return api.Loaded{}, err
	}
	name := key.String()
	if t.root != present {
		return api.Loaded{}, api.ErrRootMissing
	}
	if t.disk.shown[team][name] == nil {
		return api.Loaded{}, fmt.Errorf("reading %q: %w", key, fs.ErrNotExist)
	}
	l := t.read(name, how)
	if l.held != nil {
		return api.Loaded{}, l.held
	}
	if !l.ripe && !l.known {
		if !how.Twice {
			return api.Loaded{}, fmt.Errorf("reading %q: %w", key, api.ErrUnsettled)
		}
		t.w.now = t.w.now.Add(betweenReads)
		if err := t.between(); err != nil {
			return api.Loaded{}, err
		}
		if t.disk.shown[team][name] == nil || !t.again(l) {
			return api.Loaded{}, fmt.Errorf("reading %q: %w", key, api.ErrUnsettled)
		}
	}
	t.referee.loaded(t.machine, key, l.text)
	return api.Loaded{Content: l.text.s, Sum: l.text.sum}, nil
}

// Persist makes files durable as they are by then: each with its names, since
// the journal of names keeps its order.
func (t tree) Persist(_ context.Context, keys []api.Key) []error {
	errs := make([]error, len(keys))
	for i, key := range keys {
		if errs[i] = t.persist(key.String()); errs[i] != nil {
			errs[i] = fmt.Errorf("making %q durable: %w", key, errs[i])
		}
	}
	if err := t.syncTeam(); err != nil {
		for i := range errs {
			errs[i] = err
		}
	}
	return errs
}

func (t tree) persist(name string) error {
	if err := t.between(); err != nil {
		return err
	}
	if t.root != present {
		return api.ErrRootMissing
	}
	f := t.disk.shown[team][name]
	if f == nil {
		return nil
	}
	if t.breaks() {
		return errIO
	}
	f.sync()
	return nil
}

// guard finds the mark.
type guard struct{ *machine }

// Rules change with every start of a process, as an update would change them: all
// is judged again, whatever else happens, and with the same outcome. In some
// histories they stay the same: else nobody would notice a first cycle that is
// wrong about files that it need not read again.
func (g guard) Rules() string {
	if g.w.history.Steady {
		return "simulated"
	}
	return "simulated " + strconv.Itoa(g.starts)
}

// Check is asked from several goroutines and changes nothing.
func (g guard) Check(_ context.Context, key api.Key, content string, _ api.Vouched) ([]api.Finding, error) {
	if g.guardBroken > 0 {
		return nil, errors.New("the rules cannot be read")
	}
	if strings.Contains(content, secretMark) {
		return []api.Finding{{Key: key.String(), Line: 1, Rule: "simulated", Reason: "looks like a secret"}}, nil
	}
	return nil, nil
}
