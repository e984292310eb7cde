package chaos

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"time"
)

// abort resets the client's connection.
func (p *Proxy) abort(w http.ResponseWriter) {
	if conn := hijack(w); conn != nil {
		conn.reset()
	}
}

// hijack takes the connection away from the server; nil when it has gone.
func hijack(w http.ResponseWriter) *wire {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	tapped, ok := conn.(*wire)
	if !ok {
		_ = conn.Close()
		return nil
	}
	return tapped
}

// halve sends half of a body under the length of the whole, and then no more:
// the client's side stays open for a moment, as with a server that has died
// behind a proxy.
func (p *Proxy) halve(w http.ResponseWriter, answer *http.Response, text []byte) {
	header := w.Header().Clone()
	conn := hijack(w)
	if conn == nil {
		return
	}
	defer conn.Close()
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %s\r\n", answer.Status)
	_ = header.Write(&out) // into memory
	out.WriteString("\r\n")
	out.Write(text[:len(text)/2])
	if _, err := conn.Write(out.Bytes()); err != nil {
		return
	}
	if tcp, ok := conn.Conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = conn.Read(make([]byte, 1)) // until the client gives up
}

// trickles is how many pieces a trickled answer comes in.
const trickles = 16

// trickle sends a body piece by piece.
func (p *Proxy) trickle(ctx context.Context, w http.ResponseWriter, text []byte) {
	control := http.NewResponseController(w)
	piece := max(1, (len(text)+trickles-1)/trickles)
	for len(text) > 0 {
		n := min(piece, len(text))
		if _, err := w.Write(text[:n]); err != nil || control.Flush() != nil {
			return
		}
		text = text[n:]
		if !rest(ctx, p.opts.Slowest/trickles) {
			return
		}
	}
}

// stream passes on a stream of events, until either side ends it. Faults that
// need the whole of an answer break the stream off after a while.
func (p *Proxy) stream(w http.ResponseWriter, r *http.Request, answer *http.Response, fault Fault) {
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	control := http.NewResponseController(w)
	if control.Flush() != nil {
		return
	}
	switch fault {
	case ResetAfter, HalfClose, Truncated:
		defer time.AfterFunc(p.within(p.opts.Slowest), func() { _ = answer.Body.Close() }).Stop()
	}
	defer p.abort(w) // a stream has no proper end
	buf := make([]byte, 4<<10)
	for {
		n, err := answer.Body.Read(buf)
		if !p.awaitVoice(r.Context()) {
			return
		}
		if _, writeErr := w.Write(buf[:n]); writeErr != nil || control.Flush() != nil || err != nil {
			return
		}
	}
}
