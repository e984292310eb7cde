package sqlitestore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

const (
	crashDirVariable = "TEAMMEMD_TEST_CRASH_DIR"
	crashRounds      = 3
	crashWriters     = 8
	crashAcks        = 150 // acknowledged writes of a round before the kill
)

// TestKilledProcess kills a process that writes: whatever it acknowledged is
// there afterwards, and the database is sound.
func TestKilledProcess(t *testing.T) {
	if dir := os.Getenv(crashDirVariable); dir != "" {
		writeUntilKilled(t, dir)
		return
	}
	dir := t.TempDir()
	acked := map[string]ack{}
	for round := range crashRounds {
		for _, a := range killAWriter(t, dir, round) {
			acked[a.key] = a
		}
		checkAcknowledged(t, dir, acked)
	}
	if len(acked) < crashRounds*crashAcks {
		t.Errorf("only %d writes were acknowledged", len(acked))
	}
}

// ack is one line of the child: a key that is written once, its content, and the
// repo and version that took it.
type ack struct {
	repo    string
	version uint64
	key     string
}

func (a ack) content() string { return strings.Repeat(a.key+"\n", 100) }

// killAWriter runs a child until it has acknowledged enough, and returns all
// that it said before it died.
func killAWriter(t *testing.T, dir string, round int) (acks []ack) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledProcess$", "-test.timeout=60s")
	child.Env = append(os.Environ(), crashDirVariable+"="+dir, "TEAMMEMD_TEST_CRASH_ROUND="+strconv.Itoa(round))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var a ack
		if n, _ := fmt.Sscanf(lines.Text(), "ack %s %d %s", &a.repo, &a.version, &a.key); n != 3 {
			continue // what go test prints, or the last line, cut short
		}
		if acks = append(acks, a); len(acks) == crashAcks {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || len(acks) < crashAcks {
		t.Fatalf("the child ended on its own after %d writes: %v", len(acks), err)
	}
	return acks
}

func checkAcknowledged(t *testing.T, dir string, acked map[string]ack) {
	t.Helper()
	s := open(t, dir, true)
	defer s.Close()
	for _, a := range acked {
		repo := repoOf(t, a.repo)
		head := headOf(t, s, a.repo)
		sum := api.SumString(a.content())
		if item, ok := head.Item(keyOf(t, a.key)); !ok || item.Version != a.version || item.Sum != sum {
			t.Errorf("%s of version %d is lost; the head has version %d", a.key, a.version, head.Version)
			continue
		}
		bodies, err := s.Bodies(t.Context(), repo, []api.Checksum{sum})
		if err != nil || bodies[sum] != a.content() {
			t.Errorf("the body of %s: %v", a.key, err)
		}
		versions, err := s.History(t.Context(), repo, keyOf(t, a.key), 0)
		if err != nil || len(versions) != 1 || versions[0].Version != a.version {
			t.Errorf("the history of %s: %+v, %v", a.key, versions, err)
		}
	}
	checkIntegrity(t, dir)
}

// writeUntilKilled is the child: it says what was acknowledged, at once.
func writeUntilKilled(t *testing.T, dir string) {
	s, err := sqlitestore.Open(context.Background(), sqlitestore.Options{Dir: dir, Serve: true})
	if err != nil {
		t.Fatal(err)
	}
	round := os.Getenv("TEAMMEMD_TEST_CRASH_ROUND")
	var wg sync.WaitGroup
	for i := range crashWriters {
		wg.Go(func() {
			for n := 0; ; n++ {
				a := ack{repo: fmt.Sprintf("acme/r%d", i%3), key: fmt.Sprintf("%s-%d-%d.md", round, i, n)}
				head, err := s.Update(context.Background(), repoOf(t, a.repo), always(puts(t, a.key, a.content())))
				if err != nil {
					t.Error(err)
					return
				}
				line := fmt.Sprintf("ack %s %d %s\n", a.repo, head.Version, a.key)
				if _, err := os.Stdout.WriteString(line); err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
}
