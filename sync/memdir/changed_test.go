package memdir_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/memdir"
)

// TestChangedDuringTheRead: a file is read all the time, and saved now and then:
// in place, or by a rename. A save that falls between the first look at a file
// and its reading is told by the second look alone: nobody has the file open any
// more, and its size is what it was. What was read then is younger than asked
// for, and may be half of a save.
func TestChangedDuringTheRead(t *testing.T) {
	const settle, saves = 2 * time.Millisecond, 200
	var now time.Time // by which the tree judged the age
	w := newWorld(t, func(o *memdir.Options) {
		o.Clock = func() time.Time { now = time.Now(); return now }
	})
	w.write("a.md", version(0))
	done := make(chan error, 1)
	go func() { done <- saveOften(w.path("a.md"), filepath.Join(t.TempDir(), "new"), saves, settle) }()
	var whole, refused int
	for {
		got, err := w.tree.Load(t.Context(), key(t, "a.md"), api.Reading{Settle: settle})
		switch {
		case errors.Is(err, api.ErrUnsettled):
			refused++
		case err != nil:
			t.Fatal(err)
		default:
			whole++
			if age := ageOf(t, w.path("a.md"), got.Content, now); age < settle {
				t.Fatalf("a text that was %v old was taken for one of %v, after %d whole reads", age, settle, whole)
			}
		}
		select {
		case err := <-done:
			if err != nil || whole == 0 || refused == 0 {
				t.Errorf("%d reads were whole, %d refused, error %v", whole, refused, err)
			}
			t.Logf("%d reads were whole, %d refused", whole, refused)
			return
		default:
		}
	}
}

func version(n int) string { return fmt.Sprintf("version %09d\n", n) }

// saveOften saves versions of one size, each a while after the other.
func saveOften(path, beside string, saves int, settle time.Duration) error {
	for n := range saves {
		<-time.After(settle + time.Duration(n%7)*settle/4)
		var err error
		if n%2 == 0 {
			err = os.WriteFile(beside, []byte(version(n)), 0o644)
			err = errors.Join(err, os.Rename(beside, path))
		} else {
			err = overwrite(path, version(n))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overwrite changes a file without truncating it.
func overwrite(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}

// ageOf returns how old the file's content was at a time. A content that the file
// has no more is as old as can be: nothing can be said of it.
func ageOf(t *testing.T, path, content string, now time.Time) time.Duration {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	current, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(current) != content || !os.SameFile(info, after) || !info.ModTime().Equal(after.ModTime()) {
		return time.Hour
	}
	return now.Sub(info.ModTime())
}
