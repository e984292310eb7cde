package chaos

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Request is one request as the proxy saw it.
type Request struct {
	At          time.Time
	Method      string
	Path        string
	Query       url.Values
	Conditional bool // it carries If-None-Match
	Body        []byte
	Fault       Fault
	// Status is what the server answered, 0 where it was not asked or did not
	// answer. The client may have been told something else, or nothing.
	Status int
	// Answer is the body of the server's answer to a PUT.
	Answer []byte
}

// newRequest describes a request before it is sent on.
func newRequest(r *http.Request, body []byte) Request {
	return Request{
		At: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(),
		Conditional: r.Header.Get("If-None-Match") != "", Body: body,
	}
}

// tape keeps the bytes of one direction of one connection.
type tape struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (t *tape) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(p)
}

func (t *tape) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.text.Bytes())
}
