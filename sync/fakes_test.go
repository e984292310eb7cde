package sync_test

import (
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// The fakes are referees: they fail the test when the engine breaks their
// contract.

// tree is a team directory in memory.
type tree struct {
	t     *testing.T
	mu    sync.Mutex
	files map[api.Key]string
	saves func(api.SavedCopy)
	// gone makes the root missing.
	gone bool
	// rule is what the last snapshot was asked for.
	rule api.Reading
	// had lists every content that each file ever had.
	had map[api.Key][]api.Checksum
	// served reports whether the server ever had this content for the key.
	served func(api.Key, string) bool
	// merges lists the merges that may be placed, each with the server's text
	// that is in it.
	merges map[string]string
	// broken lists the files that cannot be made durable, and why.
	broken map[api.Key]error
}

// put changes a file. The caller holds mu.
func (f *tree) put(k api.Key, content string) {
	f.files[k] = content
	f.had[k] = append(f.had[k], api.SumString(content))
}

// holds reports whether the file ever had the content.
func (f *tree) holds(k api.Key, sum api.Checksum) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.had[k], sum)
}

func (f *tree) write(name, content string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(key(f.t, name), content)
}

func (f *tree) remove(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.files, key(f.t, name))
}

func (f *tree) read(name string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, ok := f.files[key(f.t, name)]
	return content, ok
}

// want checks the text of a file.
func (f *tree) want(when, name, content string) {
	f.t.Helper()
	if got, here := f.read(name); !here || got != content {
		f.t.Errorf("%s: %s has %q here, want %q", when, name, got, content)
	}
}

func (f *tree) Snapshot(_ context.Context, how api.Reading) (api.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rule = how
	if f.gone {
		return api.Snapshot{}, api.ErrRootMissing
	}
	var snapshot api.Snapshot
	for _, k := range slices.SortedFunc(maps.Keys(f.files), api.Key.Compare) {
		content := f.files[k]
		if strings.HasPrefix(content, "\x00") {
			snapshot.Held = append(snapshot.Held, api.HeldFile{Key: k, Path: k.String(), Reason: api.HeldNotText})
			continue
		}
		snapshot.Files = append(snapshot.Files, api.Local{Key: k, Sum: api.SumString(content), Bytes: len(content)})
	}
	return snapshot, nil
}

func (f *tree) Load(_ context.Context, k api.Key, _ api.Reading) (api.Loaded, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, ok := f.files[k]
	if !ok {
		return api.Loaded{}, fs.ErrNotExist
	}
	return api.Loaded{Content: content, Sum: api.SumString(content)}, nil
}

func (f *tree) Persist(_ context.Context, keys []api.Key) []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	errs := make([]error, len(keys))
	for i, k := range keys {
		errs[i] = f.broken[k]
	}
	return errs
}

func (f *tree) Place(_ context.Context, placements []api.Placement) []api.Placed {
	f.mu.Lock()
	defer f.mu.Unlock()
	var placed []api.Placed
	for _, p := range placements {
		if api.SumString(p.Content) != p.Sum {
			f.t.Errorf("placement of %q does not match its checksum", p.Key)
		}
		if theirs, merged := f.merges[p.Content]; merged && f.served(p.Key, theirs) {
			f.had[p.Key] = append(f.had[p.Key], api.SumString(theirs))
		} else if !f.served(p.Key, p.Content) {
			f.t.Errorf("%q was placed with a text that the server never had there: nothing else belongs where agents read", p.Key)
		}
		mine, here := f.files[p.Key]
		switch {
		case here && p.Expect.IsZero():
			placed = append(placed, api.Placed{Err: api.ErrUnsettled})
			continue
		case here && !slices.Contains(p.Known, api.SumString(mine)):
			f.saves(api.SavedCopy{Key: p.Key, Content: mine, Sum: api.SumString(mine), Why: "displaced"})
		}
		f.put(p.Key, p.Content)
		placed = append(placed, api.Placed{})
	}
	return placed
}

func (f *tree) Retire(_ context.Context, k api.Key, known []api.Checksum) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	mine, here := f.files[k]
	if !here {
		return nil
	}
	if !slices.Contains(known, api.SumString(mine)) {
		return api.ErrUnsettled
	}
	f.saves(api.SavedCopy{Key: k, Content: mine, Sum: api.SumString(mine), Why: "retired"})
	delete(f.files, k)
	return nil
}

// state remembers in memory; it outlives the engine that uses it.
type state struct {
	t      *testing.T
	mu     sync.Mutex
	memory api.Memory
	saved  []api.SavedCopy
	// holds reports whether the file ever had the content.
	holds func(api.Key, api.Checksum) bool
}

func (s *state) keep(c api.SavedCopy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = append(s.saved, c)
}

func (s *state) copies() []api.SavedCopy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.saved)
}

// wantCopy checks that there is one saved copy, and which.
func (s *state) wantCopy(content, why string) {
	s.t.Helper()
	if copies := s.copies(); len(copies) != 1 || copies[0].Content != content || copies[0].Why != why {
		s.t.Errorf("saved copies %+v, want %q alone, as %s", copies, content, why)
	}
}

func (s *state) Load(context.Context) (api.Memory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.memory
	m.Bases = maps.Clone(s.memory.Bases)
	return m, nil
}

func (s *state) Commit(_ context.Context, r api.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory.Bases == nil {
		s.memory.Bases = map[api.Key]api.Base{}
	}
	for k, base := range r.Bases {
		if !base.Sum.IsZero() && base.Sum != s.memory.Bases[k].Sum && !s.holds(k, base.Sum) {
			s.t.Errorf("the base of %q was recorded before the file was in place", k)
		}
	}
	maps.Copy(s.memory.Bases, r.Bases)
	if r.Rules != "" {
		s.memory.Rules = r.Rules
	}
	if r.View != nil {
		s.memory.Epoch, s.memory.Version = r.View.Epoch, r.View.Version
	}
	return nil
}

func (s *state) Purge(context.Context, []api.Checksum) error { return nil }

func (s *state) Save(_ context.Context, c api.SavedCopy) (string, error) {
	s.keep(c)
	return c.Sum.Hex()[:8], nil
}

// remote is a server in memory. Before answers replaces an answer when it
// returns an error.
type remote struct {
	t       *testing.T
	mu      sync.Mutex
	epoch   string
	version uint64
	live    map[api.Key]string
	had     map[api.Key][]string // every content that a key ever had
	tombs   map[api.Key]uint64
	allowed map[api.Key]map[string]string // what people let pass in live
	notify  chan struct{}                 // capacity 1
	looks   int
	pushes  []api.Batch
	before  func(call string, batch api.Batch) error
}

func (r *remote) hook(call string, batch api.Batch) error {
	r.mu.Lock()
	before := r.before
	r.mu.Unlock()
	if before == nil {
		return nil
	}
	return before(call, batch)
}

// put changes an entry. The caller holds mu.
func (r *remote) put(k api.Key, content string) {
	r.live[k] = content
	r.had[k] = append(r.had[k], content)
}

// served reports whether a key ever had this content.
func (r *remote) served(k api.Key, content string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.had[k], content)
}

func (r *remote) set(name, content string) {
	r.mu.Lock()
	r.version++
	r.put(key(r.t, name), content)
	delete(r.tombs, key(r.t, name))
	r.mu.Unlock()
	r.ring()
}

// vouch is set by somebody who let findings pass.
func (r *remote) vouch(name, content string, rules map[string]string) {
	r.mu.Lock()
	if r.allowed == nil {
		r.allowed = map[api.Key]map[string]string{}
	}
	r.allowed[key(r.t, name)] = rules
	r.mu.Unlock()
	r.set(name, content)
}

func (r *remote) forget(name string) {
	r.mu.Lock()
	r.version++
	delete(r.live, key(r.t, name))
	r.tombs[key(r.t, name)] = r.version
	r.mu.Unlock()
	r.ring()
}

func (r *remote) ring() {
	select {
	case r.notify <- struct{}{}:
	default:
	}
}

func (r *remote) get(name string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	content, ok := r.live[key(r.t, name)]
	return content, ok
}

// want checks the text of an entry.
func (r *remote) want(when, name, content string) {
	r.t.Helper()
	if got, there := r.get(name); !there || got != content {
		r.t.Errorf("%s: %s has %q on the server, want %q", when, name, got, content)
	}
}

// meet sets what calls meet before they are answered, nil for nothing.
func (r *remote) meet(before func(call string, batch api.Batch) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = before
}

// fail makes one kind of calls fail.
func (r *remote) fail(call string, err error) {
	r.meet(func(now string, _ api.Batch) error {
		if now == call {
			return err
		}
		return nil
	})
}

func (r *remote) Confirm(_ context.Context, at api.Position, _ api.Checksum) error {
	if err := r.hook("confirm", api.Batch{}); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.Epoch != r.epoch || at.Version > r.version {
		r.t.Errorf("confirmed %v, the server is at %s;%d", at, r.epoch, r.version)
	}
	return nil
}

func (r *remote) Hashes(context.Context, api.Checksum) (*api.View, error) {
	if err := r.hook("hashes", api.Batch{}); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks++
	if r.version == 0 {
		return nil, api.Errorf(api.ErrNotFound, "")
	}
	view := &api.View{Epoch: r.epoch, Version: r.version, Checksum: api.SumString(r.epoch + string(rune(r.version))), Sums: map[api.Key]api.Checksum{}, Tombs: maps.Clone(r.tombs)}
	for k, content := range r.live {
		view.Sums[k] = api.SumString(content)
	}
	view.Allowed = maps.Clone(r.allowed)
	return view, nil
}

func (r *remote) Push(_ context.Context, batch api.Batch) (api.Pushed, error) {
	if err := r.hook("push", batch); err != nil {
		return api.Pushed{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.IsSortedFunc(batch.Entries, func(a, b api.Outgoing) int { return a.Key.Compare(b.Key) }) {
		r.t.Error("a batch is not sorted by key")
	}
	r.pushes = append(r.pushes, batch)
	for _, o := range batch.Entries {
		have := ""
		if content, ok := r.live[o.Key]; ok {
			have = api.SumString(content).String()
		}
		if have != o.Expect && have != o.Sum.String() {
			return api.Pushed{}, &api.Error{Err: api.ErrPrecondition}
		}
	}
	r.version++
	for _, o := range batch.Entries {
		r.put(o.Key, o.Content)
	}
	return api.Pushed{Epoch: r.epoch, Version: r.version, Checksum: api.SumString(r.epoch + string(rune(r.version)))}, nil
}

func (r *remote) Pull(_ context.Context, keys []api.Key) (api.Pulled, error) {
	batch := api.Batch{}
	for _, k := range keys {
		batch.Entries = append(batch.Entries, api.Outgoing{Key: k})
	}
	if err := r.hook("pull", batch); err != nil {
		return api.Pulled{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if keys == nil {
		keys = slices.Collect(maps.Keys(r.live))
	}
	pulled := api.Pulled{At: api.Position{Epoch: r.epoch, Version: r.version}}
	for _, k := range keys {
		if content, ok := r.live[k]; ok {
			pulled.Entries = append(pulled.Entries, api.Incoming{Key: k, Content: content, Sum: api.SumString(content), Allowed: r.allowed[k]})
		}
	}
	return pulled, nil
}

func (r *remote) Follow(ctx context.Context, notify func(api.Position)) error {
	if err := r.hook("follow", api.Batch{}); err != nil {
		return err
	}
	for {
		r.mu.Lock()
		at := api.Position{Epoch: r.epoch, Version: r.version}
		r.mu.Unlock()
		notify(at)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.notify:
		}
	}
}

// guards finds a secret where a text says "hush".
type guards struct{}

func (guards) Check(_ context.Context, k api.Key, content string, _ api.Vouched) ([]api.Finding, error) {
	if before, _, found := strings.Cut(content, "hush"); found {
		return []api.Finding{{Key: k.String(), Line: 1 + strings.Count(before, "\n"), Column: 1, Rule: "hush-rule", Tier: "block1", Reason: "it says hush"}}, nil
	}
	return nil, nil
}

// Rules implements [teamsync.Guard].
func (guards) Rules() string { return "hush-1" }

// rig is one machine and one server.
type rig struct {
	tree   *tree
	state  *state
	remote *remote
	engine *teamsync.Engine
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := &state{t: t}
	r := &remote{
		t: t, epoch: "e1", live: map[api.Key]string{}, had: map[api.Key][]string{}, tombs: map[api.Key]uint64{},
		notify: make(chan struct{}, 1),
	}
	f := &tree{t: t, files: map[api.Key]string{}, had: map[api.Key][]api.Checksum{}, saves: s.keep, served: r.served}
	s.holds = f.holds
	return &rig{tree: f, state: s, remote: r}
}

// start runs an engine until the test ends, or the returned function ends it and
// waits.
func (r *rig) start(t *testing.T, change func(*teamsync.Options)) (stop func()) {
	t.Helper()
	opts := teamsync.Options{Tree: r.tree, Disk: r.tree, Remote: r.remote, State: r.state, Guard: guards{}, Seed: 1}
	if change != nil {
		change(&opts)
	}
	r.engine = teamsync.New(opts)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.engine.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func (r *rig) sync(t *testing.T, mode teamsync.Mode) teamsync.Report {
	t.Helper()
	report, err := r.engine.Sync(t.Context(), mode)
	if err != nil {
		t.Fatalf("Sync: %v", err)
	}
	return report
}
