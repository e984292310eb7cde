package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
)

// Follow calls notify with the repo's position at once and after every change,
// until the connection ends or ctx does. It uses the event stream, or long
// polls where a proxy keeps streams back. [api.ErrNotFound] means that the
// server offers neither.
func (c *Client) Follow(ctx context.Context, notify func(api.Position)) error {
	err := c.followStream(ctx, notify)
	if ctx.Err() != nil || !errors.Is(err, errNoStream) {
		return err
	}
	return c.followPolls(ctx, notify)
}

// errNoStream says that the answer was no event stream.
var errNoStream = errors.New("no event stream")

// errSilent ends a stream that has missed two heartbeats.
var errSilent = fmt.Errorf("%w: the event stream fell silent", api.ErrOffline)

// followStream reads the event stream of PathEvents.
func (c *Client) followStream(ctx context.Context, notify func(api.Position)) error {
	ctx, cancel := c.during(ctx)
	defer cancel(nil)
	req, err := c.request(ctx, http.MethodGet, api.PathEvents, url.Values{"repo": {c.repo.String()}}, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	// Any byte is a sign of life: comments are heartbeats.
	silence := time.AfterFunc(c.stream, func() { cancel(errSilent) })
	defer silence.Stop()
	resp, err := c.http.Do(req)
	if err != nil {
		return causeOr(ctx, offline(err))
	}
	defer func() { _ = resp.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // only for its error code
		if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden || resp.StatusCode >= 500 {
			return refusal(&answer{resp.StatusCode, resp.Header, body})
		}
		return errNoStream
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 4096), 64<<10)
	for lines.Scan() {
		silence.Reset(c.stream)
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue // comments, ids and retry hints; we have our own
		}
		var notice api.Notice
		if json.Unmarshal([]byte(strings.TrimSpace(data)), &notice) == nil && notice.Repo == c.repo {
			notify(api.Position{Epoch: notice.Epoch, Version: notice.Version})
		}
	}
	return causeOr(ctx, fmt.Errorf("%w: the event stream ended", api.ErrOffline))
}

// causeOr prefers why ctx was ended by ourselves.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// followPolls asks again and again, each question held open by the server.
func (c *Client) followPolls(ctx context.Context, notify func(api.Position)) error {
	at := api.Position{}
	for first := true; ctx.Err() == nil; first = false {
		query := url.Values{
			"repo": {c.repo.String()}, "view": {"hashes"},
			"wait": {strconv.Itoa(int(api.MaxWait / time.Second))}, "after": {strconv.FormatUint(at.Version, 10)}, "epoch": {at.Epoch},
		}
		if first {
			query.Del("wait")
		}
		req, err := c.request(ctx, http.MethodGet, api.PathTeamMemory, query, nil)
		if err != nil {
			return err
		}
		var hashes api.HashesAnswer
		asked := time.Now()
		got, err := c.call(req, &hashes)
		if err != nil {
			return err
		}
		if !c.ours.Load() {
			return api.ErrNotFound // a base server: it has no way to be followed
		}
		if got.status == http.StatusNotModified {
			if time.Since(asked) < time.Second && !first {
				return fmt.Errorf("%w: the server does not hold questions open", api.ErrNotFound)
			}
			continue
		}
		at = api.Position{Epoch: hashes.Epoch, Version: hashes.Version}
		notify(at)
	}
	return context.Cause(ctx)
}
