package forge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxAnswer    = 1 << 20 // bytes; a repository of GitHub is 20 KB
	maxRedirects = 3
	// longestWait bounds what a forge can ask for: GitHub's is an hour.
	longestWait = 2 * time.Hour
	// shortWait is for a refusal that does not say how long; GitHub's advice.
	shortWait = time.Minute
)

var (
	errSame = errors.New("the answer is as it was")
	errNone = errors.New("there is nothing for this person")
)

// ask sends one question with its redirects, and returns the body of a 200 and
// its ETag, or errSame, errNone, [ErrToken] or an [UnreachableError].
func (f *Forge) ask(ctx context.Context, token string, at *url.URL, etag string) (body []byte, newETag string, err error) {
	for range maxRedirects + 1 {
		if err := f.gate.pass(token); err != nil {
			return nil, "", err
		}
		req := f.request(ctx, token, at, etag)
		res, err := f.client.Do(req)
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			return nil, "", f.useless("the question was given up")
		case err != nil:
			return nil, "", f.failed(reason(err)) // err itself quotes the URL
		}
		body, next, err := f.judge(res, token, at)
		if next == nil {
			return body, res.Header.Get("ETag"), err
		}
		at = next
	}
	return nil, "", f.useless("it redirects in a circle")
}

func (f *Forge) request(ctx context.Context, token string, at *url.URL, etag string) *http.Request {
	req := (&http.Request{Method: http.MethodGet, URL: at, Host: at.Host, Header: http.Header{}}).WithContext(ctx)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", f.kind.accept)
	req.Header.Set("User-Agent", "teammemd")
	for name, value := range f.kind.header {
		req.Header.Set(name, value)
	}
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	return req
}

// judge reads one answer, to its end or its bound, and closes it. next is where
// it points to.
func (f *Forge) judge(res *http.Response, token string, at *url.URL) (body []byte, next *url.URL, err error) {
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, nil, f.failed("its answer was cut off")
	}
	wait, limited := f.limits(res)
	if limited {
		f.gate.closeFor(token, wait)
	}
	switch code := res.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusForbidden && limited:
		return nil, nil, &UnreachableError{Until: f.gate.closeFor(token, max(wait, time.Second)), Why: "the person's rate is used up"}
	case code >= http.StatusInternalServerError:
		f.gate.closeAll(wait)
		return nil, nil, f.failed("it answers " + strconv.Itoa(code))
	}
	f.gate.succeed()
	switch code := res.StatusCode; code {
	case http.StatusOK:
		if len(body) > maxAnswer {
			return nil, nil, f.useless("its answer is too large")
		}
		return body, nil, nil
	case http.StatusNotModified:
		if res.Request.Header.Get("If-None-Match") == "" {
			return nil, nil, f.useless("it answers 304 to a question without a condition")
		}
		return nil, nil, errSame
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		next, err := f.follow(res, at)
		return nil, next, err
	case http.StatusUnauthorized:
		return nil, nil, ErrToken
	case http.StatusForbidden, http.StatusNotFound, http.StatusGone, http.StatusUnavailableForLegalReasons:
		return nil, nil, errNone
	}
	return nil, nil, f.useless("it answers " + strconv.Itoa(res.StatusCode))
}

// follow returns where a redirect leads, within the same host: a token goes
// nowhere else.
func (f *Forge) follow(res *http.Response, at *url.URL) (*url.URL, error) {
	next, err := at.Parse(res.Header.Get("Location"))
	if err != nil || next.Scheme != at.Scheme || !strings.EqualFold(next.Host, at.Host) || next.User != nil {
		return nil, f.useless("it redirects to another host")
	}
	return next, nil
}

// limits returns how long the forge wants to be left alone, and whether it wants
// that at all.
func (f *Forge) limits(res *http.Response) (wait time.Duration, limited bool) {
	h := res.Header
	now := f.o.Now()
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date // the times below are by the same clock
	}
	if after := h.Get("Retry-After"); after != "" {
		if seconds, err := strconv.ParseInt(after, 10, 32); err == nil {
			return bounded(time.Duration(seconds) * time.Second), true
		}
		if at, err := http.ParseTime(after); err == nil {
			return bounded(at.Sub(now)), true
		}
		return shortWait, true
	}
	for _, prefix := range []string{"X-RateLimit-", "RateLimit-"} { // GitHub's, GitLab's
		if h.Get(prefix+"Remaining") != "0" {
			continue
		}
		if reset, err := strconv.ParseInt(h.Get(prefix+"Reset"), 10, 64); err == nil {
			return bounded(time.Unix(reset, 0).Sub(now)), true
		}
		return shortWait, true
	}
	if res.StatusCode == http.StatusTooManyRequests {
		return shortWait, true
	}
	return 0, false
}

func bounded(d time.Duration) time.Duration { return min(max(d, 0), longestWait) }
