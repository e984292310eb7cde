package server_test

import (
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
)

func TestTokenRate(t *testing.T) {
	w := newWorld(t, options{server: func(o *server.Options) { o.Rate, o.Burst = 0.001, 5 }})
	token, other := w.token("*", api.Writer), w.token("*", api.Writer)
	w.put(token, "a/b", entries{"k": "1"}) // the first of five
	for range 50 {
		a := w.do(request{path: memory("a/b"), token: token, header: map[string]string{"If-None-Match": "*"}})
		wantStatus(t, "a 304 is free", a, 304, "")
	}
	for _, path := range []string{memory("a/b"), memory("a/b", "view=hashes"), api.PathWhoAmI, api.PathHistory + "?repo=a/b"} {
		wantStatus(t, path, w.do(request{path: path, token: token}), 200, "")
	}
	for _, r := range []request{{path: memory("a/b")}, {path: api.PathWhoAmI}, {method: http.MethodPut, path: memory("a/b"), body: `{"entries":{"k":"2"}}`}} {
		r.token = token
		a := w.do(r)
		wantStatus(t, r.path, a, 429, "rate_limited")
		if a.header.Get("Retry-After") == "" || a.header.Get("Content-Encoding") != "" {
			t.Errorf("%s: headers %v", r.path, a.header)
		}
	}
	wantStatus(t, "another token", w.do(request{path: memory("a/b"), token: other}), 200, "")
}

func TestCheckExposure(t *testing.T) {
	proxies, err := server.ParseProxies([]string{"10.0.0.1", "192.168.0.0/16", "::1"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		addr    string
		tls     bool
		proxies []netip.Prefix
		ok      bool
	}{
		{"127.0.0.1:8787", false, nil, true},
		{"127.9.9.9:0", false, nil, true},
		{"[::1]:8787", false, nil, true},
		{"[::ffff:127.0.0.1]:1", false, nil, true},
		{"localhost:8787", false, nil, true},
		{"0.0.0.0:8787", false, nil, false},
		{":8787", false, nil, false},
		{"[::]:8787", false, nil, false},
		{"192.168.1.5:8787", false, nil, false},
		{"memory.example.org:8787", false, nil, false},
		{"localhost.evil.example:8787", false, nil, false},
		{"0.0.0.0:8787", true, nil, true},
		{"0.0.0.0:8787", false, proxies, true},
		{"127.0.0.1", false, nil, false},
	}
	for _, tt := range tests {
		err := server.CheckExposure(tt.addr, tt.tls, tt.proxies)
		if (err == nil) != tt.ok {
			t.Errorf("CheckExposure(%q, %v, %v) = %v", tt.addr, tt.tls, tt.proxies, err)
		}
		if err != nil && !errors.Is(err, api.ErrConfig) {
			t.Errorf("CheckExposure(%q) = %v, want a configuration error", tt.addr, err)
		}
	}
	if err := server.CheckExposure(":80", false, nil); !strings.Contains(err.Error(), "tls_cert") || !strings.Contains(err.Error(), "trusted_proxies") {
		t.Errorf("the refusal does not say what to do: %v", err)
	}
	if _, err := server.ParseProxies([]string{"everyone"}); !errors.Is(err, api.ErrConfig) {
		t.Errorf("ParseProxies = %v, want a configuration error", err)
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := server.New(server.Options{}); !errors.Is(err, api.ErrConfig) {
		t.Errorf("New of nothing = %v, want a configuration error", err)
	}
}

// TestUploadBudget sends more bytes than a token may, in bodies that each fit.
func TestUploadBudget(t *testing.T) {
	w := newWorld(t, options{server: func(o *server.Options) { o.UploadRate, o.UploadBurst = 1000, 1 } /* raised to one body */})
	token, other := w.token("*", api.Writer), w.token("*", api.Writer)
	body := func(i int) string {
		return jsonOf(t, map[string]any{"entries": map[string]string{strconv.Itoa(i): strings.Repeat("x", 240_000)}})
	}
	put := func(token string, i int) answer {
		return w.do(request{method: http.MethodPut, path: memory("a/b"), token: token, body: body(i)})
	}
	accepted := 0
	var last answer
	for last.status != 429 && accepted < 20 {
		if last = put(token, accepted); last.status == 200 {
			accepted++
		}
	}
	if accepted != 8 {
		t.Errorf("%d bodies of 240 KB were accepted, want 8: 2 MiB", accepted)
	}
	wantStatus(t, "one too many", last, 429, "rate_limited")
	if wait, err := strconv.Atoi(last.header.Get("Retry-After")); err != nil || wait < 10 || wait > 240 {
		t.Errorf("Retry-After %q", last.header.Get("Retry-After"))
	}
	if !strings.Contains(string(last.body), "too many bytes") {
		t.Errorf("the refusal does not say what there was too much of: %s", last.body)
	}
	wantStatus(t, "reading", w.do(request{path: memory("a/b", "view=hashes"), token: token}), 200, "")
	wantStatus(t, "another token", put(other, 1), 200, "")
}

// TestStreamLimit opens more streams than a token may hold.
func TestStreamLimit(t *testing.T) {
	w := newWorld(t, options{server: func(o *server.Options) { o.MaxStreams = 1 }})
	token, other := w.token("*", api.Writer), w.token("*", api.Writer)
	w.put(token, "a/b", entries{"k": "1"})
	leave := w.follow(token, "a/b")
	wait := request{path: memory("a/b", "wait=1", "after=1"), token: token}
	refused := w.do(wait)
	wantStatus(t, "a second stream", refused, 429, "rate_limited")
	if got := refused.header.Get("Retry-After"); got != "30" {
		t.Errorf("Retry-After %q", got)
	}
	wantStatus(t, "another token", w.do(request{path: wait.path, token: other}), 304, "")
	leave()
	after := w.do(wait)
	for began := time.Now(); after.status == 429 && time.Since(began) < 10*time.Second; {
		after = w.do(wait) // the server notices the end of the stream in its own time
	}
	wantStatus(t, "after it", after, 304, "")
}
