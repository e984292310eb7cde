package sqlitestore_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// lockOutside takes the database's write lock, as another process would.
func lockOutside(t *testing.T, dir string) (unlock func()) {
	t.Helper()
	conn, err := sqlite.OpenConn(filepath.Join(dir, "teammemd.db"), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(conn, "BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

// writeUntilKilled is a process of its own: 16 writers over 4 repos, each acknowledged write
// is one line on stdout.
func writeUntilKilled(dir string) error {
	s, err := sqlitestore.Open(context.Background(), sqlitestore.Options{Dir: dir, Serve: true})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	failed := make(chan error, 1)
	for w := range 16 {
		go func() {
			for i := 0; ; i++ {
				repo := mustRepo(fmt.Sprintf("acme/r%d", w%4))
				if i%16 == 15 {
					if err := amongWrites(s, repo, w == 0); err != nil {
						failed <- err
						return
					}
				}
				key := fmt.Sprintf("w%d/%d.md", w, i%50)
				content := fmt.Sprintf("%d %d %d ", os.Getpid(), w, i) + strings.Repeat("text ", i%800)
				c := change(key, content)
				c.Actor = api.Actor{Person: "ada", Session: strconv.Itoa(i % 7)}
				head, err := s.Update(context.Background(), repo, func(store.Tx) (store.Change, error) { return c, nil })
				if err != nil {
					failed <- err
					return
				}
				mu.Lock()
				_, err = fmt.Println(repo, head.Version, key, api.SumString(content))
				mu.Unlock()
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

// amongWrites does what is not a write: adds to the chain, redacts what was
// never there, and scrubs.
func amongWrites(s *sqlitestore.Store, repo api.Repo, scrub bool) error {
	ctx := context.Background()
	c := store.Change{At: time.Now(), Redact: []api.Checksum{api.SumString(time.Now().String())}}
	_, err := s.Update(ctx, repo, func(store.Tx) (store.Change, error) { return c, nil })
	err = errors.Join(err, s.Audit(ctx, repo, store.Event{Action: store.ActionAllow, At: time.Now(), Detail: `{"among":"writes"}`}))
	if scrub {
		err = errors.Join(err, s.Scrub(ctx))
	}
	return err
}

// acked is a write that a child said was done.
type acked struct {
	repo, key string
	version   uint64
	sum       api.Checksum
}

func writer(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), writerEnv+"="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// killWhileWriting kills a child after n acknowledged writes and returns those
// and all that were still on their way out.
func killWhileWriting(t *testing.T, dir string, n int) (writes []acked) {
	t.Helper()
	cmd := writer(t, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break // a line without its end was not said
		}
		if err != nil {
			t.Fatal(err)
		}
		var a acked
		var sum string
		if _, err := fmt.Sscan(line, &a.repo, &a.version, &a.key, &sum); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if a.sum, err = api.ParseChecksum(sum); err != nil {
			t.Fatal(err)
		}
		if writes = append(writes, a); len(writes) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || len(writes) < n {
		t.Fatalf("the child ended by itself after %d writes: %v", len(writes), err)
	}
	return writes
}

var kills = flag.Int("kills", 10, "how often a writer is killed")

// TestKilledWhileWriting: after each kill every acknowledged write is there, with
// its row in the chain, and a check finds nothing.
func TestKilledWhileWriting(t *testing.T) {
	dir := t.TempDir()
	var writes []acked
	for round := range *kills {
		writes = append(writes, killWhileWriting(t, dir, 60+40*(round%5))...)
		s := serve(t, dir)
		if head, err := s.Update(t.Context(), mustRepo("acme/r0"), putting("after.md", strconv.Itoa(round))); err != nil {
			t.Errorf("round %d: going on: %+v, %v", round, head, err)
		}
		byRepo := make(map[string][]acked)
		for _, w := range writes {
			byRepo[w.repo] = append(byRepo[w.repo], w)
		}
		for name, acknowledged := range byRepo {
			wantWrites(t, s, mustRepo(name), acknowledged)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		wantSound(t, dir)
		if t.Failed() {
			t.Fatalf("after kill %d", round+1)
		}
	}
	t.Logf("FIGURE %d kills, %d acknowledged writes, all found, every check clean", *kills, len(writes))
}

// wantWrites looks for what was acknowledged, in history, contents and chain.
func wantWrites(t *testing.T, s *sqlitestore.Store, repo api.Repo, writes []acked) {
	t.Helper()
	versions, err := s.History(t.Context(), repo, api.Key{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	history := make(map[uint64]store.Version)
	for _, v := range versions {
		history[v.Version] = v
	}
	rows, err := s.Trail(t.Context(), repo, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	made := make(map[uint64]store.AuditRow)
	for _, row := range rows {
		made[row.Version] = row
	}
	for _, w := range writes {
		got := history[w.version]
		if got.Key.String() != w.key || got.Sum != w.sum {
			t.Errorf("acknowledged %+v, found %+v", w, got)
		}
		if row := made[w.version]; row.Seals != store.SealAll([][32]byte{got.Seal()}) || row.ActorID != got.ActorID {
			t.Errorf("acknowledged %+v, the chain has %+v", w, row)
		}
		if bodies, err := s.Bodies(t.Context(), repo, []api.Checksum{w.sum}); err != nil || api.SumString(bodies[w.sum]) != w.sum {
			t.Errorf("body of %+v is missing, %v", w, err)
		}
	}
}
