package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// serveDirect sends a request to the handler without a connection.
func (w *world) serveDirect(method, rawQuery, body, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, api.PathTeamMemory, strings.NewReader(body))
	r.URL.RawQuery = rawQuery
	r.Header.Set("Authorization", "Bearer "+token)
	rec := httptest.NewRecorder()
	w.server.Handler().ServeHTTP(rec, r)
	return rec
}

func checkAnswer(t *testing.T, rec *httptest.ResponseRecorder) {
	t.Helper()
	if rec.Code >= 500 {
		t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	if rec.Body.Len() > 0 && !json.Valid(rec.Body.Bytes()) {
		t.Fatalf("status %d: not JSON: %q", rec.Code, rec.Body)
	}
	if rec.Code >= 400 {
		var body api.ErrorBody
		if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil || body.Error.Details.ErrorCode == "" || body.Error.Message == "" {
			t.Fatalf("status %d: no reason: %s", rec.Code, rec.Body)
		}
	}
}

// FuzzPut: whatever the body, the answer is JSON and no 5xx, and what a 200
// stored comes back byte for byte.
func FuzzPut(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"entries":{"a":"1"}}`, `{"entries":{"a/b":"\ud83d\ude00"},"expect":{"a/b":""}}`, `{"entries":{"a":"\ud800"}}`,
		`{"entries":{"A":"1","a":"2"},"soft_delete_keys":["b"]}`, "{\"entries\":{\"\xff\":\"\xfe\"}}", `{"expect":{"k":"tombstone:1"}}`,
		`{"allowed":[{"key":"a","rule":"r"}],"entries":{"a":"MARK-THREE"}}`, `[]`, `{"entries":{"a":null}}`, `{"entries":{"a":"b"}}garbage`,
	} {
		f.Add(body)
	}
	w := newWorld(f, options{})
	token := w.token("*", api.Maintainer)
	f.Fuzz(func(t *testing.T, body string) {
		rec := w.serveDirect(http.MethodPut, "repo=acme%2Fapi", body, token)
		checkAnswer(t, rec)
		if rec.Code != http.StatusOK {
			return
		}
		var pushed api.PushAnswer
		var sent api.PushRequest
		if err := json.Unmarshal(rec.Body.Bytes(), &pushed); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			t.Fatalf("accepted what is not JSON: %v", err)
		}
		get := w.serveDirect(http.MethodGet, "repo=acme%2Fapi", "", token)
		checkAnswer(t, get)
		if get.Code == http.StatusNotFound && pushed.Version == 0 {
			return
		}
		var full api.FullAnswer
		if err := json.Unmarshal(get.Body.Bytes(), &full); err != nil {
			t.Fatal(err)
		}
		for key, content := range sent.Entries {
			if full.Content.Entries[key] != content && !slices.Contains(pushed.Ignored, key) {
				t.Fatalf("%q came back as %q, sent %q", key, full.Content.Entries[key], content)
			}
		}
		for key, content := range full.Content.Entries {
			if api.SumString(content).String() != full.Content.EntryChecksums[key] {
				t.Fatalf("%q does not have its checksum", key)
			}
			if _, err := api.ParseKey(key); err != nil {
				t.Fatalf("%q was stored: %v", key, err)
			}
		}
	})
}

// FuzzQuery: whatever the query and the condition, the answer is JSON and no 5xx.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		"repo=acme%2Fapi", "repo=acme/api&view=hashes", "repo=acme/api&since=1&epoch=x", "repo=acme/api&keys=a&keys=..", "repo=%zz",
		"repo=a;b", "view=hashes&repo=acme%2Fapi", "repo=acme/api&after=18446744073709551616", "repo=acme+api", "repo=acme%2Fapi&view=hashes&",
	} {
		f.Add(q, `"sha256:00"`)
	}
	w := newWorld(f, options{})
	token := w.token("*", api.Reader)
	w.put(w.token("*", api.Writer), "acme/api", entries{"a": "1"})
	f.Fuzz(func(t *testing.T, query, match string) {
		if values, err := url.ParseQuery(query); err == nil && values.Has("wait") {
			return // would wait
		}
		r := httptest.NewRequest(http.MethodGet, api.PathTeamMemory, nil)
		r.URL.RawQuery = query
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("If-None-Match", match)
		rec := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(rec, r)
		checkAnswer(t, rec)
		// The short way to read a query must agree with the long one.
		r.URL.RawQuery = "x=&" + query
		long := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(long, r)
		if rec.Code != long.Code {
			t.Fatalf("%q is answered with %d, read in full with %d", query, rec.Code, long.Code)
		}
	})
}

// deadlined is a recorder that a stream can set deadlines of.
type deadlined struct{ *httptest.ResponseRecorder }

// SetReadDeadline implements what [http.ResponseController] looks for.
func (deadlined) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements what [http.ResponseController] looks for.
func (deadlined) SetWriteDeadline(time.Time) error { return nil }

// beyondReach is the text of a repo that nobody who is asked for here may read. No
// documentation says it.
const beyondReach = "otters of the other repo"

// FuzzDoors: whatever is sent to whichever route by whomever, the answer is JSON
// with a reason or a stream, nothing panics, and nothing of the server's inside
// shows.
func FuzzDoors(f *testing.F) {
	w := newTown(f, "", options{})
	w.repo("acme/api", map[string]string{"ada": "maintain"})
	w.put(w.token("*", api.Admin), "other/api", entries{"k": beyondReach})
	tokens := []string{"", "garbage", w.token("acme/*", api.Reader), w.token("acme/*", api.Admin), w.signIn("ada"), w.signIn("eve")}
	methods, _ := w.server.Table()
	var doors [][2]string
	for path, list := range methods {
		for _, method := range append(list, "OPTIONS") {
			doors = append(doors, [2]string{method, path})
		}
	}
	slices.SortFunc(doors, func(a, b [2]string) int { return strings.Compare(a[1]+a[0], b[1]+b[0]) })
	for i := range doors {
		for _, seed := range [][2]string{
			{"repo=acme/api", `{"repo":"acme/api"}`},
			{"repo=other/api&key=k&version=1", `{"repo":"other/api","key":"k","version":1}`},
			{"repo=%zz;&repo=", `{"repo":7,"code":null,"rule":[],"device":{}}`},
			{"repo=acme/api&repo=acme/api&all=true&id=x", `[]`},
			{"repo=acme/api&key=a%00b&version=-1&limit=99999999999999999999&wait=1", "{\"repo\":\"\xff\"}"},
			{"repo=..%2f..", ""},
		} {
			f.Add(uint8(i), uint8(i), seed[0], seed[1], "member")
		}
	}
	f.Fuzz(func(t *testing.T, door, who uint8, query, body, header string) {
		d, token := doors[int(door)%len(doors)], tokens[int(who)%len(tokens)]
		// A wait or a stream ends when its client leaves.
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		r := httptest.NewRequest(d[0], d[1], strings.NewReader(body)).WithContext(ctx)
		r.URL.RawQuery = query
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		for _, name := range []string{
			"If-None-Match", "If-Match", "Accept-Encoding", "Content-Encoding", "X-GitHub-Event", "X-Hub-Signature-256", "X-Forwarded-For",
			api.HeaderActorPerson, api.HeaderActorAgent, "Origin", "Sec-Fetch-Site",
		} {
			if len(header)%3 == 0 || strings.HasPrefix(name, "X-") {
				r.Header.Set(name, header)
			}
		}
		rec := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(deadlined{rec}, r)
		if rec.Code >= 500 && rec.Code != http.StatusServiceUnavailable {
			t.Fatalf("%s %s?%s: %d %s", d[0], d[1], query, rec.Code, rec.Body)
		}
		text := rec.Body.String()
		for _, inside := range []string{"goroutine ", ".go:", "runtime error", "panic", "sqlite", "upstream-", beyondReach} {
			if strings.Contains(text, inside) && !strings.Contains(query+body+header, inside) {
				t.Fatalf("%s %s?%s: the answer holds %q: %s", d[0], d[1], query, inside, text)
			}
		}
		if strings.Contains(w.logged.String(), "panicked") {
			t.Fatalf("%s %s?%s: %s", d[0], d[1], query, w.logged)
		}
		if rec.Code < 500 && rec.Header().Get("Content-Type") == "application/json" && rec.Header().Get("Content-Encoding") == "" && !strings.Contains(d[1], "oauth") {
			checkAnswer(t, rec)
		}
	})
}
