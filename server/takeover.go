package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// outlet is where a stream goes.
type outlet interface {
	SetWriteDeadline(at time.Time) error
	Write(p []byte) (int, error) // sends at once
	Close() error                // ends the stream
}

// httpOutlet is a stream that net/http carries: HTTP/2, and handlers without a
// connection.
type httpOutlet struct {
	*http.ResponseController
	w http.ResponseWriter
}

func (o httpOutlet) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		return n, err
	}
	return n, o.Flush()
}

// Close does nothing: the answer ends with its handler.
func (o httpOutlet) Close() error { return nil }

// takeOver takes the connection of an HTTP/1 stream from net/http and carries the
// stream on by itself. net/http would keep its buffers, the request and a deep
// stack for as long as the stream lasts, which is more than all else. ours is
// false where there is no connection to take; nothing has happened then.
func (s *stream) takeOver() (ours bool, err error) {
	if !s.c.mayCarry() {
		return false, nil
	}
	conn, _, err := s.control.Hijack()
	if err != nil {
		s.c.carried.Done()
	}
	if errors.Is(err, http.ErrNotSupported) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("taking over a connection: %w", err)
	}
	head := streamHead(s.c.w.Header())
	ctx, gone := context.WithCancel(context.WithoutCancel(s.c.r.Context()))
	s.out, s.control, s.c = conn, nil, s.c.detach(ctx)
	go untilGone(conn, gone)
	go s.carry(head)
	return true, nil
}

// mayCarry counts a stream that is about to be taken over, and reports whether it
// may be: a server that waits for the last of them takes no more.
func (s *Server) mayCarry() bool {
	s.carrying.Lock()
	defer s.carrying.Unlock()
	if s.carriesNoMore {
		return false
	}
	s.carried.Add(1)
	return true
}

// carryNoMore makes it safe to wait for the streams that were taken over.
func (s *Server) carryNoMore() {
	s.carrying.Lock()
	defer s.carrying.Unlock()
	s.carriesNoMore = true
}

// streamHead is what net/http would have sent before the stream. The stream ends
// with its connection.
func streamHead(header http.Header) []byte {
	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 200 OK\r\nConnection: close\r\nDate: %s\r\n", time.Now().UTC().Format(http.TimeFormat))
	_ = header.Write(&head) // a bytes.Buffer takes everything
	head.WriteString("\r\n")
	return head.Bytes()
}

// detach returns a copy of the call that outlives its handler. Of the request it
// keeps what says who the client is, but not its secret.
func (c *call) detach(ctx context.Context) *call {
	r := &http.Request{Method: c.r.Method, RemoteAddr: c.r.RemoteAddr, Header: c.r.Header.Clone()}
	r.Header.Del("Authorization")
	alone := *c
	alone.w, alone.r, alone.status = nil, r.WithContext(ctx), http.StatusOK
	c.detached = true
	return &alone
}

// untilGone reads until the client has left, and then says so. What a client
// sends behind the request of a stream is thrown away, and one that does not stop
// sending is let go.
func untilGone(conn net.Conn, gone context.CancelFunc) {
	defer gone()
	sent := make([]byte, 64)
	for range 1024 {
		if _, err := conn.Read(sent); err != nil {
			return
		}
	}
}

// carry sends a stream that was taken over, to its end.
func (s *stream) carry(head []byte) {
	defer s.c.carried.Done()
	defer s.c.record()
	defer s.close()
	defer func() {
		if value := recover(); value != nil {
			s.c.logPanic(value)
		}
	}()
	if s.send(head) == nil {
		s.follow()
	}
}
