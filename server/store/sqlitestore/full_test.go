package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// fillStore writes until the database is full.
func fillStore(s *sqlitestore.Store) error {
	for i := range 10_000 {
		_, err := s.Update(context.Background(), acme, putting(fmt.Sprintf("%d.md", i), fmt.Sprint(i, strings.Repeat("text ", 4000))))
		if err == nil {
			continue
		}
		if !errors.Is(err, store.ErrFull) {
			return fmt.Errorf("writing to a full database: %w", err)
		}
		head, err := s.Head(context.Background(), acme)
		if err != nil || int(head.Version) != i || len(head.Items) != i {
			return fmt.Errorf("head after change %d was refused: %+v, %w", i, head, err)
		}
		return nil
	}
	return errors.New("the database was never full")
}

func TestFullDatabase(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	if _, err := s.Update(t.Context(), mustRepo("acme/small"), putting("a.md", "one")); err != nil {
		t.Fatal(err)
	}
	if err := s.LimitGrowth(100); err != nil {
		t.Fatal(err)
	}
	if err := fillStore(s); err != nil {
		t.Fatal(err)
	}
	// A group: the large ones fail, the small one finds its place.
	release := hold(t, s)
	var large, small atomic.Int64
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			if i%4 == 1 {
				if _, err := s.Update(t.Context(), mustRepo("acme/small"), putting("a.md", "tiny")); err == nil {
					small.Add(1)
				}
				return
			}
			if _, err := s.Update(t.Context(), acme, putting(fmt.Sprintf("large/%d.md", i), strings.Repeat("text ", 40_000))); err == nil {
				large.Add(1)
			}
		})
		waitForQueue(s, i+1)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if large.Load() != 0 {
		t.Errorf("%d large changes fitted into a full database", large.Load())
	}
	t.Logf("%d of 3 small changes found a place", small.Load())
	if err := s.LimitGrowth(-1); err != nil {
		t.Fatal(err)
	}
	before, err := s.Head(t.Context(), acme)
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.Update(t.Context(), acme, putting("after.md", "room again"))
	if err != nil || after.Version != before.Version+1 {
		t.Errorf("after the disk has room again: %+v, %v", after, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantSound(t, dir)
	head, err := serve(t, dir).Head(t.Context(), acme)
	if err != nil || head.Checksum != after.Checksum || head.Version != after.Version {
		t.Errorf("head after reopening: %+v, %v", head, err)
	}
}
