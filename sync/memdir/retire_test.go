package memdir_test

import (
	"errors"
	"os"
	"testing"

	"github.com/teammem/teammemd/api"
)

func TestRetire(t *testing.T) {
	w := newWorld(t)
	w.write("dir/a.md", "retired text")
	known := []api.Checksum{api.SumString("other"), api.SumString("retired text")}
	for range 2 { // absence is a success
		if err := w.tree.Retire(t.Context(), key(t, "dir/a.md"), known); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(w.path("dir/a.md")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("still there: %v", err)
		}
		diff(t, "saved copies", w.saved(), map[string][]string{"dir/a.md": {"retired text"}})
	}
	copies, err := w.state.Copies()
	if err != nil || len(copies) != 1 || copies[0].Why != "retired" {
		t.Errorf("copies %+v, %v", copies, err)
	}
	w.wantClean()
}

func TestRetireLeavesTheUnknown(t *testing.T) {
	w := newWorld(t)
	w.write("a.md", "edited")
	err := w.tree.Retire(t.Context(), key(t, "a.md"), []api.Checksum{api.SumString("base")})
	if !errors.Is(err, api.ErrUnsettled) {
		t.Errorf("Retire: %v, want %v", err, api.ErrUnsettled)
	}
	w.wantContent("a.md", "edited")
	w.wantClean()
}

func TestRetireWithoutRoomForACopy(t *testing.T) {
	w := newWorld(t, failingSave)
	w.write("a.md", "base")
	err := w.tree.Retire(t.Context(), key(t, "a.md"), []api.Checksum{api.SumString("base")})
	if !errors.Is(err, errDisk) {
		t.Errorf("Retire: %v, want %v", err, errDisk)
	}
	w.wantContent("a.md", "base")
	w.wantClean()
}

// A program that keeps the file open may still write into it.
func TestRetireLeavesOpenFiles(t *testing.T) {
	w := newWorld(t)
	w.write("a.md", "base")
	w.keepOpen("a.md")
	err := w.tree.Retire(t.Context(), key(t, "a.md"), []api.Checksum{api.SumString("base")})
	if !errors.Is(err, api.ErrUnsettled) {
		t.Errorf("Retire: %v, want %v", err, api.ErrUnsettled)
	}
	w.wantContent("a.md", "base")
	w.wantClean()
}
