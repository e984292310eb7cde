package clients_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/clients"
	"github.com/teammem/teammemd/server/store"
)

// shelf is a store of devices that fails the test where the tracker breaks its own
// word: it writes one batch at a time.
type shelf struct {
	t    *testing.T
	busy atomic.Bool

	mu   sync.Mutex // guards what follows
	fail error
	held
}

// held is what was asked of a shelf.
type held struct {
	writes, rows int
	devices      map[store.DeviceID]store.Device
	forgot       time.Time
}

// has returns what the shelf has at this moment.
func (s *shelf) has() held {
	s.mu.Lock()
	defer s.mu.Unlock()
	has := s.held
	has.devices = maps.Clone(has.devices)
	return has
}

// fails lets writes fail from now on, with nil no more.
func (s *shelf) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func (s *shelf) RecordDevices(_ context.Context, seen map[api.Repo][]store.Device) error {
	if !s.busy.CompareAndSwap(false, true) {
		s.t.Error("two writes at a time")
	}
	defer s.busy.Store(false)
	if len(seen) == 0 {
		s.t.Error("a write of nothing")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.fail != nil {
		return s.fail
	}
	for _, devices := range seen {
		for _, d := range devices {
			s.rows++
			s.devices[d.ID] = d
		}
	}
	return nil
}

func (s *shelf) Devices(context.Context, api.Repo) ([]store.Device, error) {
	var list []store.Device
	for _, d := range s.has().devices {
		list = append(list, d)
	}
	return list, nil
}

func (s *shelf) ForgetDevices(_ context.Context, before time.Time) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgot = before
	return 0, nil
}

// ada counts how often she was asked who she is.
type ada struct{ asked int }

func (a *ada) Actor() api.Actor {
	a.asked++
	return api.Actor{Person: "ada", Device: "desk"}
}

func acme(t *testing.T) api.Repo {
	t.Helper()
	repo, err := api.ParseRepo("acme/api")
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// run runs a tracker in a bubble and stops it at the end.
func run(t *testing.T, test func(t *testing.T, tracker *clients.Tracker, s *shelf)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{t: t, held: held{devices: map[store.DeviceID]store.Device{}}}
		tracker := clients.New(clients.Options{Devices: s, Clean: func(_ context.Context, by api.Actor) api.Actor {
			by.Person = "clean " + by.Person
			return by
		}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- tracker.Run(ctx) }()
		test(t, tracker, s)
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

// TestSightingsAreGathered: requests write nothing. What is new is written within
// seconds, and a client that only goes on coming once in ten minutes.
func TestSightingsAreGathered(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, tracker *clients.Tracker, s *shelf) {
		t.Helper()
		who, repo, begun := &ada{}, acme(t), time.Now()
		see := func(pulled, cleaned uint64) {
			tracker.Saw(clients.Sighting{Repo: repo, ID: clients.ID{1}, At: time.Now(), Epoch: "e", Pulled: pulled, Cleaned: cleaned}, who)
		}
		for range 1000 {
			see(7, 0)
		}
		if s.has().writes != 0 {
			t.Errorf("%d writes by requests", s.has().writes)
		}
		<-time.After(11 * time.Second)
		see(9, 0)
		see(8, 5)
		see(9, 3) // a request that was slow
		<-time.After(10 * time.Second)
		want := store.Device{
			ID: clients.ID{1}, Actor: api.Actor{Person: "clean ada", Device: "desk"}, First: begun.UTC(), Seen: begun.Add(11 * time.Second).UTC(),
			Epoch: "e", Pulled: 9, Cleaned: 5, CleanedAt: begun.Add(11 * time.Second).UTC(),
		}
		if diff := cmp.Diff(want, s.has().devices[clients.ID{1}]); diff != "" || s.has().writes != 2 {
			t.Errorf("after %d writes (-want +got)\n%s", s.has().writes, diff)
		}
		for range 6 * 60 {
			<-time.After(10 * time.Second)
			see(9, 5)
		}
		if s.has().writes > 2+7 {
			t.Errorf("%d writes for an hour of a client that only came", s.has().writes)
		}
		if who.asked > 8 {
			t.Errorf("it was asked %d times who it is", who.asked)
		}
	})
}

// TestEpochsAreApart: after a restore the numbers begin anew.
func TestEpochsAreApart(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, tracker *clients.Tracker, s *shelf) {
		t.Helper()
		repo := acme(t)
		for _, sighting := range []clients.Sighting{{Epoch: "e1", Pulled: 9, Cleaned: 9}, {Epoch: "e2", Pulled: 3}, {}} {
			sighting.Repo, sighting.ID, sighting.At = repo, clients.ID{1}, time.Now()
			tracker.Saw(sighting, &ada{})
		}
		list, err := tracker.Devices(t.Context(), repo)
		if err != nil || len(list) != 1 || list[0].Epoch != "e2" || list[0].Pulled != 3 || list[0].Cleaned != 0 || !list[0].CleanedAt.IsZero() {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// TestNothingIsLostByAFailure: what could not be written is written later, and the
// last of it when the server stops.
func TestNothingIsLostByAFailure(t *testing.T) {
	t.Parallel()
	var last *shelf
	run(t, func(t *testing.T, tracker *clients.Tracker, s *shelf) {
		t.Helper()
		last = s
		s.fails(errors.New("the database is away"))
		tracker.Saw(clients.Sighting{Repo: acme(t), ID: clients.ID{1}, At: time.Now(), Pulled: 4}, &ada{})
		<-time.After(15 * time.Second)
		if s.has().writes == 0 || len(s.has().devices) != 0 {
			t.Fatalf("%d writes, %d devices", s.has().writes, len(s.has().devices))
		}
		if _, err := tracker.Devices(t.Context(), acme(t)); err == nil {
			t.Error("a report was made of what could not be written")
		}
		s.fails(nil)
	})
	if last.has().devices[clients.ID{1}].Pulled != 4 {
		t.Errorf("after the stop there is %+v", last.has().devices)
	}
}

// TestOldDevicesAreForgotten, once a day, and ids without end take no memory.
func TestOldDevicesAreForgotten(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, tracker *clients.Tracker, s *shelf) {
		t.Helper()
		for i := range 60_000 {
			tracker.Saw(clients.Sighting{Repo: acme(t), ID: clients.ID{byte(i), byte(i >> 8), byte(i >> 16)}, At: time.Now()}, &ada{})
		}
		<-time.After(25 * time.Hour)
		if want := time.Now().Add(-time.Hour - store.DeviceRetention); !s.has().forgot.Equal(want) {
			t.Errorf("forgot those before %v, want %v", s.has().forgot, want)
		}
		if s.has().rows != 50_000 {
			t.Errorf("%d rows were written", s.has().rows)
		}
		tracker.Saw(clients.Sighting{Repo: acme(t), ID: clients.ID{9, 9, 9, 9}, At: time.Now()}, &ada{})
		list, err := tracker.Devices(t.Context(), acme(t))
		if err != nil || !slices.ContainsFunc(list, func(d store.Device) bool { return d.ID == clients.ID{9, 9, 9, 9} }) {
			t.Error("there is no room for a new device a day later")
		}
	})
}
