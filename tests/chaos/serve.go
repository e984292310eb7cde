package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// page is what a proxy or a hotel shows to people.
const page = "<!doctype html><title>Please sign in</title><form>Room and name</form>"

// serve carries one request over, or spoils it.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		p.abort(w)
		return
	}
	seen, held, changed := p.note(newRequest(r, body))
	if !held.wait(r.Context()) || !p.awaitVoice(r.Context()) {
		p.abort(w)
		return
	}
	switch seen.Fault {
	case ResetBefore:
		p.abort(w)
		return
	case Silent:
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		p.abort(w)
		return
	case BadGateway, Unavailable, TooMany, Portal, NoContent, Reject:
		p.pretend(w, seen.Fault)
		return
	case Delay:
		if !rest(r.Context(), p.within(p.opts.Slowest)) {
			p.abort(w)
			return
		}
	case Duplicate:
		p.askFirst(r, body, seen)
	}
	answer, err := p.ask(r, body)
	if err != nil {
		p.abort(w) // the server is gone: so is the wire
		return
	}
	defer func() { _ = answer.Body.Close() }()
	if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind == "text/event-stream" {
		p.answered(seen, answer.StatusCode, nil)
		p.stream(w, r, answer, seen.Fault)
		return
	}
	p.give(w, r, answer, seen)
}

// note keeps a request and decides its fault, and whether it is held back.
func (p *Proxy) note(r Request) (seen *Request, held *Held, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Fault = p.mix.draw(p.random)
	if i := slices.IndexFunc(p.once, func(o promise) bool { return o.match(r) }); i >= 0 {
		r.Fault, held = p.once[i].fault, p.once[i].held
		if !p.once[i].again {
			p.once = slices.Delete(p.once, i, i+1)
		}
	}
	p.requests = append(p.requests, &r)
	return &r, held, p.changed
}

// answered keeps what the server said. A success stays where the second of two
// answers is a refusal: the server has acted.
func (p *Proxy) answered(r *Request, status int, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Status != http.StatusOK {
		r.Status, r.Answer = status, body
	}
}

// askFirst sends a write on whose answer nobody will see. Reading twice changes
// nothing, and may never end.
func (p *Proxy) askFirst(r *http.Request, body []byte, seen *Request) {
	if r.Method != http.MethodPut {
		return
	}
	answer, err := p.ask(r, body)
	if err != nil {
		return
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body) // half of it will not decode, which its reader sees
	p.answered(seen, answer.StatusCode, text)
}

// ask sends the request on, uncompressed answers preferred: what is compressed
// cannot be searched.
func (p *Proxy) ask(r *http.Request, body []byte) (*http.Response, error) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	u := *r.URL
	u.Scheme, u.Host = target.Scheme, target.Host
	req, err := http.NewRequestWithContext(r.Context(), r.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	req.Header = r.Header.Clone()
	req.Header.Del("Accept-Encoding")
	return p.out.RoundTrip(req)
}

// give passes on an answer of bounded length.
func (p *Proxy) give(w http.ResponseWriter, r *http.Request, answer *http.Response, seen *Request) {
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.abort(w)
		return
	}
	kept := text
	if r.Method != http.MethodPut {
		kept = nil
	}
	p.answered(seen, answer.StatusCode, kept)
	if !p.awaitVoice(r.Context()) {
		p.abort(w)
		return
	}
	header := w.Header()
	maps.Copy(header, answer.Header)
	header.Set("Content-Length", strconv.Itoa(len(text)))
	bodiless := answer.StatusCode == http.StatusNotModified || answer.StatusCode == http.StatusNoContent
	if bodiless {
		header.Del("Content-Length")
	}
	switch seen.Fault {
	case ResetAfter:
		p.abort(w)
		return
	case HalfClose:
		p.halve(w, answer, text)
		return
	case Truncated:
		text = text[:len(text)/2]
		if !bodiless {
			header.Set("Content-Length", strconv.Itoa(len(text)))
		}
	}
	w.WriteHeader(answer.StatusCode)
	if seen.Fault == Trickle {
		p.trickle(r.Context(), w, text)
		return
	}
	_, _ = w.Write(text) // the client may have left
}

// pretend answers in the server's stead.
func (p *Proxy) pretend(w http.ResponseWriter, fault Fault) {
	seconds := strconv.Itoa(int(p.opts.RetryAfter / time.Second))
	refuse := func(status int, kind, code string) {
		w.Header().Set("Content-Type", "application/json")
		if fault != Reject {
			w.Header().Set("Retry-After", seconds)
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":{"type":%q,"message":"later","details":{"error_code":%q}}}`, kind, code)
	}
	switch fault {
	case Unavailable:
		refuse(http.StatusServiceUnavailable, "overloaded_error", "unavailable")
	case TooMany:
		refuse(http.StatusTooManyRequests, "rate_limit_error", "rate_limited")
	case Reject:
		refuse(http.StatusBadRequest, "invalid_request_error", "bad_request")
	case NoContent:
		w.WriteHeader(http.StatusNoContent)
	default:
		status := http.StatusOK
		if fault == BadGateway {
			status = http.StatusBadGateway
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, page)
	}
}

// awaitVoice waits while the proxy is hushed; false when the client has left.
func (p *Proxy) awaitVoice(ctx context.Context) bool {
	for {
		p.mu.Lock()
		hush := p.hush
		p.mu.Unlock()
		if hush == nil {
			return ctx.Err() == nil
		}
		select {
		case <-hush:
		case <-ctx.Done():
			return false
		}
	}
}

// within draws a duration below limit.
func (p *Proxy) within(limit time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Duration(p.random.Int64N(int64(limit)))
}

// rest waits; false when ctx ends first.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
