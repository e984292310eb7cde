package tests

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// meddler stands between a client and a server and spoils answers.
type meddler struct {
	*httptest.Server
	mode atomic.Value // func(*http.Response) error
	hits atomic.Int64
}

// spoil replaces what becomes of answers; nil leaves them alone.
func (m *meddler) spoil(f func(*http.Response) error) { m.mode.Store(f) }

func newMeddler(t *testing.T, target string) *meddler {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	m := &meddler{}
	m.spoil(nil)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(r *http.Response) error {
		m.hits.Add(1)
		if f, _ := m.mode.Load().(func(*http.Response) error); f != nil {
			return f(r)
		}
		return nil
	}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	m.Server = httptest.NewServer(proxy)
	t.Cleanup(m.Close)
	return m
}

// body replaces an answer.
func body(r *http.Response, status int, kind, text string) error {
	r.StatusCode, r.Status = status, http.StatusText(status)
	r.Header = http.Header{"Content-Type": {kind}, "Content-Length": {strconv.Itoa(len(text))}}
	if kind == "" {
		r.Header.Del("Content-Type")
	}
	r.ContentLength = int64(len(text))
	r.Body = io.NopCloser(strings.NewReader(text))
	return nil
}

// plain is an answer's body, unpacked.
func plain(r *http.Response) ([]byte, error) {
	var from io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		zip, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		from = zip
	}
	r.Header.Del("Content-Encoding")
	return io.ReadAll(from)
}

// rewrite changes the JSON object of a 200.
func rewrite(change func(map[string]any)) func(*http.Response) error {
	return func(r *http.Response) error {
		if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "application/json" {
			return nil
		}
		text, err := plain(r)
		if err != nil {
			return err
		}
		var object map[string]any
		if err := json.Unmarshal(text, &object); err != nil {
			return err
		}
		change(object)
		if text, err = json.Marshal(object); err != nil {
			return err
		}
		r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		r.ContentLength, r.Body = int64(len(text)), io.NopCloser(bytes.NewReader(text))
		return nil
	}
}
