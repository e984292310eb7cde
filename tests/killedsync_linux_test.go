package tests

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/sync/statedir"
	"github.com/teammem/teammemd/tests/killat"
)

// TestF11KilledSync kills the built program before each system call of one whole
// sync. Every file is then wholly old or wholly new, and the sync after it ends as
// if nothing had happened: the same files here and on the server, one saved copy
// of each text that was displaced, and the same names in the state directory as
// after a sync that nobody disturbed.
func TestF11KilledSync(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	token := server.token("writer", "acme/*", "writer")
	old := tree{"known.md": "old\n" + sized(5000), "stays.md": "stays\n"}
	newer := tree{"known.md": "new\n" + sized(9000), "stays.md": "stays\n", "some/dir/added.md": "added\n"}
	t.Run("pull", func(t *testing.T) {
		t.Parallel()
		newKilled(t, server, token, "acme/pull", old, newer, nil).killSyncs()
	})
	t.Run("conflict", func(t *testing.T) {
		t.Parallel()
		newKilled(t, server, token, "acme/conflict", old, newer.without("some/dir/added.md"), tree{"known.md": "mine\n" + sized(7000)}).killSyncs()
	})
	t.Run("push", func(t *testing.T) {
		t.Parallel()
		k := newKilled(t, server, token, "acme/push", old, old, nil)
		k.again = func(n int) { // no text comes back: the server has had them all
			k.newer["known.md"] = fmt.Sprintf("mine, %d\n", n) + sized(5000)
			k.write("known.md", k.newer["known.md"])
			k.before["known.md"] = k.newer["known.md"]
		}
		k.killSyncs()
	})
}

// killedSync is a machine whose sync is killed again and again.
type killedSync struct {
	*machine
	server *companion
	token  string
	repo   string
	before tree     // the team directory when the sync begins
	newer  tree     // the team directory and the server when it has ended
	edits  tree     // made here and displaced by the sync: they become saved copies
	names  []string // of all that an undisturbed sync leaves at home
	// again makes the state of things in which the sync begins, for the nth time.
	again func(n int)
}

// newKilled makes a machine that was in step when all had the old texts, and has
// edits since, while the server went on to the newer ones.
func newKilled(t *testing.T, server *companion, token, repo string, old, newer, edits tree) *killedSync {
	t.Helper()
	k := &killedSync{machine: newFastMachine(t, "ada"), server: server, token: token, repo: repo, newer: maps.Clone(newer), edits: edits}
	k.enroll(server.url, token, repo)
	for key, text := range old {
		k.write(key, text)
	}
	k.sync(0)
	for key, text := range edits {
		k.write(key, text)
	}
	if a := server.push(token, repo, newer); a.status != 200 {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	k.before = treeOf(t, k.team)
	home := treeOf(t, k.home)
	k.again = func(int) { k.setBack(home) }
	k.settle("undisturbed")
	k.names = k.left()
	return k
}

// setBack gives the machine the files that it had before. Their directories stay:
// they are what is registered and locked. What a pull made goes.
func (k *killedSync) setBack(home tree) {
	k.t.Helper()
	for name := range treeOf(k.t, k.home) {
		if err := os.Remove(filepath.Join(k.home, name)); err != nil {
			k.t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(k.team, "some")); err != nil {
		k.t.Fatal(err)
	}
	for name, text := range home {
		put(k.t, filepath.Join(k.home, name), text)
	}
}

// killSyncs kills syncs before every call that changes something, and then before
// every call at all with TEAMMEMD_TEST_CRASH=all.
func (k *killedSync) killSyncs() {
	k.t.Helper()
	k.killEach(false)
	if os.Getenv("TEAMMEMD_TEST_CRASH") == "all" && !k.t.Failed() {
		k.killEach(true)
	}
}

// killEach kills a sync before its first call, another before its second, and so
// on until one gets to its end.
func (k *killedSync) killEach(every bool) {
	k.t.Helper()
	step := 1
	if testing.Short() {
		step = 7
	}
	victim := killat.Program{Path: k.bin, Args: []string{"sync"}, Env: append(k.env(), "GOMAXPROCS=1"), Dir: k.work(), Every: every}
	deaths := make(map[string]int)
	for n := 1; ; n += step {
		k.again(n)
		end, err := victim.Before(n)
		if errors.Is(err, killat.ErrNoTrace) {
			k.t.Skipf("SKIP: %v", err)
		}
		if err != nil {
			k.t.Fatal(err)
		}
		name := cmp.Or(end.Call, "other")
		when := fmt.Sprintf("killed before call %d (%s)", n, name)
		k.checkWhole(when)
		k.settle(when)
		k.checkLeft(when)
		if k.t.Failed() {
			return // every later death would begin where this one ended
		}
		if !end.Killed {
			k.t.Logf("FIGURE killed before each of %d system calls of one sync of the built program (%s): %v", n-1, k.repo, deaths)
			if end.Calls < 12 || end.Code != k.code() {
				k.t.Errorf("a sync that nobody killed makes %d calls and ends with %d: not looking at it", end.Calls, end.Code)
			}
			return
		}
		deaths[name]++
	}
}

// code is what a sync ends with that gets to its end: it tells of a conflict.
func (k *killedSync) code() int {
	if len(k.edits) > 0 {
		return 3
	}
	return 0
}

// checkWhole sees each file wholly old or wholly new, and none besides.
func (k *killedSync) checkWhole(when string) {
	k.t.Helper()
	now := treeOf(k.t, k.team)
	for key, text := range now {
		if text != k.before[key] && text != k.newer[key] {
			k.t.Errorf("%s: %s has %d bytes, which is neither the old text nor the new one", when, key, len(text))
		}
	}
	for key := range k.before {
		if _, there := now[key]; !there {
			k.t.Errorf("%s: %s is gone", when, key)
		}
	}
}

// settle runs a plain sync, and sees that it ends as it has to.
func (k *killedSync) settle(when string) {
	k.t.Helper()
	o := k.run("sync", "--json")
	if o.code != k.code() {
		k.t.Fatalf("%s: the next sync ends with %d, want %d\n%s%s", when, o.code, k.code(), o.stdout, o.stderr)
	}
	if r := decode[report](k.t, o.stdout); r.State != "in-sync" || r.Pending != 0 || len(r.Held) != 0 || len(r.Conflicts) != len(k.edits) {
		k.t.Errorf("%s: the next sync reports %s", when, o.stdout)
	}
	sameTree(k.t, when+": the team directory after the next sync", k.newer, treeOf(k.t, k.team))
	full, _ := k.server.get(k.token, k.repo)
	sameTree(k.t, when+": the server", k.newer, full.Content.Entries)
	sameTree(k.t, when+": the saved copies, want each displaced text once", k.edits, k.saved())
}

// stateDir opens the state of the machine's one root.
func (k *killedSync) stateDir() *statedir.Dir {
	k.t.Helper()
	paths := pathsOf(k.t, k.machine)
	roots, err := config.LoadRoots(paths)
	if err != nil || len(roots) != 1 {
		k.t.Fatalf("%d roots, %v", len(roots), err)
	}
	state, err := statedir.Open(paths.RootState(roots[0].ID))
	if err != nil {
		k.t.Fatal(err)
	}
	return state
}

// saved reads the saved copies, by key; a second one of a key is named so.
func (k *killedSync) saved() tree {
	k.t.Helper()
	state := k.stateDir()
	defer state.Close()
	list, err := state.Copies()
	if err != nil {
		k.t.Fatal(err)
	}
	copies := make(tree)
	for _, c := range list {
		_, text, err := state.ReadCopy(c.ID)
		if err != nil {
			k.t.Error(err)
		}
		name := c.Key.String()
		for copies[name] != "" {
			name += ", again"
		}
		copies[name] = text
	}
	return copies
}

var (
	// savedID is the part of a saved copy's name that is new each time.
	savedID = regexp.MustCompile(`/saved/[^./]+\.json$`)
	// unfinished saved copies may be another process's work: they have an hour.
	unfinished = regexp.MustCompile(`/saved/\.[^/]+\.tmp$`)
	// baseText is a help with merging, and no memory: it may be there or not.
	baseText = regexp.MustCompile(`/texts/[0-9a-f]{64}$`)
)

// left lists every file and directory of the machine's home.
func (k *killedSync) left() []string {
	k.t.Helper()
	var names []string
	err := filepath.WalkDir(k.home, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(k.home, name)
		if rel = filepath.ToSlash(rel); !baseText.MatchString(rel) {
			names = append(names, savedID.ReplaceAllString(rel, "/saved/ID.json"))
		}
		return err
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return names
}

// checkLeft sees the same names as after a sync that nobody disturbed: at once,
// unfinished saved copies excepted, and an hour later without exception.
func (k *killedSync) checkLeft(when string) {
	k.t.Helper()
	now := slices.DeleteFunc(k.left(), unfinished.MatchString)
	if !slices.Equal(now, k.names) {
		k.t.Errorf("%s: the next sync leaves\n  %s\nwant\n  %s", when, strings.Join(now, "\n  "), strings.Join(k.names, "\n  "))
	}
	state := k.stateDir()
	defer state.Close()
	if _, err := state.Prune(time.Now().Add(2 * time.Hour)); err != nil {
		k.t.Errorf("%s: %v", when, err)
	}
	if later := k.left(); !slices.Equal(later, now) {
		k.t.Errorf("%s: an hour later there is left\n  %s\nwant\n  %s", when, strings.Join(later, "\n  "), strings.Join(now, "\n  "))
	}
}
