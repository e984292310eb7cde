package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/teammem/teammemd/api"
)

const (
	// streamLook is how often a stream looks for what nobody tells it of, such as
	// a saved copy that was read.
	streamLook = 2 * time.Second
	// streamGap is how long after a change the look comes, and so the least time
	// between two lines of a stream.
	streamGap = 100 * time.Millisecond
)

type watchingKey struct{}

// Watching reports whether a status is asked for by a stream. Nobody may ever
// look at it: what a person is told only once must not be spent on it.
func Watching(ctx context.Context) bool {
	watching, _ := ctx.Value(watchingKey{}).(bool)
	return watching
}

// stream sends the status as one line of JSON at once and whenever it has
// changed, until the client goes or the server stops.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	var last []byte
	ctx := context.WithValue(r.Context(), watchingKey{}, true)
	for {
		changed := s.changes() // before the look: a change during it is not missed
		status, err := s.opts.Handler.Status(ctx)
		if err != nil && last == nil {
			answer(w, nil, err)
			return
		}
		line, encodeErr := json.Marshal(status)
		if errors.Join(err, encodeErr) != nil {
			return
		}
		if !bytes.Equal(line, last) {
			if last == nil {
				w.Header().Set("Content-Type", "application/x-ndjson")
			}
			if last = line; !send(w, line) {
				return
			}
		}
		// A cycle that finds nothing is over within the gap, and not worth a line.
		if !s.waitFor(ctx, changed, streamLook) || !s.waitFor(ctx, nil, streamGap) {
			return
		}
	}
}

// send writes one line, and reports false when nobody takes it.
func send(w http.ResponseWriter, line []byte) bool {
	_, err := w.Write(append(bytes.Clone(line), '\n'))
	return err == nil && http.NewResponseController(w).Flush() == nil
}

// waitFor waits for a change or for a time, and reports false when there is
// nothing more to wait for.
func (s *Server) waitFor(ctx context.Context, changed <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-s.ending:
		return false
	case <-changed:
	case <-timer.C:
	}
	return true
}

// changes returns a channel that is closed with the next change, nil where
// nobody tells.
func (s *Server) changes() <-chan struct{} {
	if s.opts.Changes == nil {
		return nil
	}
	return s.opts.Changes()
}

// Watch calls see with the daemon's state at once and after every change, until
// ctx ends, see fails, or the daemon does, which is [ErrNotRunning]. A daemon of
// an earlier version that cannot be watched is [api.ErrNotFound].
func (c *Client) Watch(ctx context.Context, see func(Status) error) error {
	resp, err := c.do(ctx, http.MethodGet, pathStream, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxMessage)) // what is missing of it is no JSON
		if resp.StatusCode == http.StatusNotFound {
			return fmt.Errorf("watching the daemon: %w", api.ErrNotFound)
		}
		return refusal(resp.StatusCode, text)
	}
	lines := json.NewDecoder(resp.Body)
	for {
		var status Status
		if err := lines.Decode(&status); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("watching the daemon: %w", ctx.Err())
			}
			return fmt.Errorf("%w: it ended", ErrNotRunning)
		}
		if err := see(status); err != nil {
			return err
		}
	}
}
