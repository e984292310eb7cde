package sqlitestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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
				key := fmt.Sprintf("w%d/%d.md", w, i%50)
				content := fmt.Sprintf("%d %d %d ", os.Getpid(), w, i) + strings.Repeat("text ", i%800)
				head, err := s.Update(context.Background(), repo, putting(key, content))
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

func TestKilledWhileWriting(t *testing.T) {
	dir := t.TempDir()
	var writes []acked
	for round := range 3 {
		writes = append(writes, killWhileWriting(t, dir, 300+200*round)...)
		s := serve(t, dir)
		history := make(map[string]map[uint64]store.Version)
		for _, w := range writes {
			repo := mustRepo(w.repo)
			if history[w.repo] == nil {
				history[w.repo] = make(map[uint64]store.Version)
				versions, err := s.History(t.Context(), repo, api.Key{}, 0)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range versions {
					history[w.repo][v.Version] = v
				}
			}
			got := history[w.repo][w.version]
			if got.Key.String() != w.key || got.Sum != w.sum {
				t.Errorf("round %d: acknowledged %+v, found %+v", round, w, got)
			}
			if bodies, err := s.Bodies(t.Context(), repo, []api.Checksum{w.sum}); err != nil || api.SumString(bodies[w.sum]) != w.sum {
				t.Errorf("round %d: body of %+v is missing, %v", round, w, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		wantSound(t, dir)
	}
	t.Logf("%d acknowledged writes, all found", len(writes))
}
