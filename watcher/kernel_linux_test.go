package watcher_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/internal/nstest"
	"github.com/teammem/teammemd/watcher"
)

func setLimit(t *testing.T, name, value string) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/user/"+name, []byte(value), 0); err != nil {
		t.Skipf("SKIP: the limit %s cannot be set here: %v", name, err)
	}
}

func testKernelLimit(t *testing.T, name, low, sysctl string) {
	t.Helper()
	setLimit(t, name, low)
	opts := quick()
	opts.Poll, opts.RetryMin, opts.RetryMax = 5*time.Millisecond, 20*time.Millisecond, 50*time.Millisecond
	dir := filepath.Join(t.TempDir(), "team")
	if err := os.MkdirAll(filepath.Join(dir, "a/b/c/d/e"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := startRig(t, opts, dir, false)
	r.mode("root", watcher.Polling)
	if remedy := r.w.Remedy("root"); r.w.Reason("root") == "" || !strings.HasPrefix(remedy, "sudo sysctl "+sysctl+"=") {
		t.Errorf("reason %q, remedy %q", r.w.Reason("root"), remedy)
	}
	r.write("a/b/c/d/e/f.md")
	r.hint("by polling")
	setLimit(t, name, "1000")
	r.mode("root", watcher.Events)
	if r.w.Reason("root") != "" || r.w.Remedy("root") != "" {
		t.Errorf("by events, and yet: %q, %q", r.w.Reason("root"), r.w.Remedy("root"))
	}
	r.proven("by events", "a/b/c/d/e/f.md")

	// The limit is met again while the tree grows under events.
	setLimit(t, name, low)
	r.mkdir("g/h/i/j/k")
	if name == "max_inotify_watches" {
		r.mode("root", watcher.Polling)
	}
	r.hint("the growth")
}

func TestF01LimitOnWatches(t *testing.T) {
	if nstest.Inside(t) {
		testKernelLimit(t, "max_inotify_watches", "3", "fs.inotify.max_user_watches")
	}
}

func TestF01LimitOnInstances(t *testing.T) {
	if nstest.Inside(t) {
		testKernelLimit(t, "max_inotify_instances", "0", "fs.inotify.max_user_instances")
	}
}

func TestF05Overlay(t *testing.T) {
	if !nstest.Inside(t) {
		return
	}
	base := t.TempDir()
	dirs := map[string]string{}
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		dirs[name] = filepath.Join(base, name)
		if err := os.Mkdir(dirs[name], 0o755); err != nil {
			t.Fatal(err)
		}
	}
	layers := "lowerdir=" + dirs["lower"] + ",upperdir=" + dirs["upper"] + ",workdir=" + dirs["work"]
	nstest.Mount(t, "overlay", dirs["merged"], "overlay", 0, layers)
	opts := quick()
	opts.Poll, opts.Rescan = 5*time.Millisecond, 2*time.Second
	r := startRig(t, opts, filepath.Join(dirs["merged"], "team"), true)
	r.mode("root", watcher.Polling)
	if !strings.Contains(r.w.Reason("root"), "overlay") {
		t.Errorf("reason %q", r.w.Reason("root"))
	}
	r.write("f.md")
	r.hint("through the mount")
	r.calm()
	upper := &rig{t: t, w: r.w, dir: filepath.Join(dirs["upper"], "team")}
	upper.append("f.md")
	r.hint("behind the mount's back")

	// What neither events nor looks show, as a change that keeps size and time,
	// is found by reading everything, which is asked for now and then.
	r.calm()
	r.fullHint("the periodic reading")
}

func TestF02QueueOverflow(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Skipf("SKIP: the length of the queue is not known: %v", err)
	}
	queue, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || queue > 50_000 {
		t.Skipf("SKIP: the queue is too long to be filled: %s", text)
	}
	p := newTap()
	opts := quick()
	opts.Open = p.open
	r := newRig(t, opts)
	r.calm()
	held := make(chan struct{})
	p.set(func() { p.held = held })
	// The source stops reading after the next event; two events a file overflow
	// the queue and what fsnotify has read ahead.
	for i := range queue/2 + 5_000 {
		r.write("f" + strconv.Itoa(i) + ".md")
	}
	r.mkdir("a/b")
	r.write("a/b/f.md")
	p.set(func() { p.held = nil })
	close(held)
	r.fullHint("the overflow")
	r.proven("a directory made while events were lost", "a/b/f.md")
}
