package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestRace edits forty files on two machines at once, under the default wait: no
// edit is lost, both end with the same files and no others, and each displaced
// text is listed and comes back by `conflicts restore`.
func TestRace(t *testing.T) {
	t.Parallel()
	const files = 40
	server := newCompanion(t)
	token := server.token("both", team, "writer")
	both := [2]*machine{newMachine(t, "ada"), newMachine(t, "ben")}
	for _, m := range both {
		m.enroll(server.url, token, team)
	}
	word := func(who string, i int) string {
		return fmt.Sprintf("# Note %04d\n\nA plain word, said by %-8s.\n", i, who)
	}
	key := func(i int) string { return fmt.Sprintf("note-%02d.md", i) }
	for i := range files {
		both[0].write(key(i), word("nobody", i))
	}
	for _, m := range both {
		m.sync(0)
		m.daemon()
	}
	rested := func() {
		t.Helper()
		awaitSame(t, time.Minute, both[0], both[1])
		await(t, time.Minute, "both to be in sync", func() bool {
			a, b := both[0].status(), both[1].status()
			return a.State == "in-sync" && b.State == "in-sync" && a.Pending == 0 && b.Pending == 0 && a.Version == b.Version && a.Version > 0
		})
	}
	rested()

	took := editAtOnce(t, both, files, key, func(m *machine, i int) string { return word(filepath.Base(m.home), i) })
	t.Logf("FIGURE race: %d edits within %.1f ms", 2*files, float64(took.Microseconds())/1000)
	await(t, time.Minute, "an edit to win", func() bool { return both[0].status().Version > 1 })
	await(t, time.Minute, "the edits to travel", func() bool {
		a, b := treeOf(t, both[0].team), treeOf(t, both[1].team)
		for i := range files {
			if a[key(i)] != b[key(i)] || a[key(i)] == word("nobody", i) {
				return false
			}
		}
		return true
	})
	rested()
	judgeRace(t, both, files, key, word)
	for _, m := range both {
		restoreCopies(t, m)
	}
	rested()
}

// editAtOnce writes every file on both machines in place, as close together as
// the machine can.
func editAtOnce(t *testing.T, both [2]*machine, files int, key func(int) string, text func(*machine, int) string) time.Duration {
	t.Helper()
	var open [2][]*os.File
	for side, m := range both {
		for i := range files {
			f, err := os.OpenFile(filepath.Join(m.team, key(i)), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			open[side] = append(open[side], f)
		}
	}
	var done sync.WaitGroup
	begin := make(chan struct{})
	for side, m := range both {
		done.Go(func() {
			<-begin
			for i, f := range open[side] {
				if _, err := f.WriteAt([]byte(text(m, i)), 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	begun := time.Now()
	close(begin)
	done.Wait()
	return time.Since(begun)
}

// judgeRace counts what is left of the edits.
func judgeRace(t *testing.T, both [2]*machine, files int, key func(int) string, word func(string, int) string) {
	t.Helper()
	lost, equal, copies := 0, 0, 0
	kept := make(map[string]bool)
	trees := [2]tree{treeOf(t, both[0].team), treeOf(t, both[1].team)}
	for side, m := range both {
		for _, text := range trees[side] {
			kept[text] = true
		}
		for _, texts := range m.savedCopies() {
			copies += len(texts)
			for _, text := range texts {
				kept[text] = true
			}
		}
		if extra := len(trees[side]) - files; extra != 0 {
			t.Errorf("%d extra files on %s, want 0", extra, filepath.Base(m.home))
		}
	}
	for i := range files {
		if text, there := trees[0][key(i)]; there && text == trees[1][key(i)] {
			equal++
		}
		for _, m := range both {
			if !kept[word(filepath.Base(m.home), i)] {
				lost++
			}
		}
	}
	t.Logf("FIGURE race: %d edits, %d lost, %d of %d equal, %d saved copies", 2*files, lost, equal, files, copies)
	if lost != 0 || equal != files || copies != files {
		t.Errorf("%d lost, %d equal, %d saved copies, want 0, %d and %d", lost, equal, copies, files, files)
	}
}

// restoreCopies puts every saved copy back, and sees that it is in place.
func restoreCopies(t *testing.T, m *machine) {
	t.Helper()
	list := decode[struct{ Conflicts []conflict }](t, m.ok("conflicts", "list", "--json").stdout)
	for _, c := range list.Conflicts {
		want := m.ok("conflicts", "show", c.ID).stdout
		m.ok("conflicts", "restore", c.ID)
		if got, _ := m.read(c.Key); got != want {
			t.Errorf("%s was restored as %q, want %q", c.Key, shorten(got), shorten(want))
		}
	}
}
