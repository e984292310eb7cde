package memdir

import (
	"io/fs"
	"time"

	"github.com/teammem/teammemd/api"
)

// mark is what tells one state of a file from another without reading it.
type mark struct {
	size     int64
	mtime    int64 // nanoseconds since 1970
	ctime    int64 // of the last change of any kind; mtime where unknown
	dev, ino uint64
}

// racy is the age below which equal marks do not prove equal contents: the
// clock of a file system may tick as rarely as that, so a second save may leave
// all times alike.
const racy = 2 * time.Second

// cached is what is known of a file on disk.
type cached struct {
	mark
	key api.Key
	sum api.Checksum
	// held, when set, is why the content takes no part.
	held *api.HeldError
	// proven: the mark was older than racy when the content was read, so an
	// equal mark means equal content.
	proven bool
	// settled: the content was whole. A young file with the same content is
	// whole as well.
	settled bool
	// seen is when this mark was seen first, by our clock.
	seen time.Time
}

// openSettle is how long a file that a program has open for writing must have
// been as it is, however short the wait for others: a program may rest in the
// middle of a save for longer than a person likes to wait for its end.
const openSettle = 500 * time.Millisecond

// changed returns when the file changed last. A modification time in the
// future, which any program may set, says nothing.
func (m mark) changed(now time.Time) time.Time {
	changed := time.Unix(0, m.ctime)
	if modified := time.Unix(0, m.mtime); modified.After(changed) && !modified.After(now) {
		return modified
	}
	return changed
}

// unchangedFor reports whether a file has been as it is for at least d: by its
// own times, or because we saw the same mark that long ago. The second way
// serves after a jump of the clock, and for a file that stays open for writing.
//
// Of such a file its times are not believed: ext4 first truncates, and sets the
// times a moment later. Where nobody can tell whether it is open, a size that
// changed without the times gives that moment away.
func (m mark) unchangedFor(d time.Duration, now time.Time, busy bool, old cached) bool {
	if busy {
		d = max(d, openSettle)
	}
	if old.mark == m && !old.seen.IsZero() && now.Sub(old.seen) >= d {
		return true
	}
	resized := old.mark
	resized.size = m.size
	return !busy && now.Sub(m.changed(now)) >= d && (old.mark == m || resized != m)
}

// unfit returns why an object of the tree is not read, nil for a plain file.
func unfit(info fs.FileInfo, links uint64) *api.HeldError {
	mode := info.Mode()
	switch {
	case mode&fs.ModeSymlink != 0:
		return &api.HeldError{Reason: api.HeldLink, Detail: "a symbolic link"}
	case !mode.IsRegular():
		return &api.HeldError{Reason: api.HeldUnreadable, Detail: "not a regular file but " + kind(mode)}
	case links > 1:
		return &api.HeldError{Reason: api.HeldLink, Detail: "a hard link: the file has more than one name"}
	}
	return nil
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}
