package watcher

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/teammem/teammemd/internal/planted"
)

// armTries bounds how often arming starts over because the root changed under
// it; after that the identity check finds it.
const armTries = 8

// rearm lets all watches go, watches the root as it is now, and asks for it to
// be read whole.
func (r *root) rearm() {
	if planted.In(planted.NotRearmed) && r.armed {
		r.touch(true)
		return
	}
	wasHere := r.identity != nil
	r.disarm()
	for range armTries {
		if r.arm() {
			break
		}
		r.disarm()
	}
	r.nextIdentity = time.Now().Add(r.w.opts.Identity)
	if r.identity == nil && !wasHere && r.armed {
		return // still missing: nothing to read
	}
	r.touch(r.armed)
	r.armed = true
}

func (r *root) disarm() {
	for dir := range r.dirs {
		r.w.registry.unwatch(r, dir)
	}
	clear(r.dirs)
	if r.above != "" {
		r.w.registry.unwatch(r, r.above)
	}
	r.real, r.identity, r.above, r.poll = "", nil, "", false
	r.nextPoll, r.nextRetry = time.Time{}, time.Time{}
}

// arm watches once. It reports false when the root changed meanwhile.
func (r *root) arm() bool {
	st, err := os.Stat(r.dir)
	if err != nil || !st.IsDir() {
		return r.armAbove()
	}
	real, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		return r.armAbove()
	}
	r.real, r.identity = real, st
	mode, why, err := r.armEvents()
	if err != nil {
		return false
	}
	if r.poll {
		r.nextPoll = time.Now().Add(r.w.opts.Poll)
		if r.sum, err = signature(real); err != nil {
			return false
		}
	}
	again, err := os.Stat(r.dir)
	if err != nil || !os.SameFile(st, again) {
		return false
	}
	r.setState(mode, why)
	return true
}

// armEvents watches the tree as well as this file system and the system's
// limits allow, and decides whether it is polled. The error says that the root
// went away meanwhile.
func (r *root) armEvents() (Mode, obstacle, error) {
	if r.w.opts.PollOnly {
		r.poll = true
		return Polling, obstacle{reason: "polling was asked for"}, nil
	}
	name, support := eventSupport(r.real)
	if support == noEvents {
		r.poll = true
		return Polling, obstacle{reason: "the file system (" + name + ") delivers no events"}, nil
	}
	err := r.armWithin(r.w.opts.MaxFiles)
	switch {
	case err == nil:
		r.retry = 0
		if support == someEvents {
			// Events that come are welcome; those that do not are found by
			// looking.
			r.poll = true
			return Polling, obstacle{reason: "the file system (" + name + ") delivers only some events"}, nil
		}
		return Events, obstacle{}, nil
	case errors.Is(err, errTooMany): // of ours, and no matter of time
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", obstacle{}, err // no limit of the system: it was renamed a moment ago
	default:
		r.retry = min(max(2*r.retry, r.w.opts.RetryMin), r.w.opts.RetryMax)
		r.nextRetry = time.Now().Add(r.retry)
	}
	for dir := range r.dirs {
		r.w.registry.unwatch(r, dir)
	}
	clear(r.dirs)
	r.poll = true
	return Polling, obstacleOf(err), nil
}

// armWithin watches the tree unless it has more than most files, 0 for no
// bound. Where there is one, every file that is watched costs something: they
// are counted before the first is.
func (r *root) armWithin(most int) error {
	if most > 0 && exceeds(r.real, most) {
		return errTooMany
	}
	files, err := r.armTree(r.real)
	r.files = files
	return err
}

// armAbove watches the nearest existing directory above a missing root.
func (r *root) armAbove() bool {
	above, next := nearest(r.dir)
	r.mu.Lock()
	r.awaited = next
	r.mu.Unlock()
	st, err := os.Stat(above)
	if err != nil {
		return false
	}
	r.nextPoll = time.Now().Add(r.w.opts.Poll)
	if !r.w.opts.PollOnly {
		if _, support := eventSupport(above); support != noEvents {
			err := r.w.registry.watch(r, above, ancestor)
			switch {
			case err == nil:
				r.above, r.aboveID = above, st
				r.nextPoll = time.Time{}
			case errors.Is(err, fs.ErrNotExist):
				return false
			}
		}
	}
	// It may have come before it could be seen coming.
	if st, err := os.Stat(r.dir); err == nil && st.IsDir() {
		return false
	}
	if again, _ := nearest(r.dir); again != above {
		return false
	}
	r.setState(Missing, obstacle{reason: "the directory is not there"})
	return true
}

// armTree watches dir and everything below it, and returns the number of
// files. Each directory is watched before it is listed, so that what is not in
// the list comes as an event. An error of dir itself is returned, of those below
// only one that concerns all.
func (r *root) armTree(dir string) (files int, err error) {
	waiting := []string{dir}
	for len(waiting) > 0 {
		next := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if err := r.w.registry.watch(r, next, partOfTree); err != nil {
			if next != dir && passing(err) {
				continue
			}
			return files, err
		}
		r.dirs[next] = true
		entries, err := os.ReadDir(next)
		if err != nil {
			continue // gone, or closed to us: the scan says so
		}
		for _, e := range entries {
			switch {
			case noise(e.Name()):
			case e.IsDir():
				waiting = append(waiting, filepath.Join(next, e.Name()))
			default:
				files++
			}
		}
	}
	return files, nil
}

// dropTree ends the watches of dir and below.
func (r *root) dropTree(dir string) {
	if !r.dirs[dir] {
		return // a file; or never watched, and then nothing below it is
	}
	for watched := range r.dirs {
		if watched == dir || strings.HasPrefix(watched, dir+string(filepath.Separator)) {
			r.w.registry.unwatch(r, watched)
			delete(r.dirs, watched)
		}
	}
}

// passing reports whether a directory could not be watched for a reason of its
// own: it went, it is no directory, or it is closed to us.
func passing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
}
