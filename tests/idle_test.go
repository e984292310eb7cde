package tests

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/tests/chaos"
)

// stamps are name, size and time of every file below a directory.
func stamps(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name != dir {
			return nil // gone since its name was read: what is written is written beside
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		found[name] = fmt.Sprint(info.Size(), info.ModTime().UnixNano(), info.Mode())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestIdle leaves three daemons alone for several polls, one that hears events,
// one whose events are cut off, and one with a server that has none: no PUT, only
// conditional GETs, and not a byte written.
func TestIdle(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	token := server.token("both", team, "writer")
	base := newBaseServer(t)
	for name, to := range map[string]string{"with events": server.url, "cut off from events": server.url, "polling": base.url} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := chaos.Start(t, chaos.Options{Target: to})
			polls := name != "with events"
			if polls && to == server.url {
				proxy.Always(func(r chaos.Request) bool { return strings.HasPrefix(r.Path, api.PathEvents) }, chaos.ResetBefore)
			}
			m := newMachine(t, "ada")
			m.config("debounce = \"100ms\"\npoll = \"1s\"\n")
			m.enroll(proxy.URL(), token, team)
			for i := range 50 {
				m.write(fmt.Sprintf("notes/%02d.md", i), fmt.Sprintf("note %d\n", i))
			}
			m.daemon()
			await(t, time.Minute, "the daemon to be in sync", func() bool {
				r := m.status()
				return r.State == "in-sync" && r.Pending == 0 && r.Version > 0
			})
			before := stamps(t, m.state())
			for range 10 { // the first cycle may leave something behind
				time.Sleep(2 * time.Second)
				was := before
				if before = stamps(t, m.state()); maps.Equal(was, before) {
					break
				}
			}
			files := stamps(t, m.team)
			earlier, begun := len(proxy.Requests()), time.Now()
			time.Sleep(5 * time.Second)
			gets := 0
			for _, r := range proxy.Requests()[earlier:] {
				switch {
				case r.Method != http.MethodGet:
					t.Errorf("while nothing changed: %s %s", r.Method, r.Path)
				case strings.HasPrefix(r.Path, api.PathEvents):
				case !r.Conditional && to == server.url:
					t.Errorf("not conditional: %s", r.Path)
				default:
					gets++
				}
			}
			if polls && gets < 2 {
				t.Errorf("%d looks in five polls: the server is not asked", gets)
			}
			if lasted := time.Since(begun); gets > 3+int(lasted.Seconds()) {
				t.Errorf("%d looks in %s", gets, lasted)
			}
			sameStamps(t, "the state directory", before, stamps(t, m.state()))
			sameStamps(t, "the team directory", files, stamps(t, m.team))
			t.Logf("%s: %d GETs in 5 s", name, gets)
		})
	}
}

func sameStamps(t *testing.T, what string, before, after map[string]string) {
	t.Helper()
	for name, stamp := range after {
		if before[name] != stamp {
			t.Errorf("%s: %s was written: %q, before %q", what, name, stamp, before[name])
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			t.Errorf("%s: %s is gone", what, name)
		}
	}
}

// TestF09NoEcho receives a thousand files under a daemon that watches: none of its
// own writes comes back as an edit.
func TestF09NoEcho(t *testing.T) {
	t.Parallel()
	files := 1000
	if testing.Short() {
		files = 100
	}
	server := newCompanion(t)
	token := server.token("both", team, "writer")
	a, b := newFastMachine(t, "ada"), newFastMachine(t, "ben")
	proxy := chaos.Start(t, chaos.Options{Target: server.url})
	a.enroll(server.url, token, team)
	b.enroll(proxy.URL(), token, team)
	b.daemon()
	for i := range files {
		a.write(fmt.Sprintf("dir-%02d/%04d.md", i%20, i), fmt.Sprintf("note %d\n", i))
	}
	a.sync(0)
	awaitSame(t, time.Minute, a, b)
	time.Sleep(time.Second) // for an echo to show itself
	for _, r := range proxy.Requests() {
		if r.Method == http.MethodPut {
			t.Errorf("an echo: %s %s", r.Method, r.Path)
		}
	}
	sameTree(t, "both machines", treeOf(t, a.team), treeOf(t, b.team))
}
