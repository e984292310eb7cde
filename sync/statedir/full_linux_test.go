package statedir_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/nstest"
)

// TestF12FullDiskOfTheState: commits and saves fail while nothing fits, change nothing, and
// succeed again afterwards.
func TestF12FullDiskOfTheState(t *testing.T) {
	if !nstest.Inside(t) {
		return
	}
	path := t.TempDir()
	nstest.Mount(t, "tmpfs", path, "tmpfs", 0, "size=256k")
	d := open(t, path)
	want := api.Memory{Epoch: "e", Version: 1, Bases: map[api.Key]api.Base{key(t, "a.md"): base("one")}}
	commit(t, d, api.Record{View: &api.Position{Epoch: "e", Version: 1}, Bases: want.Bases})
	var free func()
	// Twice: the append fails first, then the replacement that follows it.
	for range 2 {
		free = nstest.Fill(t, path)
		large := api.Record{Bases: map[api.Key]api.Base{key(t, "b.md"): base("two", strings.Split(strings.Repeat("r ", 300), " ")...)}}
		if err := d.Commit(t.Context(), large); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Commit: %v, want ENOSPC", err)
		}
		text := strings.Repeat("text ", 2000)
		if _, err := d.Save(t.Context(), api.SavedCopy{Key: key(t, "a.md"), Content: text, Sum: api.SumString(text)}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Save: %v, want ENOSPC", err)
		}
		if got := copies(t, d); len(got) != 0 {
			t.Errorf("copies %v", got)
		}
		wantMemory(t, d, want)
	}
	free()
	commit(t, d, api.Record{View: &api.Position{Epoch: "e", Version: 2}})
	want.Version = 2
	wantMemory(t, d, want)
}
