package sqlitestore_test

import (
	"testing"

	"github.com/teammem/teammemd/internal/nstest"
)

// TestFullFileSystem fills a file system of 4 MB, so that the write-ahead log
// is what finds no room.
func TestFullFileSystem(t *testing.T) {
	if !nstest.Inside(t) {
		return
	}
	dir := t.TempDir()
	nstest.Mount(t, "tmpfs", dir, "tmpfs", 0, "size=4m")
	if err := fillStore(serve(t, dir)); err != nil {
		t.Error(err)
	}
}
