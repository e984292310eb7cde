package server_test

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
)

func (w *world) code(token, repo string) api.JoinCodeAnswer {
	w.t.Helper()
	a := w.do(request{method: http.MethodPost, path: api.PathJoinCodes, token: token, body: jsonOf(w.t, map[string]string{"repo": repo})})
	wantStatus(w.t, "join code", a, 200, "")
	return decodeAs[api.JoinCodeAnswer](w.t, a)
}

func (w *world) join(code, device string) answer {
	return w.do(request{method: http.MethodPost, path: api.PathJoin, body: jsonOf(w.t, map[string]string{"code": code, "device": device})})
}

func TestJoin(t *testing.T) {
	w := newWorld(t, options{})
	code := w.code(w.token("*", api.Maintainer), "Acme/API")
	if code.Repo.String() != "acme/api" || code.Role != api.Writer || code.ExpiresAt.IsZero() {
		t.Errorf("code = %+v", code)
	}
	a := w.join(strings.ToLower(code.Code), "laptop "+markBlock1)
	wantStatus(t, "join", a, 200, "")
	if a.header.Get("Cache-Control") != "no-store" {
		t.Error("an answer with a token may be cached")
	}
	joined := decodeAs[api.JoinAnswer](t, a)
	me := decodeAs[api.WhoAmI](t, w.do(request{path: api.PathWhoAmI, token: joined.Token}))
	if me.Name != "withheld" || me.Repos != "acme/api" || me.Role != api.Writer {
		t.Errorf("who am I = %+v", me)
	}
	wantStatus(t, "the code again", w.join(code.Code, "x"), 403, "forbidden")
	wantStatus(t, "no code", w.join(" ", "x"), 400, "bad_request")
	if strings.Contains(w.logged.String(), joined.Token) || strings.Contains(w.logged.String(), code.Code) {
		t.Error("the log holds a token or a code")
	}
}

func TestJoinRace(t *testing.T) {
	w := newWorld(t, options{})
	code := w.code(w.token("*", api.Maintainer), "acme/api").Code
	var won atomic.Int32
	var racers sync.WaitGroup
	for range 8 {
		racers.Go(func() {
			a, err := w.try(request{method: http.MethodPost, path: api.PathJoin, body: `{"code":"` + code + `"}`})
			if err != nil {
				t.Error(err)
			}
			if a.status == http.StatusOK {
				won.Add(1)
			}
		})
	}
	racers.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 8 got a token, want 1", won.Load())
	}
}

func TestJoinIsLimited(t *testing.T) {
	proxy := netip.MustParsePrefix("127.0.0.0/8")
	w := newWorld(t, options{server: func(o *server.Options) { o.TrustedProxies = []netip.Prefix{proxy} }})
	from := func(addr string) answer {
		return w.do(request{method: http.MethodPost, path: api.PathJoin, body: `{"code":"0000-0000"}`, header: map[string]string{"X-Forwarded-For": addr}})
	}
	limited := func(addr string) bool {
		for range 30 {
			a := from(addr)
			if a.status == 429 {
				if a.header.Get("Retry-After") == "" {
					t.Error("a 429 has no Retry-After")
				}
				return true
			}
			wantStatus(t, addr, a, 403, "forbidden")
		}
		return false
	}
	if !limited("198.51.100.7") {
		t.Error("30 tries from one address were all heard")
	}
	if a := from("198.51.100.8"); a.status != 403 {
		t.Errorf("another address is limited as well: %d", a.status)
	}
	// What a client claims before the proxy's own entry does not count.
	if a := from("203.0.113.1, 198.51.100.7"); a.status != 429 {
		t.Errorf("a forged first address escapes the limit: %d", a.status)
	}
	if a := from("198.51.100.7, 127.0.0.1"); a.status != 429 {
		t.Errorf("a second trusted proxy hides the client: %d", a.status)
	}
	if !limited("2001:db8::1") {
		t.Error("30 tries from one IPv6 address were all heard")
	}
	if a := from("2001:db8::2"); a.status != 429 {
		t.Errorf("a neighbour in the same /64 escapes the limit: %d", a.status)
	}
}

func TestForwardedIsIgnoredWithoutTrust(t *testing.T) {
	w := newWorld(t, options{})
	for i := range 30 {
		a := w.do(request{method: http.MethodPost, path: api.PathJoin, body: `{"code":"0000-0000"}`, header: map[string]string{"X-Forwarded-For": "198.51.100." + string(rune('0'+i%10))}})
		if a.status == 429 {
			return
		}
	}
	t.Error("a forged address escapes the limit")
}
