package tests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
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
	for interval, pushes := range map[time.Duration]int{500 * time.Millisecond: 5, 100 * time.Millisecond: 3} {
		if testing.Short() {
			pushes = 1
		}
		t.Run(interval.String(), func(t *testing.T) {
			t.Parallel()
			server := newCompanion(t)
			m := newMachine(t, "ada") // with the defaults: 2 s, and 10 s at most
			m.enroll(server.url, server.token("ada", team, "writer"), team)
			m.daemon()
			reader := server.token("reader", team, "reader")
			begun := time.Now()
			pause := writeAllTheTime(t, filepath.Join(m.team, "log.md"), interval)
			var at, gaps []time.Duration // when each version was seen, and since the one before
			await(t, time.Duration(pushes)*20*time.Second, fmt.Sprintf("%d pushes", pushes), func() bool {
				time.Sleep(100 * time.Millisecond)
				if full, _ := server.get(reader, team); full.Version > uint64(len(at)) {
					at = append(at, time.Since(begun))
				}
				return len(at) >= pushes
			})
			longest, before := pause(), time.Duration(0)
			for _, seen := range at {
				gaps, before = append(gaps, seen-before), seen
			}
			t.Logf("a write every %s, at the longest after %s: pushes after %v", interval, longest, at)
			// What pauses settles, and a machine that holds up this writer holds up
			// the daemon as well.
			if before < time.Duration(pushes)*8*time.Second && longest < interval+time.Second/2 {
				t.Errorf("%d pushes within %s, want one every ten seconds", pushes, before)
			}
			if middle := quantile(gaps, 0.5); middle > 11*time.Second {
				t.Errorf("a push every %s, want one every ten seconds", middle)
			}
		})
	}
}

// writeAllTheTime replaces a file again and again until pause is called, at the
// latest at the end of the test. pause returns the longest time between two writes.
func writeAllTheTime(t *testing.T, name string, interval time.Duration) (pause func() time.Duration) {
	t.Helper()
	stop := make(chan struct{})
	var writing sync.WaitGroup
	var longest time.Duration
	writing.Go(func() {
		last := time.Now()
		for i := 0; ; i++ {
			beside := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".new")
			if err := errors.Join(os.WriteFile(beside, fmt.Appendf(nil, "line %d\n", i), 0o600), os.Rename(beside, name)); err != nil {
				t.Errorf("writing: %v", err)
				return
			}
			longest, last = max(longest, time.Since(last)), time.Now()
			select {
			case <-stop:
				return
			case <-time.After(interval):
			}
		}
	})
	pause = sync.OnceValue(func() time.Duration {
		close(stop)
		writing.Wait()
		return longest
	})
	t.Cleanup(func() { pause() })
	return pause
}
