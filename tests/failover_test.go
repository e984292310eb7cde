//go:build unix

package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

var failovers = flag.Int("failovers", 1, "rounds of TestFailover")

// TestFailover kills the primary of a PostgreSQL with two standbys, of which one
// confirms every commit, while three clients write through two servers. The
// standby that is furthest ahead is promoted. Every write that was acknowledged is
// there, and nobody was restarted.
func TestFailover(t *testing.T) {
	var acked, retried int
	outages := make([]time.Duration, 0, *failovers)
	for round := range *failovers {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			f := newFailover(t)
			outage := f.play()
			f.check()
			outages = append(outages, outage)
			acked, retried = acked+len(f.acked), retried+int(f.retried.Load())
		})
	}
	if t.Failed() || len(outages) == 0 {
		return
	}
	slices.Sort(outages)
	t.Logf("FIGURE %d failovers of PostgreSQL under load: %d writes acknowledged, 0 lost, %d tried again; outage %d ms at least, median %d ms, longest %d ms",
		len(outages), acked, retried, outages[0].Milliseconds(), quantile(outages, 0.5).Milliseconds(), outages[len(outages)-1].Milliseconds())
}

// TestFailoverToTheWrongStandby cuts one standby off before the primary is killed,
// and promotes both: the referee finds that the one that is behind lacks writes
// that were acknowledged, and the other none. So it would notice a wrong choice.
func TestFailoverToTheWrongStandby(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	stop := f.load()
	defer stop()
	f.awaitWrites(failoverAfter)
	cut := f.standbys[1]
	cut.Leave(t)
	f.primary.Until(t, "SELECT count(*) FROM pg_stat_replication", "1")
	f.awaitWrites(f.count() + failoverAfter)
	f.primary.Kill(t)
	stop()
	ahead, behind := f.furthest()
	if behind != cut {
		t.Error("the standby that was cut off counts as the one that is furthest ahead")
	}
	for _, c := range f.standbys {
		c.Configure(t, "synchronous_standby_names = ''") // nobody is left to confirm, and the servers are to end
		c.Reload(t)
		c.Promote(t)
	}
	// Each write after the cut is missing, but for keys that were the same before.
	if lost := f.lost(behind); lost < failoverAfter/2 {
		t.Errorf("%d of %d acknowledged writes are lost, %d were made after the cut: the referee notices nothing", lost, f.count(), failoverAfter)
	}
	if lost := f.lost(ahead); lost > 0 {
		t.Errorf("%d of %d acknowledged writes are lost with the right standby", lost, f.count())
	}
}

// failover is one round.
type failover struct {
	t        *testing.T
	primary  *pgtest.Cluster
	standbys []*pgtest.Cluster
	servers  []*companion
	token    string

	retried atomic.Int64
	mu      sync.Mutex
	acked   []acknowledged // guarded by mu
}

// acknowledged is a write that a server answered with 200.
type acknowledged struct {
	what string // repo, key and checksum
	at   time.Time
}

const (
	failoverClients = 3
	failoverRepos   = 3
	// before and after the kill
	failoverBefore = 400
	failoverAfter  = 200
)

func newFailover(t *testing.T) *failover {
	t.Helper()
	f := &failover{t: t}
	f.primary = pgtest.New(t)
	f.standbys = []*pgtest.Cluster{f.primary.Standby(t, "one"), f.primary.Standby(t, "two")}
	const confirmed = "synchronous_standby_names = 'ANY 1 (one, two)'"
	for _, c := range append(f.standbys, f.primary) {
		c.Configure(t, confirmed)
		c.Reload(t)
	}
	f.primary.Until(t, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'", "2")
	dsn := pgtest.MultiHost(append(f.standbys, f.primary)...)
	for i := range 2 {
		f.servers = append(f.servers, newCompanionOn(t, "server"+strconv.Itoa(i), dsn))
	}
	f.token = f.servers[0].token("writers", "acme/*", "writer")
	return f
}

// play lets the clients write, kills the primary, promotes, and returns how long
// nobody's write was acknowledged.
func (f *failover) play() time.Duration {
	f.t.Helper()
	stop := f.load()
	defer stop()
	f.awaitWrites(failoverBefore)
	killed := time.Now()
	f.primary.Kill(f.t)
	ahead, behind := f.furthest()
	behind.Follow(f.t, ahead, f.nameOf(behind))
	ahead.Promote(f.t)
	f.awaitWrites(f.count() + failoverAfter)
	return f.gap(killed)
}

// load lets the clients write until stop, which may be called twice.
func (f *failover) load() (stop func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	var clients sync.WaitGroup
	for n := range failoverClients {
		clients.Go(func() { f.write(ctx, n) })
	}
	return func() { cancel(); clients.Wait() }
}

func (f *failover) nameOf(c *pgtest.Cluster) string {
	if c == f.standbys[0] {
		return "one"
	}
	return "two"
}

// furthest returns the standby with the most of the log first: what it received
// counts as much as what it replayed, and after a restart alone the latter is
// known.
func (f *failover) furthest() (ahead, behind *pgtest.Cluster) {
	f.t.Helper()
	position := func(c *pgtest.Cluster) int64 {
		text := c.Value(f.t, "SELECT GREATEST(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'::pg_lsn")
		bytes, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			f.t.Fatal(err)
		}
		return bytes
	}
	one, two := position(f.standbys[0]), position(f.standbys[1])
	if two > one {
		return f.standbys[1], f.standbys[0]
	}
	return f.standbys[0], f.standbys[1]
}

func (f *failover) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.acked)
}

func (f *failover) awaitWrites(n int) {
	f.t.Helper()
	await(f.t, time.Minute, fmt.Sprintf("%d writes", n), func() bool { return f.count() >= n })
}

// gap returns how long after a moment the first write was acknowledged that did
// not come at once.
func (f *failover) gap(since time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, longest := since, time.Duration(0)
	for _, a := range f.acked {
		if a.at.After(since) {
			longest = max(longest, a.at.Sub(last))
			last = a.at
		}
	}
	return longest
}

// write is one client: a bare one, that sends the same again until it is
// acknowledged.
func (f *failover) write(ctx context.Context, client int) {
	server := f.servers[client%len(f.servers)]
	for i := 0; ctx.Err() == nil; i++ {
		repo := fmt.Sprintf("acme/r%d", (client+i)%failoverRepos)
		key, text := fmt.Sprintf("%d/%d.md", client, i%100), fmt.Sprintf("client %d wrote %d", client, i)
		for f.put(ctx, server, repo, key, text) != http.StatusOK {
			f.retried.Add(1)
			select {
			case <-ctx.Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		f.mu.Lock()
		f.acked = append(f.acked, acknowledged{strings.Join([]string{repo, key, api.SumString(text).String()}, " "), time.Now()})
		f.mu.Unlock()
	}
}

// put sends one entry and returns the status, 0 for no answer.
func (f *failover) put(ctx context.Context, server *companion, repo, key, text string) int {
	body, err := json.Marshal(api.PushRequest{Entries: map[string]string{key: text}})
	if err != nil {
		f.t.Error(err)
		return 0
	}
	address := server.url + api.PathTeamMemory + "?" + url.Values{"repo": {repo}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, address, bytes.NewReader(body))
	if err != nil {
		f.t.Error(err)
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+f.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := bare.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(resp.Body)
	switch {
	case resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "":
		f.t.Error("a 503 has no Retry-After")
	case resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable:
		f.t.Errorf("status %d: %s", resp.StatusCode, shorten(string(said)))
	}
	return resp.StatusCode
}

// check sees that everything that was acknowledged is there, and that nobody was
// restarted.
func (f *failover) check() {
	f.t.Helper()
	promoted := f.standbys[0]
	if promoted.Value(f.t, "SELECT pg_is_in_recovery()") != "f" {
		promoted = f.standbys[1]
	}
	if lost := f.lost(promoted); lost > 0 {
		f.t.Errorf("%d of %d acknowledged writes are lost", lost, len(f.acked))
	}
	for i, server := range f.servers {
		if !server.running() {
			f.t.Errorf("server %d ended", i)
		}
	}
}

// lost counts the writes that were acknowledged and that a cluster has not.
func (f *failover) lost(c *pgtest.Cluster) (lost int) {
	f.t.Helper()
	found := make(map[string]bool)
	text := c.Value(f.t, `SELECT string_agg(r.name || ' ' || v.key || ' ' || encode(v.sum, 'hex'), E'\n')
		FROM versions v JOIN repos r ON r.repo = v.repo`)
	for line := range strings.SplitSeq(text, "\n") {
		found[line] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.acked {
		if !found[strings.Replace(a.what, "sha256:", "", 1)] {
			lost++
		}
	}
	return lost
}
