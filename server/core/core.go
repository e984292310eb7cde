package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// ScanFunc finds secrets in one entry: in its content, and, reported with line
// 0, in its key, which is text that travels as well. The key is "" for text that
// is kept beside a write. It may be called from several goroutines. A *[api.HeldError] says that this content could not be judged and
// must be refused; any other error that nothing can be judged now. Findings
// carry no part of a value.
type ScanFunc func(ctx context.Context, key, content string) ([]api.Finding, error)

// Defaults of what is kept in memory, in bytes: rendered views, and indexes. The
// latter take the largest repo of usual notes, 20,000 of 4 KB, whole.
const (
	defaultCacheBytes  = 128 << 20
	defaultSearchBytes = 512 << 20
)

// Options configure [New].
type Options struct {
	// Store keeps the repos. Required.
	Store store.Store
	// Policies keeps what maintainers let pass, and Rescans what scanning again
	// found; nil for none.
	Policies store.Policies
	Rescans  store.Rescans
	// Audits keeps the chains, and Devices says who syncs with a repo; nil: nobody can
	// read the ones, or is told of the others.
	Audits  store.Audits
	Devices Devices
	// Scrub rewrites what the store's files still hold of contents that are gone; nil
	// where the store cannot. See [store.Keeper].
	Scrub func(ctx context.Context) error
	// Scan judges contents before they are stored. Required.
	Scan ScanFunc
	// Rules names the scanner's current rule set, version and hash; it is
	// recorded with each version and a new name discards remembered verdicts.
	// Default: an empty name.
	Rules func() string
	// Organization is organizationId in answers. Default: "self-hosted".
	Organization string
	// MaxEntries caps the live entries of one repo. Default, and most:
	// [api.MaxEntries].
	MaxEntries int
	// MaxEntryBytes caps one content, in bytes of UTF-8. Default, and most:
	// [api.MaxEntryBytes].
	MaxEntryBytes int
	// CacheBytes bounds the rendered views kept in memory. Default: 128 MiB.
	CacheBytes int
	// SearchBytes bounds the indexes for searching kept in memory. Default: 512 MiB.
	SearchBytes int
	// Log gets one line per write that used an allowance. Default: discarded.
	Log *slog.Logger
	// Meter counts what happens. Default: nobody does.
	Meter Meter
	// Now is the clock. Default: [time.Now].
	Now func() time.Time
}

// Core reads and writes repos. Its methods may be called from any goroutine.
type Core struct {
	o        Options
	hub      *Hub
	views    *viewCache
	searches *searches
	verdicts *verdicts
	policies policyCache
	scanning chan struct{} // one slot for each scan that may run at a time
}

// New returns a Core. It starts nothing.
func New(o Options) (*Core, error) {
	if o.Store == nil || o.Scan == nil {
		return nil, fmt.Errorf("%w: core needs a store and a scanner", api.ErrConfig)
	}
	if o.Rules == nil {
		o.Rules = func() string { return "" }
	}
	if o.Organization == "" {
		o.Organization = "self-hosted"
	}
	if o.MaxEntries <= 0 || o.MaxEntries > api.MaxEntries {
		o.MaxEntries = api.MaxEntries
	}
	if o.MaxEntryBytes <= 0 || o.MaxEntryBytes > api.MaxEntryBytes {
		o.MaxEntryBytes = api.MaxEntryBytes
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.SearchBytes <= 0 {
		o.SearchBytes = defaultSearchBytes
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Meter == nil {
		o.Meter = unmetered{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Core{
		o: o, hub: newHub(), views: newViewCache(o.CacheBytes), verdicts: newVerdicts(),
		searches: newSearches(o.SearchBytes),
		scanning: make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	c.views.generation, c.views.moved = c.generation, c.searches.moved
	return c, nil
}

// Hub returns what tells readers that a repo has moved on.
func (c *Core) Hub() *Hub { return c.hub }

// NotFound is the one answer for a repo that was never written and for one that
// the caller may not read, so that neither can be told from the other.
func NotFound() error { return &api.Error{Err: api.ErrNotFound} }

// MayWrite returns nil for a writer, and the refusal for anyone else.
func MayWrite(role api.Role) error {
	switch {
	case role < api.Reader:
		return NotFound()
	case role < api.Writer:
		return api.Errorf(api.ErrForbidden, "writing takes the role of a writer")
	}
	return nil
}

// storeError turns what a backend returned into what travels.
func storeError(doing string, err error) error {
	if errors.Is(err, store.ErrNoRepo) {
		return NotFound()
	}
	if errors.Is(err, store.ErrFull) {
		said := api.Errorf(api.ErrUnavailable, "the disk of its database is full; nothing was written, try again when its operator made room")
		return fmt.Errorf("%w: %s: %w", said, doing, err)
	}
	return fmt.Errorf("%w: %s: %w", api.ErrUnavailable, doing, err)
}
