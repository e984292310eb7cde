package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
)

// accessWorld is a world with an access log.
func accessWorld(t *testing.T, change func(*server.Options)) (*world, *lockedBuffer) {
	t.Helper()
	access := &lockedBuffer{}
	return newWorld(t, options{level: slog.LevelDebug, server: func(o *server.Options) {
		o.AccessLog = slog.New(slog.NewJSONHandler(access, nil))
		if change != nil {
			change(o)
		}
	}}), access
}

// accessLines waits for n lines, which are written after the answer, and returns
// all.
func accessLines(t *testing.T, access *lockedBuffer, n int) []map[string]any {
	t.Helper()
	began := time.Now()
	for strings.Count(access.String(), "\n") < n {
		if time.Since(began) > 5*time.Second {
			t.Fatalf("the access log has fewer than %d lines: %s", n, access.String())
		}
	}
	var list []map[string]any
	for line := range strings.Lines(access.String()) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, one)
	}
	return list
}

func TestAccessLines(t *testing.T) {
	w, access := accessWorld(t, nil)
	token := w.token("acme/*", api.Writer)
	put := w.do(request{method: http.MethodPut, path: memory("acme/api"), token: token, body: `{"entries":{"k":"1"}}`})
	get := w.do(request{path: memory("acme/api"), token: token})
	w.do(request{path: memory("acme/api"), token: token, header: map[string]string{"If-None-Match": "*"}})
	w.do(request{path: memory("other/api"), token: token})
	w.do(request{path: memory("acme/api")})
	w.do(request{path: api.PathLive})
	grants, err := w.backend.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := grants[0].ID
	lines := accessLines(t, access, 6)
	type want struct {
		method, route    string
		status           float64
		token, repo, bad any
		bytes            int
	}
	for i, wanted := range []want{
		{"PUT", api.PathTeamMemory, 200, id, "acme/api", nil, len(put.body)},
		{"GET", api.PathTeamMemory, 200, id, "acme/api", nil, len(get.body)},
		{"GET", api.PathTeamMemory, 304, id, "acme/api", nil, 0},
		{"GET", api.PathTeamMemory, 404, id, nil, "not_found", -1}, // not to be read: not to be named
		{"GET", api.PathTeamMemory, 401, nil, nil, "signed_out", -1},
		{"GET", api.PathLive, 200, nil, nil, nil, -1},
	} {
		line := lines[i]
		got := want{
			line["method"].(string), line["route"].(string), line["status"].(float64),
			line["token"], line["repo"], line["error_code"], wanted.bytes,
		}
		if got != wanted {
			t.Errorf("line %d: %v, want %v", i, got, wanted)
		}
		if wanted.bytes >= 0 && line["bytes"] != float64(wanted.bytes) {
			t.Errorf("line %d: %v bytes, want %d", i, line["bytes"], wanted.bytes)
		}
		if line["client"] != "127.0.0.1" || line["msg"] != "request" {
			t.Errorf("line %d: %v", i, line)
		}
		if _, ok := line["duration_ms"].(float64); !ok {
			t.Errorf("line %d has no duration: %v", i, line)
		}
		if at, err := time.Parse(time.RFC3339, line["time"].(string)); err != nil || time.Since(at) > time.Minute {
			t.Errorf("line %d: time %v", i, line["time"])
		}
	}
	if got := lines[1]["request_id"]; got == "" || got != get.header.Get(api.HeaderRequest) {
		t.Errorf("request_id %v in the log, %q in the answer", got, get.header.Get(api.HeaderRequest))
	}
	if lines[0]["request_id"] == lines[1]["request_id"] {
		t.Error("two requests have one id")
	}
	if strings.Contains(w.logged.String(), "msg=request ") {
		t.Error("requests are logged twice")
	}
}

// TestAccessLogHoldsNothing plants a text wherever a client can put one.
func TestAccessLogHoldsNothing(t *testing.T) {
	w, access := accessWorld(t, func(o *server.Options) { o.TrustedProxies, _ = server.ParseProxies([]string{"127.0.0.1"}) })
	token := w.token("acme/*", api.Maintainer)
	const planted = "planted-value"
	headers := map[string]string{}
	for _, name := range []string{
		"Accept", "Accept-Encoding", "Cookie", "Content-Type", "If-Match", "If-None-Match", "Origin", "Referer", "User-Agent",
		"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", api.HeaderRequest, "X-Correlation-Id", "Traceparent",
		api.HeaderActorPerson, api.HeaderActorDevice, api.HeaderActorAgent, api.HeaderActorSession, api.HeaderState, "Proxy-Authorization",
	} {
		headers[name] = planted
	}
	sent := 0
	send := func(method, path, secret, body string) {
		sent++
		w.do(request{method: method, path: path, token: secret, header: headers, body: body})
	}
	for _, secret := range []string{token, planted, "tm_" + planted, ""} {
		send("GET", "/"+planted+"?"+planted+"="+planted, secret, "")
		send("PLANTED-VALUE", api.PathTeamMemory, secret, "")
		for _, repo := range []string{"acme/api", planted + "/" + planted} {
			for _, more := range []string{"view=" + planted, "keys=" + planted, "since=" + planted, planted + "=" + planted} {
				send("GET", memory(repo, more), secret, "")
			}
			send("PUT", memory(repo, planted+"=1"), secret, fmt.Sprintf(`{"entries":{%q:%q}}`, planted, planted))
			send("GET", api.PathHistory+"?repo="+repo+"&key="+planted, secret, "")
			send("GET", api.PathContent+"?repo="+repo+"&version=1&key="+planted, secret, "")
			send("DELETE", api.PathScanPolicy+"?repo="+repo+"&id="+planted, secret, "")
		}
		send("POST", api.PathJoin, secret, `{"code":"`+planted+`","device":"`+planted+`"}`)
		send("POST", api.PathRestore, secret, `{"repo":"acme/api","key":"`+planted+`","version":1}`)
	}
	accessLines(t, access, sent)
	for name, log := range map[string]string{"access log": access.String(), "log": w.logged.String()} {
		for _, bad := range []string{planted, strings.ToUpper(planted), token} {
			if at := strings.Index(log, bad); at >= 0 {
				t.Errorf("the %s holds %q: %s", name, bad, log[max(0, at-200):min(len(log), at+100)])
			}
		}
	}
}

func TestAccessLogNamesTheClient(t *testing.T) {
	const forged = "192.0.2.1"
	for _, test := range []struct {
		name, proxies, forwarded, want string
	}{
		{"nobody is trusted", "10.0.0.1", forged, "127.0.0.1"},
		{"a trusted proxy", "127.0.0.1", forged, forged},
		{"the last hop that no proxy vouches for", "127.0.0.0/8", forged + ", 198.51.100.7, 127.0.0.3", "198.51.100.7"},
		{"no address", "127.0.0.1", "nonsense", "127.0.0.1"},
		{"a zone", "127.0.0.1", "fe80::1%nonsense", "fe80::1"},
	} {
		w, access := accessWorld(t, func(o *server.Options) { o.TrustedProxies, _ = server.ParseProxies([]string{test.proxies}) })
		w.do(request{path: api.PathLive, header: map[string]string{"X-Forwarded-For": test.forwarded}})
		if got := accessLines(t, access, 1)[0]["client"]; got != test.want {
			t.Errorf("%s: client %v, want %s", test.name, got, test.want)
		}
	}
}

// tally is a referee: it refuses words that are on no list.
type tally struct {
	t       *testing.T
	mu      sync.Mutex
	counted map[string]int
	streams int
	most    int
}

func newTally(t *testing.T) *tally {
	t.Helper()
	return &tally{t: t, counted: map[string]int{}}
}

func (m *tally) count(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counted[what]++
}

func (m *tally) Answered(route, method string, status int, took time.Duration, long bool) {
	if took < 0 || took > time.Minute {
		m.t.Errorf("a request took %v", took)
	}
	m.count(fmt.Sprint(route, " ", method, " ", status, " ", long))
}

func (m *tally) Refused(code string) {
	if !slices.ContainsFunc(api.Errors, func(r api.ErrorRow) bool { return r.Code == code }) && code != "method_not_allowed" {
		m.t.Errorf("the error_code %q is on no list", code)
	}
	m.count("refused " + code)
}

func (m *tally) Streams(delta int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.streams += delta
	m.most = max(m.most, m.streams)
}

func (m *tally) all() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.counted)
}

func TestMeter(t *testing.T) {
	m := newTally(t)
	w := newWorld(t, options{server: func(o *server.Options) { o.Meter = m }})
	token := w.token("*", api.Writer)
	w.put(token, "acme/api", entries{"k": "1"})
	w.do(request{path: memory("acme/api"), token: token, header: map[string]string{"If-None-Match": "*"}})
	w.do(request{path: "/of-the-client", token: token})
	w.do(request{method: "WORDS", path: api.PathLive})
	w.do(request{method: http.MethodDelete, path: api.PathLive})
	w.do(request{path: memory("acme/api", "wait=1", "after=1"), token: token})
	want := map[string]int{
		api.PathTeamMemory + " PUT 200 false": 1,
		api.PathTeamMemory + " GET 304 false": 1,
		"other GET 404 false":                 1,
		"refused not_found":                   1,
		api.PathLive + " other 405 false":     1,
		api.PathLive + " DELETE 405 false":    1,
		"refused method_not_allowed":          2,
		api.PathTeamMemory + " GET 304 true":  1,
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, m.all()); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
	if m.streams != 0 || m.most != 1 {
		t.Errorf("%d streams are open at the end, %d at most", m.streams, m.most)
	}
}

// TestMeterOfStreams ends a stream from either side.
func TestMeterOfStreams(t *testing.T) {
	m := newTally(t)
	w := newWorld(t, options{server: func(o *server.Options) { o.Meter = m }})
	token := w.token("*", api.Reader)
	w.follow(token, "acme/api")
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	if m.streams != 0 || m.most != 1 || m.all()[api.PathEvents+" GET 200 true"] != 1 {
		t.Errorf("%d streams at the end, %d at most, counted %v", m.streams, m.most, m.all())
	}
}

// follow opens an event stream and returns when it has begun. It ends by leave,
// or with the test.
func (w *world) follow(token, repo string) (leave func()) {
	w.t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	w.t.Cleanup(leave)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+api.PathEvents+"?repo="+url.QueryEscape(repo), http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = res.Body.Close() })
	if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
		w.t.Fatal(err)
	}
	return leave
}
