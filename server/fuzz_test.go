package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

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
