//go:build unix

package watcher_test

import (
	"os"
	"testing"

	"github.com/teammem/teammemd/internal/nobody"
)

func TestUnreadableDirectories(t *testing.T) {
	t.Parallel()
	if !nobody.Runs(t) {
		return // modes keep root out of nothing
	}
	r := newRig(t, quick())
	r.must(os.Mkdir(r.path("closed"), 0o000))
	r.hint("the closed directory")
	r.write("f.md")
	r.proven("beside it", "f.md")
	r.must(os.Chmod(r.path("closed"), 0o755))
}
