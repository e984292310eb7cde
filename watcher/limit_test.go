package watcher_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/teammem/teammemd/watcher"
)

func TestF01LimitsOfTheSystem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit int
		fault error
	}{
		"directories": {2, syscall.ENOSPC},
		"watchers":    {0, syscall.EMFILE},
		"anything":    {1, errors.New("some reason")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "team")
			if err := os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "a", "b", "c", "f.md"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			p := newTap()
			p.limit, p.fault = tt.limit, tt.fault
			opts := quick()
			opts.Open, opts.Poll, opts.RetryMin = p.open, 5*time.Millisecond, time.Hour
			r := startRig(t, opts, dir, false)
			r.mode("root", watcher.Polling)
			if r.w.Reason("root") == "" {
				t.Error("no reason is given")
			}
			r.proven("by polling", "a/b/c/f.md")
			p.set(func() {
				if len(p.dirs) > 0 {
					t.Errorf("%d watches are kept while polling", len(p.dirs))
				}
			})

			p = newTap()
			p.limit, p.fault = tt.limit, tt.fault
			opts.Open, opts.Poll, opts.RetryMin, opts.RetryMax = p.open, time.Hour, 10*time.Millisecond, 40*time.Millisecond
			r = startRig(t, opts, dir, false)
			r.mode("root", watcher.Polling)
			p.set(func() { p.limit = -1 })
			r.mode("root", watcher.Events)
			if r.w.Reason("root") != "" {
				t.Errorf("the reason stays: %s", r.w.Reason("root"))
			}
			r.proven("by events again", "a/b/c/f.md")
		})
	}
}

func TestF01LimitWhileMissing(t *testing.T) {
	t.Parallel()
	p := newTap()
	p.limit, p.fault = 0, syscall.EMFILE
	opts := quick()
	opts.Open, opts.Poll = p.open, 5*time.Millisecond
	r := startRig(t, opts, filepath.Join(t.TempDir(), "team"), false)
	r.mode("root", watcher.Missing)
	r.mkdir("")
	r.mode("root", watcher.Polling)
}

func TestF06TooManyFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "team")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.md", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]watcher.Mode{4: watcher.Polling, 5: watcher.Events} {
		opts := quick()
		opts.MaxFiles, opts.Poll = limit, 5*time.Millisecond
		r := startRig(t, opts, dir, false)
		r.mode("root", want)
		r.proven("an edit", "f0.md")
	}
}

// TestF01RetriesInTheirOwnTime: a root that is read whole now and then does not
// try for events each time.
func TestF01RetriesInTheirOwnTime(t *testing.T) {
	t.Parallel()
	p := newTap()
	p.limit, p.fault = 0, syscall.EMFILE
	opts := quick()
	tries := make(chan time.Time, 100)
	opts.Open = func() (watcher.Source, error) {
		tries <- time.Now()
		return p.open()
	}
	opts.Rescan, opts.RetryMin, opts.RetryMax = 5*time.Millisecond, 60*time.Millisecond, 240*time.Millisecond
	r := startRig(t, opts, filepath.Join(t.TempDir(), "team"), true)
	r.mode("root", watcher.Polling)
	last := <-tries
	for i, ms := range []int{60, 120, 240, 240} {
		want := time.Duration(ms) * time.Millisecond
		for tried := false; !tried; {
			select {
			case at := <-tries:
				// A clock may be coarse, a timer is not early.
				if waited := at.Sub(last); waited < want-10*time.Millisecond {
					t.Errorf("try %d came after %v, want %v", i+2, waited, want)
				}
				last, tried = at, true
			case h := <-r.w.Settled():
				if !h.Full {
					t.Errorf("a hint that is not full: nothing changed")
				}
			case <-time.After(patience):
				t.Fatal("events are not tried again")
			}
		}
	}
	r.fullHint("the reading goes on meanwhile")
}

// perFile is a source as kqueue is one: each watched directory and each file in
// it takes a descriptor, of which there are only so many. As there, what was
// opened before one that fails stays open until the directory is let go.
type perFile struct {
	*tap
	budget int
	open   map[string]map[string]bool // by directory; guarded by tap.mu
	peak   int                        // guarded by tap.mu
}

func newPerFile(budget int) *perFile {
	p := &perFile{tap: newTap(), budget: budget, open: map[string]map[string]bool{}}
	p.each = p.appeared
	return p
}

func (p *perFile) source() (watcher.Source, error) {
	_, err := p.tap.open()
	return p, err
}

// take opens one more file, with tap.mu held.
func (p *perFile) take(dir, name string) error {
	used := 0
	for _, names := range p.open {
		used += len(names)
	}
	if p.open[dir] == nil {
		p.open[dir] = map[string]bool{}
	}
	if p.open[dir][name] {
		return nil
	}
	if used >= p.budget {
		return &os.PathError{Op: "open", Path: filepath.Join(dir, name), Err: syscall.EMFILE}
	}
	p.open[dir][name] = true
	p.peak = max(p.peak, used+1)
	return nil
}

func (p *perFile) Add(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	p.mu.Lock()
	err = p.take(dir, ".")
	for _, e := range entries {
		if err == nil && !e.IsDir() {
			err = p.take(dir, e.Name())
		}
	}
	p.mu.Unlock()
	if err != nil {
		return err
	}
	return p.tap.Add(dir)
}

func (p *perFile) Remove(dir string) error {
	p.set(func() { delete(p.open, dir) })
	return p.tap.Remove(dir)
}

// appeared opens a file that came into a watched directory.
func (p *perFile) appeared(event fsnotify.Event) error {
	if st, err := os.Lstat(event.Name); !event.Has(fsnotify.Create) || err != nil || st.IsDir() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[filepath.Dir(event.Name)] == nil {
		return nil // let go meanwhile
	}
	return p.take(filepath.Dir(event.Name), filepath.Base(event.Name))
}

// descriptors returns how many are open, and how many ever were.
func (p *perFile) descriptors() (now, peak int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, names := range p.open {
		now += len(names)
	}
	return now, p.peak
}

func (r *rig) fill(dir string, n int) {
	r.t.Helper()
	r.mkdir(dir)
	for i := range n {
		r.write(fmt.Sprintf("%s/f%d.md", dir, i))
	}
}

// TestF06DescriptorPerFile: watching fails at the Nth file, at the start or
// while the tree grows. The root is polled, and keeps none of the descriptors of
// the files before that one.
func TestF06DescriptorPerFile(t *testing.T) {
	t.Parallel()
	const budget = 40
	for name, before := range map[string]int{"at the start": 60, "while it grows": 10} {
		p := newPerFile(budget)
		opts := quick()
		opts.Open, opts.Poll, opts.RetryMin = p.source, 5*time.Millisecond, time.Hour
		r := &rig{t: t, dir: filepath.Join(t.TempDir(), "team")}
		r.fill("a/b", before)
		r = startRig(t, opts, r.dir, false)
		if before < budget {
			r.mode("root", watcher.Events)
		}
		r.fill("a/c", 60)
		r.mode("root", watcher.Polling)
		if r.w.Reason("root") == "" {
			t.Errorf("%s: no reason is given", name)
		}
		if now, peak := p.descriptors(); now != 0 || peak != budget {
			t.Errorf("%s: %d descriptors are kept while polling, of %d at the most; want 0 of %d", name, now, peak, budget)
		}
		r.proven("by polling", "a/c/f59.md")
	}
}

// TestF06EventsAgain: with fewer files, events are had again.
func TestF06EventsAgain(t *testing.T) {
	t.Parallel()
	p := newPerFile(40)
	opts := quick()
	opts.Open, opts.RetryMin, opts.RetryMax = p.source, 20*time.Millisecond, 40*time.Millisecond
	r := &rig{t: t, dir: filepath.Join(t.TempDir(), "team")}
	r.fill("a", 20)
	r.fill("b", 40)
	r = startRig(t, opts, r.dir, false)
	r.mode("root", watcher.Polling)
	r.must(os.RemoveAll(r.path("b")))
	r.mode("root", watcher.Events)
	r.proven("by events", "a/f0.md")
}

// TestF06ManyFilesArePolled: above the bound, no descriptor is even tried for.
func TestF06ManyFilesArePolled(t *testing.T) {
	t.Parallel()
	p := newPerFile(1000)
	opts := quick()
	opts.Open, opts.Poll, opts.MaxFiles, opts.Rescan = p.source, 5*time.Millisecond, 50, time.Second
	r := &rig{t: t, dir: filepath.Join(t.TempDir(), "team")}
	r.fill("a", 60)
	r = startRig(t, opts, r.dir, false)
	r.mode("root", watcher.Polling)
	if _, peak := p.descriptors(); peak != 0 {
		t.Errorf("%d descriptors were opened", peak)
	}
	r.proven("by polling", "a/f0.md")
	r.must(os.RemoveAll(r.path("a")))
	r.mode("root", watcher.Events)
	r.fill("b", 60)
	r.mode("root", watcher.Polling)
	r.proven("by polling, after it grew", "b/f59.md")
	if now, _ := p.descriptors(); now != 0 {
		t.Errorf("%d descriptors are kept while polling", now)
	}
}
