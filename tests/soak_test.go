//go:build !windows

package tests

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/sync/statedir"
	"github.com/teammem/teammemd/tests/chaos"
)

var (
	histories    = flag.Int("histories", 20, "histories of real processes that TestSoak plays")
	firstHistory = flag.Uint64("history", 1, "seed of the first of them")
)

// atOnce is how many histories run at a time: they wait more than they work.
const atOnce = 6

// TestSoak plays histories of three people on three machines, real processes all
// of them, through a proxy that spoils what it can, while processes are killed
// and stopped. Afterwards each promise of the engine is checked. What people do
// follows from a seed; when the processes get to it does not.
func TestSoak(t *testing.T) {
	count := *histories
	if testing.Short() {
		count = min(count, 2)
	}
	var next, edits, acked atomic.Uint64
	var longest atomic.Int64
	var players sync.WaitGroup
	begun := time.Now()
	for range min(atOnce, count) {
		players.Go(func() {
			for n := next.Add(1) - 1; n < uint64(count); n = next.Add(1) - 1 {
				seed := *firstHistory + n
				t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
					s := newSoak(t, seed)
					defer s.tell()
					s.play()
					took := s.settle()
					s.check()
					edits.Add(uint64(s.edits))
					acked.Add(uint64(s.acked))
					for was := longest.Load(); int64(took) > was && !longest.CompareAndSwap(was, int64(took)); was = longest.Load() {
					}
				})
			}
		})
	}
	players.Wait()
	verdict := "0 lost"
	if t.Failed() {
		verdict = "a promise was broken"
	}
	t.Logf("FIGURE %d histories of real processes: %d edits, %d accepted writes, %s; at most %d ms from the last fault to convergence; %d s",
		count, edits.Load(), acked.Load(), verdict, time.Duration(longest.Load()).Milliseconds(), int(time.Since(begun).Seconds()))
}

// soak is one history.
type soak struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand
	server *companion
	proxy  *chaos.Proxy
	hands  []*hand
	boss   string // a maintainer's token
	secret string // planted, to be found nowhere else

	edits, acked int
	// ever holds the checksum of every content that a key was given here.
	ever map[string]map[api.Checksum]bool
	// retired are the keys that the boss has retired at some time.
	retired map[string]bool
	story   []string
}

// hand is one person at one machine.
type hand struct {
	*machine
	s      *soak
	daemon *process
	token  string
	paths  config.Paths
	// last is the newest save of this person for each key.
	last map[string]string
	// empty are the keys whose file was emptied and has to be filled again.
	empty map[string]bool
	// secrets are the keys that hold the planted value in the end.
	secrets map[string]bool
}

func newSoak(t *testing.T, seed uint64) *soak {
	t.Helper()
	s := &soak{
		t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 2026)),
		ever: make(map[string]map[api.Checksum]bool), retired: make(map[string]bool),
	}
	s.secret = plantedValue(t, seed)
	s.server = newCompanion(t, "-v")
	s.boss = s.server.token("boss", team, "maintainer")
	writer := s.server.token("all", team, "writer")
	s.proxy = chaos.Start(t, chaos.Options{Target: s.server.url, Seed: seed})
	for _, name := range []string{"ada", "ben", "cyd"} {
		h := &hand{
			machine: newMachine(t, name), s: s, token: writer,
			last: make(map[string]string), empty: make(map[string]bool), secrets: make(map[string]bool),
		}
		h.extra = []string{"TEAMMEMD_LOG=debug"}
		h.config("debounce = \"100ms\"\nmax_wait = \"1s\"\npoll = \"1s\"\n")
		h.enroll(s.proxy.URL(), writer, team)
		h.paths = pathsOf(t, h.machine)
		h.daemon = h.machine.daemon()
		s.hands = append(s.hands, h)
	}
	return s
}

// pathsOf finds a machine's places the way that the program does.
func pathsOf(t *testing.T, m *machine) config.Paths {
	t.Helper()
	paths, err := config.FindPaths(func(name string) string {
		for _, pair := range m.env() {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// note remembers what happened, for the report of a failure.
func (s *soak) note(format string, args ...any) {
	s.story = append(s.story, fmt.Sprintf("%s  ", time.Now().Format("05.000"))+fmt.Sprintf(format, args...))
}

// tell says of a failed history how to play it alone, and what was done in it.
func (s *soak) tell() {
	if !s.t.Failed() {
		return
	}
	s.t.Logf("alone: go test ./tests -run '^TestSoak$' -args -histories 1 -history %d", s.seed)
	const most = 120
	s.t.Logf("the history:\n  %s", strings.Join(s.story[max(0, len(s.story)-most):], "\n  "))
	for _, h := range s.hands {
		if h.daemon != nil {
			talk := strings.Split(strings.TrimSpace(h.daemon.talk()), "\n")
			s.t.Logf("the daemon of %s:\n  %s", h.name(), strings.Join(talk[max(0, len(talk)-25):], "\n  "))
		}
	}
}

func (h *hand) name() string { return filepath.Base(h.home) }

// report asks the daemon how its root stands; false when it does not say.
func (h *hand) report() (control.RootStatus, bool) {
	ctx, cancel := context.WithTimeout(h.t.Context(), stopLimit)
	defer cancel()
	client, err := control.Dial(ctx, h.paths.Socket(), h.paths.SocketNote())
	if err != nil {
		return control.RootStatus{}, false
	}
	status, err := client.Status(ctx)
	if err != nil || len(status.Roots) != 1 {
		return control.RootStatus{}, false
	}
	return status.Roots[0], true
}

// copies returns the checksums of the machine's saved copies, each of which is
// read.
func (h *hand) copies() map[api.Checksum]bool {
	h.t.Helper()
	sums := make(map[api.Checksum]bool)
	roots, err := config.LoadRoots(h.paths)
	if err != nil || len(roots) != 1 {
		h.t.Fatalf("%d roots, %v", len(roots), err)
	}
	state, err := statedir.Open(h.paths.RootState(roots[0].ID))
	if err != nil {
		h.t.Fatal(err)
	}
	defer state.Close()
	list, err := state.Copies()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, c := range list {
		_, text, err := state.ReadCopy(c.ID)
		if err != nil {
			h.t.Errorf("%s: reading a saved copy: %v", h.name(), err)
		}
		sums[api.SumString(text)] = true
	}
	return sums
}

// listed returns what a report holds, by key.
func listed(r control.RootStatus) map[string]string {
	held := make(map[string]string, len(r.Held))
	for _, h := range r.Held {
		held[h.Key] = h.Reason
	}
	return held
}

// gap returns how a hand's files differ from the server's, held keys left out.
func (h *hand) gap(entries tree, held map[string]string) []string {
	h.t.Helper()
	keys := slices.Collect(maps.Keys(held))
	return treeOf(h.t, h.team).without(keys...).differences(entries.without(keys...))
}

// settle ends all faults and waits until every machine has what the server has,
// and says so. It returns how long that took.
func (s *soak) settle() time.Duration {
	s.t.Helper()
	s.calm()
	begun := time.Now()
	s.note("calm")
	var why string
	for {
		why = s.unsettled()
		if why == "" {
			return time.Since(begun)
		}
		if time.Since(begun) > 90*time.Second {
			s.t.Fatalf("not in step %s after the last fault: %s", time.Since(begun).Round(time.Second), why)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// unsettled says what is not in step yet, "" for nothing.
func (s *soak) unsettled() string {
	full, _ := s.server.get(s.boss, team)
	for _, h := range s.hands {
		r, ok := h.report()
		if !ok {
			return h.name() + " does not answer"
		}
		if r.State != "in-sync" && r.State != "polling" || r.Pending > 0 {
			return fmt.Sprintf("%s is %s with %d pending: %s", h.name(), r.State, r.Pending, r.Error)
		}
		held := listed(r)
		if found := h.gap(full.Content.Entries, held); len(found) > 0 {
			return fmt.Sprintf("%s is %s, and not equal to the server: %s", h.name(), r.State, strings.Join(found, "; "))
		}
		for key := range h.secrets {
			if held[key] != string(api.HeldSecret) {
				return fmt.Sprintf("%s does not list %s as a secret: %v", h.name(), key, held)
			}
		}
	}
	return ""
}

// retire makes the boss retire a key.
func (s *soak) retire(key string) bool {
	a, ok := s.tryPut(map[string]any{"entries": map[string]string{}, "soft_delete_keys": []string{key}})
	if ok && a.status == http.StatusOK {
		s.retired[key] = true
		return true
	}
	return false
}
