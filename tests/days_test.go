package tests

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
	"github.com/teammem/teammemd/sync/remote"
	"github.com/teammem/teammemd/sync/statedir"
)

// lateToken is a token that is found when it is there.
type lateToken struct{ value *string }

// Token implements [oauth2.TokenSource].
func (l lateToken) Token() (*oauth2.Token, error) { return &oauth2.Token{AccessToken: *l.value}, nil }

// TestF23ServerDownForDays lives thirty days of simulated time without a server,
// with five thousand edits; then the server is there. The engine, its connection,
// its state on disk, the server and its database are the real ones; the clock,
// the wire and the directory are not.
func TestF23ServerDownForDays(t *testing.T) {
	t.Parallel()
	edits := 5000
	if testing.Short() {
		edits = 500
	}
	const away = 30 * 24 * time.Hour
	stateDir, serverDir := t.TempDir(), t.TempDir()
	begun := time.Now()
	synctest.Test(t, func(t *testing.T) {
		state, err := statedir.Open(stateDir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := state.Close(); err != nil {
				t.Error(err)
			}
		}()
		var log bytes.Buffer
		wire, token := new(inProcess), "none yet"
		repo, _ := api.ParseRepo(team) // it is one
		client, err := remote.New(remote.Options{URL: "http://server.example", Repo: repo, Token: lateToken{&token}, Transport: wire})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		l := newLight(t, client, func(o *teamsync.Options) {
			o.State, o.Logger, o.Timing = state, slog.New(slog.NewTextHandler(&log, nil)), teamsync.Timing{}
		})
		start := time.Now()
		for i := range edits {
			// Most come late: what waits is looked at in every attempt, and a real
			// processor has to do that within seconds.
			due := start.Add(time.Duration(float64(away) * math.Pow(float64(i+1)/float64(edits), 1./8)))
			<-time.After(time.Until(due))
			l.tree.write(keyOf(t, fmt.Sprintf("day-%02d/note-%04d.md", i*30/edits, i)), fmt.Sprintf("edit %d\n", i))
			l.engine.Hint(false, false)
		}
		synctest.Wait()
		if r := l.engine.Report(); r.Word != teamsync.Offline || r.Pending < edits-50 || r.NextRetry.IsZero() {
			t.Errorf("after %s: %s with %d pending, next try %v", away, r.Word, r.Pending, r.NextRetry)
		}
		e := newEmbedded(t, serverDir)
		defer e.close()
		token = e.token
		wire.mu.Lock()
		wire.handler = e.handler
		wire.mu.Unlock()
		back := time.Now()
		for l.engine.Report().Word != teamsync.InSync {
			<-time.After(time.Second)
			if late := time.Since(back); late > 10*time.Minute {
				t.Fatalf("%s after the server came back: %+v", late, l.engine.Report())
			}
		}
		checkArrived(t, client, edits)
		lines := bytes.Count(log.Bytes(), []byte("\n"))
		if lines > 40 {
			t.Errorf("%d log lines, want at most 40:\n%s", lines, shorten(log.String()))
		}
		t.Logf("FIGURE server down for 30 simulated days, %d edits: all arrived %s of simulated time after it came back, %d log lines", edits, time.Since(back), lines)
	})
	t.Logf("in %d ms", time.Since(begun).Milliseconds())
}

// checkArrived sees that the server has all edits.
func checkArrived(t *testing.T, client *remote.Client, edits int) {
	t.Helper()
	view, err := client.Hashes(t.Context(), api.Checksum{})
	if err != nil {
		t.Fatal(err)
	}
	sums := make(map[api.Checksum]bool)
	for _, sum := range view.Sums {
		sums[sum] = true
	}
	missing := 0
	for i := range edits {
		if !sums[api.SumString(fmt.Sprintf("edit %d\n", i))] {
			missing++
		}
	}
	if missing > 0 || len(view.Sums) != edits {
		t.Errorf("%d of %d edits are not among the %d entries of the server", missing, edits, len(view.Sums))
	}
}
