package tests

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
	"github.com/teammem/teammemd/sync/remote"
)

// ack is one accepted content.
type ack struct {
	version uint64
	sum     api.Checksum
}

// notary is a remote that writes down what was accepted.
type notary struct {
	teamsync.Remote
	mu   sync.Mutex
	acks []ack // guarded by mu
}

// Push implements [teamsync.Remote].
func (n *notary) Push(ctx context.Context, batch api.Batch) (api.Pushed, error) {
	pushed, err := n.Remote.Push(ctx, batch)
	if err == nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, o := range batch.Entries {
			n.acks = append(n.acks, ack{pushed.Version, o.Sum})
		}
	}
	return pushed, err
}

// TestF26LostUpdate lets eight clients write one key two thousand times: every
// content that was accepted is in history, in one order, and every other one is
// among the saved copies of whoever wrote it.
func TestF26LostUpdate(t *testing.T) {
	t.Parallel()
	clients, edits := 8, 2000
	if testing.Short() {
		edits = 80
	}
	server := newCompanion(t)
	token := server.token("all", team, "writer")
	key := keyOf(t, "MEMORY.md")
	all := make([]*light, clients)
	notaries := make([]*notary, clients)
	for i := range all {
		notaries[i] = &notary{Remote: dial(t, remote.Options{URL: server.url}, token)}
		all[i] = newLight(t, notaries[i], func(o *teamsync.Options) { o.OnDemand, o.Seed = true, uint64(i+1) })
	}
	begun := time.Now()
	var next atomic.Int64
	var hands sync.WaitGroup
	wrote := make([][]api.Checksum, clients)
	for i, l := range all {
		hands.Go(func() {
			for n := next.Add(1); n <= int64(edits); n = next.Add(1) {
				text := fmt.Sprintf("edit %d of client %d\n", n, i)
				l.tree.write(key, text)
				wrote[i] = append(wrote[i], api.SumString(text))
				for settled := false; !settled; { // before the next edit replaces it
					r, err := l.engine.Sync(t.Context(), teamsync.Mode{})
					if err != nil || r.Err != nil && r.Word != teamsync.Pending {
						t.Errorf("client %d is %s: %v, %v", i, r.Word, r.Err, err)
						return
					}
					settled = r.Word == teamsync.InSync
				}
			}
		})
	}
	hands.Wait()
	took := time.Since(begun)

	accepted := make(map[api.Checksum]uint64)
	versions := make(map[uint64]bool)
	for i, n := range notaries {
		if !slices.IsSortedFunc(n.acks, func(a, b ack) int { return int(a.version) - int(b.version) }) {
			t.Errorf("client %d saw its own edits accepted in another order", i)
		}
		for _, a := range n.acks {
			if versions[a.version] {
				t.Errorf("version %d was given to two contents", a.version)
			}
			versions[a.version], accepted[a.sum] = true, a.version
		}
	}
	for sum, version := range accepted {
		got := server.call(http.MethodGet, token, api.PathContent, url.Values{
			"repo": {team}, "key": {key.String()}, "version": {strconv.FormatUint(version, 10)},
		}, nil)
		if got.status != http.StatusOK || decode[api.ContentAnswer](t, string(got.body)).Checksum != sum {
			t.Errorf("version %d was accepted and is not in history: status %d", version, got.status)
		}
	}
	saved := 0
	for i, l := range all {
		for n, sum := range wrote[i] {
			switch _, ok := accepted[sum]; {
			case ok:
			case l.state.has(sum):
				saved++
			default:
				t.Errorf("edit %d of client %d was neither accepted nor saved", n, i)
			}
		}
		if _, err := l.engine.Sync(t.Context(), teamsync.Mode{}); err != nil || l.tree.read(key) != all[0].tree.read(key) {
			t.Errorf("client %d ends with another text, %v", i, err)
		}
	}
	full, _ := server.get(token, team)
	if got := full.Content.Entries[key.String()]; got != all[0].tree.read(key) || full.Version != uint64(len(accepted)) {
		t.Errorf("the server ends with %q at version %d after %d accepted edits", got, full.Version, len(accepted))
	}
	t.Logf("FIGURE %d clients, 1 key, %d edits: %d accepted, all in history; %d saved; %d ms", clients, edits, len(accepted), saved, took.Milliseconds())
}
