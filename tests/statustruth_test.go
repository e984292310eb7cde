package tests

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestStatusKnowsWhatHasNotSettled: status does not say that all is in sync while
// an edit waits for its debounce, or for the end of a pause.
func TestStatusKnowsWhatHasNotSettled(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	m := newMachine(t, "ada")
	m.config("debounce = \"1h\"\nmax_wait = \"2h\"\n")
	m.enroll(server.url, server.token("ada", team, "writer"), team)
	path := m.write("note.md", "text\n")
	m.sync(0)
	m.daemon()
	says := func(state string, code int, pending ...string) {
		t.Helper()
		await(t, time.Minute, "status to say "+state, func() bool {
			time.Sleep(20 * time.Millisecond)
			r := m.status()
			return r.State == state && r.Pending == len(pending) && slices.Equal(r.PendingKeys, pending)
		})
		m.want(code, "status", "--check")
	}
	says("in-sync", 0)

	m.write("note.md", "edited\n")
	m.write("new.md", "new\n")
	says("pending", 75, "new.md", "note.md")

	// Touched is not changed.
	m.write("note.md", "text\n")
	remove(t, filepath.Join(m.team, "new.md"))
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		t.Fatal(err)
	}
	says("in-sync", 0)

	m.ok("pause")
	m.write("note.md", "edited while paused\n")
	says("paused", 75, "note.md")
}
