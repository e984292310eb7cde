package server

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
)

// getMemory answers GET of the team-memory door: everything, the hashes view, a
// delta or some keys; at once, when it changes (wait), or not at all (304).
func (c *call) getMemory() error {
	q, err := c.parseMemoryQuery()
	if err != nil {
		return err
	}
	at, err := c.access(q.repo)
	if err != nil {
		return err
	}
	timedOut := false
	if q.wait > 0 {
		if at, timedOut, err = c.await(q, at); err != nil {
			return err
		}
	}
	view, err := c.core.View(c.r.Context(), at.repo)
	if err != nil {
		return err
	}
	c.stateHeaders(view)
	if timedOut || notModified(c.r.Header["If-None-Match"], view) {
		c.saw(at.repo, view, false)
		c.begin(http.StatusNotModified)
		return nil
	}
	if err := c.charge(); err != nil {
		return err
	}
	c.saw(at.repo, view, !q.hashes)
	zipped := acceptsGzip(c.r)
	if zipped {
		c.w.Header()["Content-Encoding"] = gzipValue
	}
	if q.hashes {
		c.sendBytes(http.StatusOK, view.HashesAs(at.asked, zipped))
		return nil
	}
	q.sel.As = at.asked
	return c.sendFull(view, q.sel, zipped)
}

func (c *call) parseMemoryQuery() (memoryQuery, error) {
	if name, hashes, ok := plainMemoryQuery(c.r.URL.RawQuery); ok {
		repo, err := parseRepo(name)
		return memoryQuery{repo: repo, hashes: hashes}, err
	}
	return c.memoryQuery()
}

// stateHeaders says which state an answer shows.
func (c *call) stateHeaders(view *core.View) {
	h := c.w.Header()
	h["Etag"] = view.ETag()
	h[api.HeaderState] = view.State()
	if revision := c.core.PolicyHeader(c.r.Context(), view.Repo()); revision != nil {
		h[api.HeaderPolicy] = revision
	}
	h["Vary"] = varies
	h["Cache-Control"] = private
}

var zippers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		return gzip.NewWriter(io.Discard) // the level is a constant of the package
	}
	return w
}}

// sendFull streams contents.
func (c *call) sendFull(view *core.View, sel core.Selection, zipped bool) error {
	out := &bodyWriter{c: c}
	if !zipped {
		return c.finishFull(c.core.WriteFull(c.r.Context(), out, view, sel), out)
	}
	zip, _ := zippers.Get().(*gzip.Writer)
	defer zippers.Put(zip)
	zip.Reset(out)
	if err := c.core.WriteFull(c.r.Context(), zip, view, sel); err != nil {
		return c.finishFull(err, out)
	}
	return c.finishFull(zip.Close(), out)
}

// finishFull takes back what was said about a body that never began.
func (c *call) finishFull(err error, out *bodyWriter) error {
	if err != nil && !out.began {
		h := c.w.Header()
		delete(h, "Content-Encoding")
		delete(h, "Etag")
	}
	return err
}

// bodyWriter sends the headers with the first bytes of a body.
type bodyWriter struct {
	c     *call
	began bool
}

func (b *bodyWriter) Write(p []byte) (int, error) {
	if !b.began {
		b.began = true
		h := b.c.w.Header()
		h["Content-Type"] = jsonType
		h["X-Content-Type-Options"] = noSniff
		b.c.begin(http.StatusOK)
	}
	return b.c.write(p)
}

// putMemory answers PUT of the team-memory door.
func (c *call) putMemory() error {
	q, err := c.parseMemoryQuery()
	if err != nil {
		return err
	}
	at, err := c.access(q.repo)
	if err != nil {
		return err
	}
	pushed, err := c.push(at)
	if err != nil {
		c.showState(at.repo)
		return err
	}
	pushed.Repo = at.asked
	c.saw(at.repo, pushed.View, true)
	c.stateHeaders(pushed.View)
	return c.sendJSON(http.StatusOK, pushed.PushAnswer)
}

// push reads and carries out one write.
func (c *call) push(at place) (core.Pushed, error) {
	if err := core.MayWrite(at.role); err != nil {
		return core.Pushed{}, err
	}
	if err := c.charge(); err != nil {
		return core.Pushed{}, err
	}
	if err := c.chargeUpload(); err != nil {
		return core.Pushed{}, err
	}
	request, err := c.readPush()
	if err != nil {
		return core.Pushed{}, err
	}
	return c.core.Push(c.r.Context(), core.Push{
		Repo: at.repo, Request: request, IfMatch: parseMatch(c.r.Header["If-Match"]),
		Actor: c.actor(), Role: at.role, WritersMayRetire: c.o.Policy.WritersMayRetire(at.repo),
	})
}

// showState adds the current state to the refusal of a write, so that the client
// need not ask for it. It is left out where there is none.
func (c *call) showState(repo api.Repo) {
	view, err := c.core.View(c.r.Context(), repo)
	if err == nil {
		c.stateHeaders(view)
		return
	}
	if !errors.Is(err, api.ErrNotFound) {
		c.log.DebugContext(c.r.Context(), "state was not shown", "error", err)
	}
}
