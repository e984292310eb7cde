package clients

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

const (
	// flushEvery is how late a sighting is written at most.
	flushEvery = 10 * time.Second
	// seenEvery is how far the time of the last sighting may lag behind where
	// nothing else is new: ten thousand idle clients are not worth a write a second.
	seenEvery = 10 * time.Minute
	// forgetEvery is how often old devices are dropped.
	forgetEvery = 24 * time.Hour
	// lastFlush bounds the write of a server that stops.
	lastFlush = 5 * time.Second
	// maxKnown bounds the devices in memory, about 500 bytes each.
	maxKnown = 50_000
	// idleLife is how long one stays in memory that does not come.
	idleLife = 2 * seenEvery
)

// Options configure [New].
type Options struct {
	// Devices keeps what was seen. Required.
	Devices store.Devices
	// Clean takes out of an actor what must not be kept. Default: nothing.
	Clean func(ctx context.Context, by api.Actor) api.Actor
	// Log gets failures. Default: discarded.
	Log *slog.Logger
	// Now is the clock. Default: [time.Now].
	Now func() time.Time
}

// Sighting is one request of a device.
type Sighting struct {
	Repo     api.Repo
	ID       ID
	Nameless bool // ID stands for a credential
	At       time.Time
	// Epoch is the store's, Pulled the version that the request was answered, 0 for
	// none, and Cleaned up to which the device has carried out redactions, 0 where it
	// does not say.
	Epoch   string
	Pulled  uint64
	Cleaned uint64
}

// ID is what a checkout calls itself.
type ID = store.DeviceID

// Caller says who a device is.
type Caller interface{ Actor() api.Actor }

// Tracker gathers sightings. Its methods may be called from any goroutine.
type Tracker struct {
	o Options

	flushing sync.Mutex // one write at a time, so that an older one cannot come later

	mu    sync.Mutex
	known map[place]*sighted // guarded by mu
}

// place is a device in one repo.
type place struct {
	repo api.Repo
	id   store.DeviceID
}

// sighted is what is known of a device since it came.
type sighted struct {
	store.Device

	news    bool      // there is something to write
	written time.Time // Seen, as it was written last
	named   time.Time // when Actor was asked for
}

// New returns a Tracker. It starts nothing.
func New(o Options) *Tracker {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clean == nil {
		o.Clean = func(_ context.Context, by api.Actor) api.Actor { return by }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Tracker{o: o, known: make(map[place]*sighted)}
}

// Saw notes a sighting, and returns at once. who is asked now and then.
func (t *Tracker) Saw(s Sighting, who Caller) {
	at := place{s.Repo, s.ID}
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.known[at]
	if d == nil {
		if len(t.known) >= maxKnown {
			return // more than anybody has, or somebody draws ids: the next flush makes room
		}
		d = &sighted{Device: store.Device{ID: s.ID, First: s.At.UTC(), Epoch: s.Epoch}, news: true}
		t.known[at] = d
	}
	if s.At.Sub(d.named) >= seenEvery {
		if actor := who.Actor(); actor != d.Actor {
			d.Actor, d.news = actor, true
		}
		d.named = s.At
	}
	d.add(s)
}

// add takes a sighting in.
func (d *sighted) add(s Sighting) {
	if s.Epoch != "" && s.Epoch != d.Epoch {
		d.Epoch, d.Pulled, d.Cleaned, d.CleanedAt, d.news = s.Epoch, 0, 0, time.Time{}, true
	}
	d.Nameless = s.Nameless
	d.Seen = s.At.UTC()
	if s.Pulled > d.Pulled {
		d.Pulled, d.news = s.Pulled, true
	}
	if s.Cleaned > d.Cleaned {
		d.Cleaned, d.CleanedAt, d.news = s.Cleaned, s.At.UTC(), true
	}
	d.news = d.news || d.Seen.Sub(d.written) >= seenEvery
}

// Run writes what was seen every few seconds, and drops devices that nobody saw
// for [store.DeviceRetention], until ctx ends. It returns nil.
func (t *Tracker) Run(ctx context.Context) error {
	flush, forget := time.NewTicker(flushEvery), time.NewTicker(forgetEvery)
	defer flush.Stop()
	defer forget.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
			defer cancel()
			t.try(last)
			return nil
		case <-flush.C:
			t.try(ctx)
		case <-forget.C:
			if _, err := t.o.Devices.ForgetDevices(ctx, t.o.Now().UTC().Add(-store.DeviceRetention)); err != nil && ctx.Err() == nil {
				t.o.Log.WarnContext(ctx, "old devices not forgotten", "error", err)
			}
		}
	}
}

// try flushes and tells of a failure; the next flush writes what this did not.
func (t *Tracker) try(ctx context.Context) {
	if err := t.Flush(ctx); err != nil && ctx.Err() == nil {
		t.o.Log.WarnContext(ctx, "devices not recorded", "error", err)
	}
}

// Flush writes what was seen and not written yet.
func (t *Tracker) Flush(ctx context.Context) error {
	t.flushing.Lock()
	defer t.flushing.Unlock()
	news := t.take()
	if len(news) == 0 {
		return nil
	}
	for _, devices := range news {
		for i := range devices {
			devices[i].Actor = t.o.Clean(ctx, devices[i].Actor)
		}
	}
	err := t.o.Devices.RecordDevices(ctx, news)
	if err != nil {
		t.keep(news)
	}
	return err
}

// take returns what is new, and lets go of devices that have not come for a while.
func (t *Tracker) take() map[api.Repo][]store.Device {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.o.Now()
	news := make(map[api.Repo][]store.Device)
	for at, d := range t.known {
		switch {
		case d.news:
			d.news, d.written = false, d.Seen
			news[at.repo] = append(news[at.repo], d.Device)
		case now.Sub(d.Seen) > idleLife:
			delete(t.known, at)
		}
	}
	return news
}

// keep marks what could not be written.
func (t *Tracker) keep(news map[api.Repo][]store.Device) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for repo, devices := range news {
		for _, device := range devices {
			if d := t.known[place{repo, device.ID}]; d != nil {
				d.news = true
			}
		}
	}
}

// Forget drops who devices are: a person was erased, and what is in memory must not
// bring the name back. Those that come again say it again.
func (t *Tracker) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.known)
}

// Devices lists those of a repo as they are now.
func (t *Tracker) Devices(ctx context.Context, repo api.Repo) ([]store.Device, error) {
	if err := t.Flush(ctx); err != nil {
		return nil, err
	}
	return t.o.Devices.Devices(ctx, repo)
}
