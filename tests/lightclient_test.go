package tests

import (
	"context"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
	"github.com/teammem/teammemd/sync/remote"
)

// memTree is a team directory in memory, for tests with more clients than a
// machine has room for, or more time than a file system's clock knows.
type memTree struct {
	mu     sync.Mutex
	files  map[api.Key]api.Loaded // guarded by mu
	sorted []api.Local            // guarded by mu; nil when files changed
	state  *memState
}

func (m *memTree) write(key api.Key, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(key, text)
}

// set writes a file. The lock is held.
func (m *memTree) set(key api.Key, text string) {
	m.files[key], m.sorted = api.Loaded{Content: text, Sum: api.SumString(text)}, nil
}

func (m *memTree) read(key api.Key) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files[key].Content
}

// Snapshot implements [teamsync.Tree].
func (m *memTree) Snapshot(context.Context, api.Reading) (api.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sorted == nil {
		for key, file := range m.files {
			m.sorted = append(m.sorted, api.Local{Key: key, Sum: file.Sum, Bytes: len(file.Content)})
		}
		slices.SortFunc(m.sorted, func(a, b api.Local) int { return a.Key.Compare(b.Key) })
	}
	return api.Snapshot{Files: m.sorted}, nil
}

// Load implements [teamsync.Tree].
func (m *memTree) Load(_ context.Context, key api.Key, _ api.Reading) (api.Loaded, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	file, here := m.files[key]
	if !here {
		return api.Loaded{}, fs.ErrNotExist
	}
	return file, nil
}

// Persist implements [teamsync.Disk]: there is none to lose.
func (m *memTree) Persist(_ context.Context, keys []api.Key) []error { return make([]error, len(keys)) }

// Place implements [teamsync.Tree].
func (m *memTree) Place(ctx context.Context, placements []api.Placement) []api.Placed {
	m.mu.Lock()
	defer m.mu.Unlock()
	placed := make([]api.Placed, len(placements))
	for i, p := range placements {
		mine, here := m.files[p.Key]
		if here && p.Expect.IsZero() {
			placed[i].Err = api.ErrUnsettled
			continue
		}
		if here && !slices.Contains(p.Known, mine.Sum) {
			placed[i].Saved, _ = m.state.Save(ctx, api.SavedCopy{Key: p.Key, Content: mine.Content, Sum: mine.Sum}) // into memory
		}
		m.set(p.Key, p.Content)
	}
	return placed
}

// Retire implements [teamsync.Tree].
func (m *memTree) Retire(_ context.Context, key api.Key, known []api.Checksum) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if file, here := m.files[key]; here && !slices.Contains(known, file.Sum) {
		return api.ErrUnsettled
	}
	delete(m.files, key)
	m.sorted = nil
	return nil
}

// memState is a state in memory.
type memState struct {
	mu     sync.Mutex
	memory api.Memory            // guarded by mu
	saved  map[api.Checksum]bool // guarded by mu
}

// Load implements [teamsync.State].
func (s *memState) Load(context.Context) (api.Memory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	memory := s.memory
	memory.Bases = maps.Clone(s.memory.Bases)
	return memory, nil
}

// Commit implements [teamsync.State].
func (s *memState) Commit(_ context.Context, change api.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.memory.Bases, change.Bases)
	if change.Rules != "" {
		s.memory.Rules = change.Rules
	}
	if change.View != nil {
		s.memory.Epoch, s.memory.Version = change.View.Epoch, change.View.Version
	}
	return nil
}

// Save implements [teamsync.State].
func (s *memState) Purge(context.Context, []api.Checksum) error { return nil }

func (s *memState) Save(_ context.Context, saved api.SavedCopy) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved[saved.Sum] = true
	return saved.Sum.Hex(), nil
}

func (s *memState) has(sum api.Checksum) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saved[sum]
}

// noGuard finds nothing.
type noGuard struct{}

// Check implements [teamsync.Guard].
func (noGuard) Check(context.Context, api.Key, string, api.Vouched) ([]api.Finding, error) {
	return nil, nil
}

// Rules implements [teamsync.Guard].
func (noGuard) Rules() string { return "none" }

// light is a client whose directory and state are in memory. Its engine and its
// connection to the server are the real ones.
type light struct {
	tree   *memTree
	state  *memState
	engine *teamsync.Engine
}

// newLight makes a client and runs its engine until the test ends.
func newLight(t *testing.T, server teamsync.Remote, change func(*teamsync.Options)) *light {
	t.Helper()
	state := &memState{memory: api.Memory{Bases: make(map[api.Key]api.Base)}, saved: make(map[api.Checksum]bool)}
	l := &light{tree: &memTree{files: make(map[api.Key]api.Loaded), state: state}, state: state}
	opts := teamsync.Options{
		Tree: l.tree, Disk: l.tree, Remote: server, State: state, Guard: noGuard{}, Logger: slog.New(slog.DiscardHandler),
		Timing: teamsync.Timing{Debounce: 100 * time.Millisecond},
	}
	if change != nil {
		change(&opts)
	}
	l.engine = teamsync.New(opts)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.engine.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return l
}

// dial returns a real client of a server.
func dial(t *testing.T, o remote.Options, token string) *remote.Client {
	t.Helper()
	repo, err := api.ParseRepo(team)
	if err != nil {
		t.Fatal(err)
	}
	o.Repo, o.Token = repo, oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})
	c, err := remote.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func keyOf(t *testing.T, name string) api.Key {
	t.Helper()
	key, err := api.ParseKey(name)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
