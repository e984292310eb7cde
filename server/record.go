package server

import (
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Meter is told what the HTTP side does, for whoever counts it. Its methods are
// called from any goroutine and return at once.
type Meter interface {
	// Answered says that a request ended. route is a path of ours or "other",
	// method one that a route has or "other"; status is 0 when it left before an answer; long says
	// that the client wanted to wait.
	Answered(route, method string, status int, took time.Duration, long bool)
	// Refused says with which error_code a request was refused.
	Refused(code string)
	// Streams says that an event stream or long poll began (1) or ended (-1).
	Streams(delta int)
}

// unmetered counts nothing.
type unmetered struct{}

func (unmetered) Answered(string, string, int, time.Duration, bool) {}
func (unmetered) Refused(string)                                    {}
func (unmetered) Streams(int)                                       {}

// newRequestID returns 16 hexadecimal digits. One that a client sent is never
// taken over: it would be text of the client in the log.
func newRequestID() string {
	var raw [8]byte
	var text [16]byte
	binary.BigEndian.PutUint64(raw[:], rand.Uint64())
	hex.Encode(text[:], raw[:])
	return string(text[:])
}

// record counts and logs a request that ended.
func (c *call) record() {
	if c.detached {
		return
	}
	took := time.Since(c.began)
	c.o.Meter.Answered(c.routeName(), c.methodName(), c.status, took, c.long)
	log, level := c.o.AccessLog, slog.LevelInfo
	if log == nil {
		log, level = c.log, slog.LevelDebug
	}
	if log.Enabled(c.r.Context(), level) {
		log.LogAttrs(c.r.Context(), level, "request", c.attributes(took)...)
	}
}

// attributes are one line of the access log: nothing in it is text of the
// client, but for the name of a repo that it may read.
func (c *call) attributes(took time.Duration) []slog.Attr {
	list := append(make([]slog.Attr, 0, 11),
		slog.String("request_id", c.id),
		slog.String("method", c.methodName()),
		slog.String("route", c.routeName()),
		slog.Int("status", c.status),
		slog.Int64("bytes", c.sent),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.String("client", clientAddress(c.r, c.o.TrustedProxies).String()),
	)
	if c.grant.ID != "" {
		list = append(list, slog.String("token", c.grant.ID))
	}
	if c.grant.User != "" {
		list = append(list, slog.String("user", c.grant.User))
	}
	if !c.repo.IsZero() {
		list = append(list, slog.String("repo", c.repo.String()))
	}
	if c.refused != "" {
		list = append(list, slog.String("error_code", c.refused))
	}
	return list
}

// routeName is the path if it is one of ours: others are text of the client.
func (c *call) routeName() string {
	if c.route == nil {
		return "other"
	}
	return c.route.path
}

// methodName is the method if some route has it.
func (c *call) methodName() string {
	if c.known {
		return c.r.Method
	}
	for _, r := range c.routes {
		if _, ok := r.methods[c.r.Method]; ok {
			return c.r.Method
		}
	}
	return "other"
}

// hold counts the call as a stream of its token until release is called.
func (c *call) hold() (release func(), err error) {
	letGo, err := c.tokens.hold(c.grant.ID)
	if err != nil {
		return nil, err
	}
	c.long = true
	c.o.Meter.Streams(1)
	meter := c.o.Meter // the call may be another one by then
	return func() {
		meter.Streams(-1)
		letGo()
	}, nil
}

// write sends a part of an answer.
func (c *call) write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.sent += int64(n)
	return n, err
}
