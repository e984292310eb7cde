package statedir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/teammem/teammemd/sync/statedir"
)

func TestDeviceKeepsItsID(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	if got := statedir.DeviceAt(path); got != "" {
		t.Errorf("before there is a state: %q", got)
	}
	id := func() string {
		d, err := statedir.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		id, err := d.Device()
		if err != nil || len(id) != 32 || id != statedir.DeviceAt(path) {
			t.Errorf("id %q, read beside %q: %v", id, statedir.DeviceAt(path), err)
		}
		return id
	}
	first := id()
	if again := id(); again != first {
		t.Errorf("opened again it is %q, want %q", again, first)
	}
	for _, damaged := range []string{"", "short", first[:31] + "x"} {
		if err := os.WriteFile(filepath.Join(path, "device"), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if now := id(); now == damaged || now == first {
			t.Errorf("of the damaged %q it made %q", damaged, now)
		}
	}
}
