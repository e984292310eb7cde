package core

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// View is one repo at one moment, with everything rendered that many requests
// ask for. It is immutable to its readers and may be used from any goroutine.
type View struct {
	head  *store.Head
	sum   api.Checksum
	etag  []string // of one element each, ready to be put into a header
	state []string

	cache *viewCache
	once  sync.Once
	plain []byte // the hashes view as JSON
	zip   []byte // the same, gzip
}

func newView(cache *viewCache, head *store.Head) *View {
	sum := head.Checksum
	if sum.IsZero() { // never written, and so never sealed
		empty := *head
		empty.Seal()
		sum = empty.Checksum
	}
	return &View{
		head: head, sum: sum, cache: cache,
		etag:  []string{`"` + sum.String() + `"`},
		state: []string{head.Epoch + ";" + strconv.FormatUint(head.Version, 10)},
	}
}

// Repo returns the repo.
func (v *View) Repo() api.Repo { return v.head.Repo }

// Version returns the repo's version, 0 if it was never written.
func (v *View) Version() uint64 { return v.head.Version }

// Epoch returns the store's epoch.
func (v *View) Epoch() string { return v.head.Epoch }

// Checksum returns the checksum of the repo's state.
func (v *View) Checksum() api.Checksum { return v.sum }

// ETag returns the value of the header ETag, a slice of one. Do not change it.
func (v *View) ETag() []string { return v.etag }

// State returns the value of [api.HeaderState], a slice of one. Do not change it.
func (v *View) State() []string { return v.state }

// Notice returns what an event says about this state.
func (v *View) Notice() api.Notice {
	return api.Notice{Repo: v.head.Repo, Epoch: v.head.Epoch, Version: v.head.Version}
}

// Hashes returns the hashes view as JSON, compressed with gzip or not. It is
// rendered once. Do not change it.
func (v *View) Hashes(zipped bool) []byte {
	v.once.Do(func() {
		v.plain = renderHashes(v.head, v.sum, v.cache.generation)
		v.zip = compress(v.plain)
		v.cache.charge(v, len(v.plain)+len(v.zip))
	})
	if zipped {
		return v.zip
	}
	return v.plain
}

// HashesAs is [View.Hashes] for a client that knows the repo by another name: one
// that it had before.
func (v *View) HashesAs(name api.Repo, zipped bool) []byte {
	if name == v.head.Repo {
		return v.Hashes(zipped)
	}
	head := *v.head
	head.Repo = name
	plain := renderHashes(&head, v.sum, v.cache.generation)
	if zipped {
		return compress(plain)
	}
	return plain
}

func renderHashes(head *store.Head, sum api.Checksum, generation func() string) []byte {
	const perRow = 130 // bytes: a key, its checksum and their punctuation
	w := &jsonWriter{buf: make([]byte, 0, 512+perRow*len(head.Items))}
	w.open('{')
	writeIdentity(w, head, sum)
	w.object("entryChecksums")
	for i := range head.Items {
		w.sum(head.Items[i].Key.String(), head.Items[i].Sum)
	}
	w.close('}')
	writeTombs(w, head.Tombs)
	writeAllowed(w, head.Items, generation)
	if len(head.Redacted) > 0 {
		w.name("redacted")
		w.open('[')
		for _, gone := range head.Redacted {
			w.comma()
			w.buf = appendString(w.buf, gone.String())
		}
		w.close(']')
	}
	w.close('}')
	return append(w.buf, '\n')
}

// writeIdentity writes the members that every answer begins with.
func writeIdentity(w *jsonWriter, head *store.Head, sum api.Checksum) {
	w.str("repo", head.Repo.String())
	w.num("version", head.Version)
	if head.Epoch != "" {
		w.str("epoch", head.Epoch)
	}
	w.time("lastModified", head.Modified)
	w.sum("checksum", sum)
}

func writeTombs(w *jsonWriter, tombs []store.Tomb) {
	if len(tombs) == 0 {
		return
	}
	w.object("deletedEntries")
	for _, tomb := range tombs {
		w.num(tomb.Key.String(), tomb.Version)
	}
	w.close('}')
}

func compress(plain []byte) []byte {
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	if err != nil {
		return nil // the level is a constant of the package
	}
	_, _ = w.Write(plain) // a bytes.Buffer takes everything
	_ = w.Close()
	return buf.Bytes()
}

// View returns the repo as it is now. The error is [NotFound] for a repo that
// was never written.
func (c *Core) View(ctx context.Context, repo api.Repo) (*View, error) {
	head, err := c.o.Store.Head(ctx, repo)
	if err != nil {
		return nil, storeError("reading the head", err)
	}
	if head.Version == 0 {
		return nil, NotFound()
	}
	return c.views.get(head), nil
}

// Notice returns the current state of a repo as an event says it: of version 0
// for one that was never written.
func (c *Core) Notice(ctx context.Context, repo api.Repo) (api.Notice, error) {
	view, err := c.View(ctx, repo)
	if errors.Is(err, api.ErrNotFound) {
		return api.Notice{Repo: repo}, nil
	}
	if err != nil {
		return api.Notice{}, err
	}
	return view.Notice(), nil
}

// AppendEvent appends to buf what an event stream says about the current state of
// repo to a client that calls it by the name as: the version is the event's id.
func (c *Core) AppendEvent(ctx context.Context, buf []byte, repo, as api.Repo) ([]byte, error) {
	notice, err := c.Notice(ctx, repo)
	if err != nil {
		return buf, err
	}
	buf = strconv.AppendUint(append(buf, "id: "...), notice.Version, 10)
	w := jsonWriter{buf: append(buf, "\ndata: "...)}
	w.open('{')
	w.str("repo", as.String())
	w.str("epoch", notice.Epoch)
	w.num("version", notice.Version)
	w.close('}')
	return append(w.buf, "\n\n"...), nil
}

// Matches reports whether this state meets m.
func (v *View) Matches(m Match) bool { return m.holds(v.head.Version, v.sum) }
