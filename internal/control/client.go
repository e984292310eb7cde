package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
)

// ErrNotRunning says that no daemon listens.
var ErrNotRunning = errors.New("no daemon is running")

// ErrStuck says that a daemon listens and does not answer.
var ErrStuck = fmt.Errorf("%w: the daemon does not answer", api.ErrAlreadyRunning)

// aliveWithin bounds the first answer of a daemon. The kernel accepts
// connections in the place of one that was stopped.
const aliveWithin = 10 * time.Second

// Client talks to a running daemon. Safe for concurrent use.
type Client struct {
	path string
	http *http.Client
}

// Dial finds the daemon's socket, at path or where one of the notes says that it
// is, and asks once whether someone answers. It wraps [ErrNotRunning] when nobody
// listens, [ErrStuck] when no answer comes within ten seconds. The client's calls
// are bounded by their contexts alone: a cycle takes its time.
func Dial(ctx context.Context, path string, notes ...string) (*Client, error) {
	paths := []string{path}
	for _, note := range notes {
		if text, err := os.ReadFile(note); err == nil {
			paths = append(paths, strings.TrimSpace(string(text)))
		}
	}
	var firstErr error
	for _, p := range paths {
		conn, err := connect(ctx, p)
		if err == nil {
			_ = conn.Close()
			client := newClient(p)
			if err = client.alive(ctx); err == nil || errors.Is(err, ErrStuck) {
				return client, err
			}
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connecting to the daemon: %w", ctx.Err())
		}
		if errors.Is(err, os.ErrPermission) {
			return nil, fmt.Errorf("connecting to the daemon: %w", err)
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	if errors.Is(firstErr, ErrNotRunning) {
		return nil, firstErr
	}
	return nil, fmt.Errorf("%w: %w", ErrNotRunning, firstErr)
}

func newClient(path string) *Client {
	return &Client{path: path, http: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // a command makes one call
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return connect(ctx, path)
		},
	}}}
}

// alive waits for any answer.
func (c *Client) alive(ctx context.Context) error {
	bounded, cancel := context.WithTimeoutCause(ctx, aliveWithin, ErrStuck)
	defer cancel()
	resp, err := c.do(bounded, http.MethodGet, pathAlive, nil)
	if err == nil {
		return resp.Body.Close()
	}
	if ctx.Err() == nil && bounded.Err() != nil {
		return ErrStuck
	}
	return err
}

// connect opens the socket under the name that fits.
func connect(ctx context.Context, path string) (net.Conn, error) {
	at, err := resolve(path)
	if err != nil {
		return nil, err
	}
	defer at.close()
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", at.name)
}

// Socket returns the path that answered.
func (c *Client) Socket() string { return c.path }

// Status returns the daemon's state.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var out Status
	err := c.call(ctx, http.MethodGet, pathStatus, nil, &out)
	return out, err
}

// Sync runs one full cycle and waits for its end.
func (c *Client) Sync(ctx context.Context, req SyncRequest) (RootReport, error) {
	var out RootReport
	err := c.call(ctx, http.MethodPost, pathSync, req, &out)
	return out, err
}

// Reload makes the daemon read the registered roots and the configuration anew.
func (c *Client) Reload(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, pathReload, struct{}{}, nil)
}

// Stop asks the daemon to end; it has not ended when Stop returns.
func (c *Client) Stop(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, pathStop, struct{}{}, nil)
}

// call makes one request. A daemon that ends meanwhile is [ErrNotRunning].
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	resp, err := c.do(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
	if err != nil {
		return fmt.Errorf("reading the daemon's answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp.StatusCode, text)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%w: reading the daemon's answer: %w", api.ErrBadAnswer, err)
	}
	return nil
}

// do sends one request; its answer's body is the caller's to close.
func (c *Client) do(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encoding a request to the daemon: %w", err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://teammemd"+path, body)
	if err != nil {
		return nil, fmt.Errorf("making a request to the daemon: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("asking the daemon: %w", ctx.Err())
		}
		return nil, fmt.Errorf("%w: asking it: %w", ErrNotRunning, err)
	}
	return resp, nil
}

// refusal turns an answer that is no 200 into an error.
func refusal(status int, text []byte) error {
	var f failure
	if err := json.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("%w: the daemon answered status %d", api.ErrBadAnswer, status)
	}
	return decodeFailure(f)
}
