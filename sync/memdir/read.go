package memdir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unicode/utf8"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/internal/planted"
)

// look inspects a name in d: its mark, and why it is not read, if so.
func (d *dir) look(name string) (mark, *api.HeldError, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return mark{}, nil, err
	}
	m, links := markOf(info)
	return m, unfit(info, links), nil
}

// read fills buf with the content of a file that had the mark before, and
// reports whether a program has the file open for writing, false where nobody
// can tell. It returns [api.ErrUnsettled] when the file changed meanwhile or is
// another by now.
func (d *dir) read(name string, before mark, buf []byte) (content []byte, busy bool, err error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, false, err
	}
	// First the writers, then content and mark: a save that ends in between
	// changes the mark.
	if busy, err = atomicfile.HasWriter(f); errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err == nil {
		content, err = readWhole(f, before, buf)
	}
	return content, busy, errors.Join(err, f.Close())
}

// readWhole reads an open file and checks that it is, before and after, the
// plain file of the mark. One comparison with the state after the read covers
// both ends.
func readWhole(f *os.File, before mark, buf []byte) ([]byte, error) {
	if before.size >= int64(len(buf)) {
		return nil, api.ErrUnsettled // grew past the limit since it was looked at
	}
	n, err := io.ReadFull(f, buf[:before.size])
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil, api.ErrUnsettled
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	after, links := markOf(info)
	if (after != before || unfit(info, links) != nil) && !planted.In(planted.TornRead) {
		return nil, api.ErrUnsettled
	}
	return buf[:n], nil
}

// tooLarge returns why a file of that size takes no part.
func (t *Tree) tooLarge(size int64) *api.HeldError {
	if size <= int64(t.max) {
		return nil
	}
	return &api.HeldError{Reason: api.HeldTooLarge, Detail: fmt.Sprintf("%d bytes, at most %d are synced", size, t.max)}
}

// notText returns why a content is not text, nil for UTF-8 without NUL.
func notText(content []byte) *api.HeldError {
	switch {
	case bytes.HasPrefix(content, []byte{0xFF, 0xFE}) || bytes.HasPrefix(content, []byte{0xFE, 0xFF}):
		return &api.HeldError{Reason: api.HeldNotText, Detail: "UTF-16, not UTF-8"}
	case !utf8.Valid(content):
		return &api.HeldError{Reason: api.HeldNotText, Detail: "not UTF-8"}
	case bytes.IndexByte(content, 0) >= 0:
		return &api.HeldError{Reason: api.HeldNotText, Detail: "a NUL byte"}
	}
	return nil
}

// unreadable turns an error of the system into a reason to hold a file.
func unreadable(err error) *api.HeldError {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		err = linkErr.Err
	}
	return &api.HeldError{Reason: api.HeldUnreadable, Detail: err.Error()}
}

// isFixed reports whether the system refuses to put another file into the place
// of one: its permissions say so, it is immutable, or something is mounted on it.
func isFixed(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EBUSY)
}

// fixed turns such an error into a reason to hold a file.
func fixed(err error) *api.HeldError {
	held := unreadable(err)
	held.Detail = "it cannot be replaced: " + held.Detail
	return held
}

// unstable is how a snapshot lists a file that is being written.
func unstable() *api.HeldError {
	return &api.HeldError{Reason: api.HeldUnstable, Detail: "changed a moment ago"}
}
