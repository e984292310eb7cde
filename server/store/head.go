package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
)

// Head is an immutable snapshot of a repo, without bodies.
type Head struct {
	Repo     api.Repo
	Epoch    string
	Version  uint64
	Checksum api.Checksum   // see [Head.Seal]
	Modified time.Time      // of the last change; zero at version 0
	Items    []Item         // live entries, sorted by key
	Tombs    []Tomb         // retired keys, sorted by key
	Redacted []api.Checksum // the ledger: contents that never come back, sorted
}

// Item is one live entry.
type Item struct {
	Key      api.Key
	Sum      api.Checksum
	Bytes    int
	Version  uint64 // the repo's version that wrote it
	Modified time.Time
	Allowed  string // as in [Put]
}

// Tomb is one retired key.
type Tomb struct {
	Key     api.Key
	Version uint64 // the repo's version that retired it
}

// Item returns the live entry of key.
func (h *Head) Item(key api.Key) (Item, bool) {
	i, ok := slices.BinarySearchFunc(h.Items, key, func(it Item, k api.Key) int { return it.Key.Compare(k) })
	if !ok {
		return Item{}, false
	}
	return h.Items[i], true
}

// Tomb returns the tombstone of key.
func (h *Head) Tomb(key api.Key) (Tomb, bool) {
	i, ok := slices.BinarySearchFunc(h.Tombs, key, func(t Tomb, k api.Key) int { return t.Key.Compare(k) })
	if !ok {
		return Tomb{}, false
	}
	return h.Tombs[i], true
}

// Next returns the head after c, sealed. It returns h itself for a change
// without effects. h is not changed; the two share nothing that is written.
func (h *Head) Next(c Change) *Head {
	ledger := h.ledger(c.Redact)
	if len(c.Puts) == 0 && len(c.Retire) == 0 && len(ledger) == len(h.Redacted) {
		return h
	}
	next := &Head{Repo: h.Repo, Epoch: h.Epoch, Version: h.Version + 1, Modified: c.At, Redacted: ledger}
	put := make([]Item, 0, len(c.Puts))
	for _, p := range c.Puts {
		put = append(put, Item{Key: p.Key, Sum: p.Sum, Bytes: len(p.Content), Version: next.Version, Modified: c.At, Allowed: p.Allowed})
	}
	dead := make([]Tomb, 0, len(c.Retire))
	for _, key := range c.Retire {
		dead = append(dead, Tomb{key, next.Version})
	}
	slices.SortFunc(put, func(a, b Item) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(dead, func(a, b Tomb) int { return a.Key.Compare(b.Key) })

	itemKey := func(it Item) api.Key { return it.Key }
	tombKey := func(t Tomb) api.Key { return t.Key }
	next.Items = overlay(h.Items, put, itemKey, keysOf(dead, tombKey))
	next.Tombs = overlay(h.Tombs, dead, tombKey, keysOf(put, itemKey))
	next.Seal()
	return next
}

// ledger returns the ledger with more contents in it.
func (h *Head) ledger(more []api.Checksum) []api.Checksum {
	if len(more) == 0 {
		return h.Redacted
	}
	all := append(slices.Clone(h.Redacted), more...)
	slices.SortFunc(all, compareSums)
	return slices.Compact(all)
}

// IsRedacted reports whether a content is in the ledger.
func (h *Head) IsRedacted(sum api.Checksum) bool {
	_, found := slices.BinarySearchFunc(h.Redacted, sum, compareSums)
	return found
}

func compareSums(a, b api.Checksum) int { return bytes.Compare(a[:], b[:]) }

func keysOf[T any](rows []T, key func(T) api.Key) []api.Key {
	keys := make([]api.Key, len(rows))
	for i, row := range rows {
		keys[i] = key(row)
	}
	return keys
}

// overlay merges the sorted rows of over into the sorted rows of base, over
// winning, and leaves out base's rows whose key is in the sorted drop.
func overlay[T any](base, over []T, key func(T) api.Key, drop []api.Key) []T {
	out := make([]T, 0, len(base)+len(over))
	for len(base) > 0 || len(over) > 0 {
		order := -1 // base's row comes first
		if len(base) == 0 {
			order = 1
		} else if len(over) > 0 {
			order = key(base[0]).Compare(key(over[0]))
		}
		if order >= 0 {
			out, over = append(out, over[0]), over[1:]
			if order == 0 {
				base = base[1:]
			}
			continue
		}
		if _, dropped := slices.BinarySearchFunc(drop, key(base[0]), api.Key.Compare); !dropped {
			out = append(out, base[0])
		}
		base = base[1:]
	}
	return out
}

// Seal computes Checksum from the sorted items and tombstones and the ledger of
// redactions: SHA-256 over each row's kind, key length, key, and sum or version.
// It depends on nothing else, so equal states of two servers have equal
// checksums, and a rename changes it.
func (h *Head) Seal() {
	sum := sha256.New()
	const row = 96 // bytes of most
	buf := make([]byte, 0, min(64<<10, row*(len(h.Items)+len(h.Tombs)+len(h.Redacted))))
	flush := func(min int) {
		if len(buf) >= min {
			sum.Write(buf)
			buf = buf[:0]
		}
	}
	for _, it := range h.Items {
		buf = append(buf, 'e')
		buf = appendKey(buf, it.Key)
		buf = append(buf, it.Sum[:]...)
		flush(32 << 10)
	}
	for _, t := range h.Tombs {
		buf = append(buf, 't')
		buf = appendKey(buf, t.Key)
		buf = binary.BigEndian.AppendUint64(buf, t.Version)
		flush(32 << 10)
	}
	for _, gone := range h.Redacted {
		buf = append(append(buf, 'r'), gone[:]...)
	}
	flush(0)
	sum.Sum(h.Checksum[:0])
}

func appendKey(buf []byte, k api.Key) []byte {
	s := k.String()
	buf = binary.BigEndian.AppendUint16(buf, uint16(len(s)))
	return append(buf, s...)
}
