package sqlitestore_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// A log that a crash cut off anywhere, or whose end it left as zeros, brings
// back the state after some whole change, never a part of one.
func TestTornLog(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	sums := map[api.Checksum]uint64{}
	for i := range 12 {
		c := entries(3, i)
		c.Retire = []api.Key{mustKey(fmt.Sprintf("gone/%d.md", i))}
		head, err := s.Update(t.Context(), acme, func(store.Tx) (store.Change, error) { return c, nil })
		if err != nil {
			t.Fatal(err)
		}
		sums[head.Checksum] = head.Version
	}
	database, log := read(t, filepath.Join(dir, "teammemd.db")), read(t, filepath.Join(dir, "teammemd.db-wal"))
	const cuts = 24
	last := uint64(0)
	for i := range cuts + 1 {
		cut := len(log) * i / cuts
		for name, torn := range map[string]string{"cut": log[:cut], "zeros": log[:cut] + strings.Repeat("\x00", len(log)-cut)} {
			copied := t.TempDir()
			write(t, filepath.Join(copied, "teammemd.db"), database)
			write(t, filepath.Join(copied, "teammemd.db-wal"), torn)
			again := serve(t, copied)
			head, err := again.Head(t.Context(), acme)
			if err == nil {
				if version, ok := sums[head.Checksum]; !ok || version != head.Version || version < last {
					t.Errorf("%s at %d of %d bytes: version %d is none that was committed", name, cut, len(log), head.Version)
				}
				last = head.Version
			} else if last > 0 {
				t.Errorf("%s at %d of %d bytes: %v", name, cut, len(log), err)
			}
			if next, err := again.Update(t.Context(), acme, putting("on.md", "x")); err != nil || next.Version != last+1 {
				t.Errorf("%s at %d of %d bytes: going on: %v", name, cut, len(log), err)
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
			wantSound(t, copied)
		}
	}
	if last != 12 {
		t.Errorf("the whole log brings back version %d, want 12", last)
	}
}
