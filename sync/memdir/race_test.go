package memdir_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/sync/memdir"
)

// editor is a program that saves a file again and again, in its own way. It
// notes exactly which of its own saves it replaced itself: any other one must be
// found again, in the tree or among the saved copies.
type editor struct {
	dir, path string
	replaced  map[string]bool
}

// note records that the editor itself overwrote content.
func (e *editor) note(content []byte) {
	if strings.HasPrefix(string(content), "save ") {
		e.replaced[string(content)] = true
	}
}

// saveByRename writes a temporary file and puts it into place. It does so by an
// exchange, to see what it replaced.
func (e *editor) saveByRename(content string) error {
	temp := filepath.Join(e.dir, ".a.md.tmp")
	if err := os.WriteFile(temp, []byte(content), 0o644); err != nil {
		return err
	}
	d, err := os.Open(e.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = atomicfile.Exchange(d, ".a.md.tmp", d, "a.md")
	if errors.Is(err, os.ErrNotExist) {
		return os.Rename(temp, e.path)
	}
	if err != nil {
		return err
	}
	old, err := os.ReadFile(temp)
	e.note(old)
	return err
}

// saveInPlace opens, truncates and writes, as most simple programs do. It reads
// first, to see what it overwrites.
func (e *editor) saveInPlace(content string) error {
	f, err := os.OpenFile(e.path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	old, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	e.note(old)
	half := len(content) / 2
	if _, err := f.WriteAt([]byte(content[:half]), 0); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(content[half:]), int64(half))
	return err
}

// saveLikeVim moves the old file aside, writes a new one, removes the old.
func (e *editor) saveLikeVim(content string) error {
	backup := e.path + "~"
	err := os.Rename(e.path, backup)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := e.saveInPlace(content); err != nil {
		return err
	}
	old, err := os.ReadFile(backup)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	e.note(old)
	return errors.Join(err, os.Remove(backup))
}

// keeper keeps displaced text in memory: the races need more saves than a disk
// takes. The state directory has its own tests.
type keeper struct {
	mu   sync.Mutex
	kept map[string]bool
}

func (k *keeper) save(_ context.Context, saved api.SavedCopy) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept[saved.Content] = true
	return saved.Sum.Hex()[:8], nil
}

// memoryDir is a directory in memory where there is one: a race is as good as
// the number of its rounds.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "teammemd-test-") //nolint:usetesting // it has to be there
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

var hostileSaves = flag.Int("saves", 0, "hostile saves for each editor, 0 for 20,000 (2,000 in a short run)")

// TestF07HostileSaver: thousands of saves against placements of one file, and
// not one save is lost.
func TestF07HostileSaver(t *testing.T) {
	saves := *hostileSaves
	switch {
	case saves > 0:
	case testing.Short():
		saves = 2_000
	default:
		saves = 20_000
	}
	styles := []struct {
		name string
		save func(*editor, string) error
	}{
		{"rename", (*editor).saveByRename},
		{"in place", (*editor).saveInPlace},
		{"vim", (*editor).saveLikeVim},
	}
	for _, without := range []bool{false, true} {
		for _, style := range styles {
			t.Run(fmt.Sprintf("%s, without exchange %v", style.name, without), func(t *testing.T) {
				base := memoryDir(t)
				k := &keeper{kept: map[string]bool{}}
				tree, e := raceTree(t, base, k, without)
				requireSafety(t, tree, style.name)
				done := make(chan error, 1)
				go func() {
					for i := range saves {
						if err := style.save(e, fmt.Sprintf("save %d %s", i, strings.Repeat("x", i%97))); err != nil {
							done <- err
							return
						}
					}
					done <- nil
				}()
				placed, err := placeUntil(t, tree, done)
				if err != nil {
					t.Fatal(err)
				}
				// What lingers, since it was displaced a moment ago, is looked at for
				// the last time.
				if err := tree.Recover(t.Context()); err != nil {
					t.Error(err)
				}
				lost := 0
				left, err := os.ReadFile(e.path)
				if err != nil {
					t.Fatal(err)
				}
				for i := range saves {
					content := fmt.Sprintf("save %d %s", i, strings.Repeat("x", i%97))
					if !e.replaced[content] && !k.kept[content] && string(left) != content {
						lost++
						t.Logf("save %d is lost", i)
					}
				}
				if lost > 0 {
					t.Errorf("%d of %d saves lost against %d placements", lost, saves, placed)
				}
				t.Logf("%d saves, %d placements, %d saved copies", saves, placed, len(k.kept))
				if entries, err := os.ReadDir(filepath.Join(base, "staging")); err != nil || len(entries) > 0 {
					t.Errorf("%d files left in staging, %v", len(entries), err)
				}
			})
		}
	}
}

func raceTree(t *testing.T, base string, k *keeper, without bool) (*memdir.Tree, *editor) {
	t.Helper()
	root := filepath.Join(base, "team")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	tree, err := memdir.Open(memdir.Options{
		Root: root, Staging: filepath.Join(base, "staging"), Save: k.save, WithoutExchange: without,
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree, &editor{dir: root, path: filepath.Join(root, "a.md"), replaced: map[string]bool{}}
}

// requireSafety skips what a system cannot promise: see the package's doc.
func requireSafety(t *testing.T, tree *memdir.Tree, style string) {
	t.Helper()
	c, err := tree.Capabilities()
	if err != nil {
		t.Fatal(err)
	}
	if !c.Writers && style != "rename" {
		t.Skip("SKIP: the system cannot tell whether a file is open")
	}
}

// placeUntil places one content after the other until the editor is done.
func placeUntil(t *testing.T, tree *memdir.Tree, done <-chan error) (placed int, err error) {
	t.Helper()
	previous := api.SumString("none")
	for round := 0; ; round++ {
		select {
		case err := <-done:
			return placed, err
		default:
		}
		content := fmt.Sprintf("server %d", round)
		p := api.Placement{Key: key(t, "a.md"), Content: content, Sum: api.SumString(content), Known: []api.Checksum{previous}}
		if round%10 > 0 {
			p.Expect = previous
		}
		out := tree.Place(t.Context(), []api.Placement{p})[0]
		switch {
		case out.Err == nil:
			placed++
			previous = p.Sum
		case !errors.Is(out.Err, api.ErrUnsettled):
			return placed, out.Err
		}
	}
}

// TestPlaceLeavesOpenFiles: a file that a program has open for writing is not
// displaced, since what it writes next would be lost.
func TestPlaceLeavesOpenFiles(t *testing.T) {
	w := newWorld(t)
	w.write("log.md", "line 1\n")
	f := w.keepOpen("log.md")
	out := w.place(put(t, "log.md", "pulled", "line 1\n"), put(t, "other.md", "other", ""))
	if !errors.Is(out[0].Err, api.ErrUnsettled) {
		t.Errorf("outcome %v, want %v", out[0].Err, api.ErrUnsettled)
	}
	if out[1].Err != nil {
		t.Errorf("the placement beside it failed: %v", out[1].Err)
	}
	if _, err := f.WriteString("line 2\n"); err != nil {
		t.Fatal(err)
	}
	w.wantContent("log.md", "line 1\nline 2\n")
	w.wantClean()
}

// TestF10TornReads: a program truncates a file, pauses, and writes it again, for
// two seconds. No reader ever sees anything but whole versions.
func TestF10TornReads(t *testing.T) {
	w := newWorld(t)
	c, err := w.tree.Capabilities()
	if err != nil {
		t.Fatal(err)
	}
	s := &tornSaver{path: w.path("a.md"), rest: 40}
	if c.Writers {
		s.rest = 200 // longer than some of the reads below wait for an end
	}
	w.write("a.md", s.version(0))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	var loaded, seen, torn int
	for ctx.Err() == nil {
		for _, how := range []api.Reading{{Settle: 500 * time.Millisecond, Twice: true}, {Settle: 100 * time.Millisecond}} {
			got, err := w.tree.Load(t.Context(), key(t, "a.md"), how)
			switch {
			case err == nil && got.Sum == api.SumString(got.Content) && s.wrote(got.Sum):
				loaded++
			case err == nil:
				torn++
			case !errors.Is(err, api.ErrUnsettled):
				t.Fatal(err)
			}
			for _, f := range w.snapshot(how).Files {
				seen++
				if !s.wrote(f.Sum) {
					torn++
				}
			}
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if limit := map[bool]time.Duration{false: 90 * time.Millisecond, true: 490 * time.Millisecond}[c.Writers]; torn > 0 && s.longest > limit {
		t.Skipf("SKIP: the machine paused a save for %v", s.longest)
	}
	if torn > 0 || loaded == 0 || seen == 0 {
		t.Errorf("%d loads and %d snapshots got through, %d were torn", loaded, seen, torn)
	}
	t.Logf("%d loads and %d snapshots got through, the longest save took %v", loaded, seen, s.longest)
}

// tornSaver saves one version after the other, each in several slow steps.
type tornSaver struct {
	path    string
	rest    int      // the longest pause within a save, in milliseconds
	written sync.Map // checksums of all versions
	longest time.Duration
}

func (s *tornSaver) version(i int) string {
	content := fmt.Sprintf("<%d>%s</%d>", i, strings.Repeat("text ", 2000), i)
	s.written.Store(api.SumString(content), true)
	return content
}

func (s *tornSaver) wrote(sum api.Checksum) bool {
	_, ok := s.written.Load(sum)
	return ok
}

func (s *tornSaver) run(ctx context.Context) error {
	for i := 1; ctx.Err() == nil; i++ {
		began := time.Now()
		if err := s.save(ctx, i); err != nil {
			return err
		}
		s.longest = max(s.longest, time.Since(began))
		pause(ctx, 7*i%200)
	}
	return nil
}

func (s *tornSaver) save(ctx context.Context, i int) error {
	content := s.version(i)
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	pause(ctx, i%s.rest)
	_, err = f.WriteString(content[:len(content)/2])
	pause(ctx, 7*i%s.rest)
	_, err2 := f.WriteString(content[len(content)/2:])
	return errors.Join(err, err2, f.Close())
}

func pause(ctx context.Context, ms int) {
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
	case <-ctx.Done():
	}
}
