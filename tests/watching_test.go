package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestF03FilledDirectories makes directories and fills them at once, under a
// daemon that has yet to watch them: every file arrives.
func TestF03FilledDirectories(t *testing.T) {
	t.Parallel()
	files := 1000
	if testing.Short() {
		files = 100
	}
	p := newPair(t)
	p.a.daemon()
	p.b.daemon()
	want := make(tree)
	for i := range files {
		key := fmt.Sprintf("x%d/a/b/note.md", i)
		want[key] = fmt.Sprintf("nested %d\n", i)
		p.a.write(key, want[key])
	}
	await(t, 2*time.Minute, "nested files to arrive", func() bool { return len(want.differences(treeOf(t, p.b.team))) == 0 })
	// And each directory is watched by now.
	last := filepath.Join(p.a.team, fmt.Sprintf("x%d", files/2), "a", "b", "note.md")
	put(t, last, "edited\n")
	await(t, time.Minute, "an edit in one of them to arrive", func() bool {
		got, _ := p.b.read(fmt.Sprintf("x%d/a/b/note.md", files/2))
		return got == "edited\n"
	})
}

// TestF04RootComesAndGoes deletes, renames away and recreates the team directory
// under a daemon, a hundred times each, and starts daemons before there is one:
// each time an edit arrives afterwards, an empty root is filled again, and
// nothing is taken for a deletion.
func TestF04RootComesAndGoes(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	p := newPair(t)
	a, away := p.a, p.a.team+"-away"
	want := make(tree)
	for i := range 5 {
		key := fmt.Sprintf("note-%d.md", i)
		want[key] = fmt.Sprintf("note %d\n", i)
		a.write(key, want[key])
	}
	reader := p.server.token("reader", team, "reader")
	arrives := func(what string) {
		t.Helper()
		await(t, time.Minute, what+": the files to be back", func() bool { return len(want.differences(treeOf(t, a.team))) == 0 })
		want[what+".md"] = "written after it was " + what + "\n"
		a.write(what+".md", want[what+".md"])
		await(t, time.Minute, what+": the edit to arrive", func() bool {
			full, _ := p.server.get(reader, team)
			return full.Content.Entries[what+".md"] == want[what+".md"]
		})
	}
	word := func(want string) {
		t.Helper()
		await(t, time.Minute, "status to say "+want, func() bool { return a.status().State == want })
	}
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	// A daemon may be putting files into it at that moment.
	removeAll := func(name string) {
		t.Helper()
		await(t, time.Minute, "a directory to be removed", func() bool { return os.RemoveAll(name) == nil })
	}
	daemon := a.daemon()
	arrives("begun")

	for range rounds {
		removeAll(a.team)
		if err := os.Mkdir(a.team, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	arrives("recreated")
	for range rounds {
		rename(a.team, away)
		rename(away, a.team)
	}
	arrives("moved")
	rename(a.team, away)
	word("root-missing")
	put(t, filepath.Join(away, "while-away.md"), "while away\n")
	want["while-away.md"] = "while away\n"
	rename(away, a.team)
	arrives("back")
	removeAll(a.team)
	word("root-missing")
	daemon.stop()

	for range max(1, rounds/20) {
		removeAll(a.team)
		daemon = a.daemon()
		word("root-missing")
		if err := os.Mkdir(a.team, 0o700); err != nil {
			t.Fatal(err)
		}
		arrives("absent")
		daemon.stop()
	}
	full, _ := p.server.get(reader, team)
	sameTree(t, "the server", want, full.Content.Entries)
}

// TestF08ConstantWrites writes one file all the time, with the default waits:
// it is sent every ten seconds, not only when the writing ends, and no more
// often.
func TestF08ConstantWrites(t *testing.T) {
	t.Parallel()
	for interval, lasts := range map[time.Duration]time.Duration{500 * time.Millisecond: time.Minute, 100 * time.Millisecond: 25 * time.Second} {
		if testing.Short() {
			lasts = 16 * time.Second
		}
		t.Run(interval.String(), func(t *testing.T) {
			t.Parallel()
			server := newCompanion(t)
			m := newMachine(t, "ada") // with the defaults: 2 s, and 10 s at most
			m.enroll(server.url, server.token("ada", team, "writer"), team)
			m.daemon()
			reader := server.token("reader", team, "reader")
			begun := time.Now()
			var at []time.Duration // when each version was seen
			for i := 0; time.Since(begun) < lasts; i++ {
				replace(t, filepath.Join(m.team, "log.md"), fmt.Sprintf("line %d\n", i))
				time.Sleep(interval)
				if full, _ := server.get(reader, team); full.Version > uint64(len(at)) {
					at = append(at, time.Since(begun).Round(100*time.Millisecond))
				}
			}
			t.Logf("a write every %s for %s: pushes after %v", interval, lasts, at)
			// One every ten seconds, and a second each for a machine that is busy.
			least, most := int(lasts/(11*time.Second)), int(lasts/(10*time.Second))
			if len(at) < least || len(at) > most {
				t.Errorf("%d pushes, want %d to %d: one every ten seconds", len(at), least, most)
			}
		})
	}
}
