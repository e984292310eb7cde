package core

import (
	"context"
	"io"
	"slices"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// chunkBytes is how much content is read from the store at a time when a repo
// is written out: memory stays bounded, whatever the repo's size.
const chunkBytes = 1 << 20

// Selection narrows what [Core.WriteFull] writes. The zero value selects all.
type Selection struct {
	// Since with Epoch selects what changed after that version, if the epoch is
	// the store's and the version is not ahead of it: everything otherwise.
	Since uint64
	Epoch string
	Delta bool // whether Since and Epoch were asked for
	// Keys, when not nil, selects those keys only; unknown ones are left out.
	Keys []string
	// As is the name of the repo in the answer; zero for the view's own.
	As api.Repo
}

// WriteFull writes the JSON of an [api.FullAnswer] of view's state to w, piece by
// piece. An error before the first byte leaves w untouched.
func (c *Core) WriteFull(ctx context.Context, w io.Writer, view *View, sel Selection) error {
	head := view.head
	items, tombs, delta := sel.pick(head)
	out := &jsonWriter{buf: make([]byte, 0, 64<<10)}
	out.open('{')
	out.str("organizationId", c.o.Organization)
	shown := *head
	if !sel.As.IsZero() {
		shown.Repo = sel.As
	}
	writeIdentity(out, &shown, view.sum)
	out.object("content")
	out.object("entries")
	lost := map[api.Key]bool{} // redacted while this was written
	for rest := items; len(rest) > 0; {
		var chunk []store.Item
		chunk, rest = cutChunk(rest)
		if err := c.writeChunk(ctx, out, head.Repo, chunk, lost); err != nil {
			return err
		}
		if err := out.drain(w); err != nil {
			return err
		}
	}
	out.close('}')
	if len(lost) > 0 {
		items = slices.DeleteFunc(slices.Clone(items), func(it store.Item) bool { return lost[it.Key] })
	}
	out.object("entryChecksums")
	for i := range items {
		out.sum(items[i].Key.String(), items[i].Sum)
	}
	out.close('}')
	writeTombs(out, tombs)
	if len(items) > 0 {
		out.object("entryModified")
		for i := range items {
			out.time(items[i].Key.String(), items[i].Modified)
		}
		out.close('}')
	}
	writeAllowed(out, items, c.generation)
	out.close('}')
	if delta {
		out.name("delta")
		out.buf = append(out.buf, "true"...)
	}
	out.close('}')
	out.buf = append(out.buf, '\n')
	return out.drain(w)
}

// drain moves what was written to w.
func (w *jsonWriter) drain(to io.Writer) error {
	_, err := to.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

func cutChunk(items []store.Item) (chunk, rest []store.Item) {
	size, n := 0, 0
	for n < len(items) && (n == 0 || size+items[n].Bytes <= chunkBytes) {
		size += items[n].Bytes
		n++
	}
	return items[:n], items[n:]
}

func (c *Core) writeChunk(ctx context.Context, w *jsonWriter, repo api.Repo, chunk []store.Item, lost map[api.Key]bool) error {
	sums := make([]api.Checksum, len(chunk))
	for i := range chunk {
		sums[i] = chunk[i].Sum
	}
	bodies, err := c.o.Store.Bodies(ctx, repo, sums)
	if err != nil {
		return storeError("reading contents", err)
	}
	for i := range chunk {
		body, ok := bodies[chunk[i].Sum]
		if !ok {
			lost[chunk[i].Key] = true
			continue
		}
		w.str(chunk[i].Key.String(), body)
	}
	return nil
}

// pick returns the selected rows, and whether they are a delta.
func (s Selection) pick(head *store.Head) (items []store.Item, tombs []store.Tomb, delta bool) {
	items, tombs = head.Items, head.Tombs
	if s.Keys != nil {
		items, tombs = pickKeys(head, s.Keys)
	}
	if !s.Delta || s.Epoch != head.Epoch || s.Since > head.Version {
		return items, tombs, false
	}
	items = slices.DeleteFunc(slices.Clone(items), func(it store.Item) bool { return it.Version <= s.Since })
	tombs = slices.DeleteFunc(slices.Clone(tombs), func(t store.Tomb) bool { return t.Version <= s.Since })
	return items, tombs, true
}

func pickKeys(head *store.Head, names []string) (items []store.Item, tombs []store.Tomb) {
	names = slices.Clone(names)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		key, err := api.ParseKey(name)
		if err != nil {
			continue // names no entry
		}
		if item, live := head.Item(key); live {
			items = append(items, item)
		}
		if tomb, retired := head.Tomb(key); retired {
			tombs = append(tombs, tomb)
		}
	}
	return items, tombs
}
