package server_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
)

func (w *world) push(token, repo string, p api.PushRequest) answer {
	w.t.Helper()
	return w.do(request{method: http.MethodPut, path: memory(repo), token: token, body: jsonOf(w.t, p)})
}

func (w *world) hashes(token, repo string) api.HashesAnswer {
	w.t.Helper()
	a := w.do(request{path: memory(repo, "view=hashes"), token: token})
	wantStatus(w.t, "hashes", a, 200, "")
	return decodeAs[api.HashesAnswer](w.t, a)
}

type entries = map[string]string

func TestStateEverywhere(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Writer)
	pushed := w.put(token, "a/b", entries{"k": "1"})
	if pushed.Epoch == "" || pushed.Version != 1 {
		t.Fatalf("pushed %+v", pushed)
	}
	want := fmt.Sprintf("%s;%d", pushed.Epoch, pushed.Version)
	tests := map[string]request{
		"GET":    {path: memory("a/b")},
		"hashes": {path: memory("a/b", "view=hashes")},
		"304":    {path: memory("a/b"), header: map[string]string{"If-None-Match": "*"}},
		"PUT":    {method: http.MethodPut, path: memory("a/b"), body: `{}`},
		"412":    {method: http.MethodPut, path: memory("a/b"), body: `{"entries":{"k":"2"},"expect":{"k":""}}`},
		"422":    {method: http.MethodPut, path: memory("a/b"), body: `{"entries":{"..":"2"}}`},
		"400":    {method: http.MethodPut, path: memory("a/b"), body: `x`},
	}
	for name, r := range tests {
		r.token = token
		if got := w.do(r).header.Get(api.HeaderState); got != want {
			t.Errorf("%s: %s = %q, want %q", name, api.HeaderState, got, want)
		}
	}
}

func TestExpectOverWire(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Writer)
	w.put(token, "a/b", entries{"a": "1", "b": "1"})
	stale := api.SumString("0").String()
	a := w.push(token, "a/b", api.PushRequest{Entries: entries{"a": "2", "b": "2", "c": "2"}, Expect: entries{"a": stale, "b": "", "c": ""}})
	wantStatus(t, "stale", a, 412, "precondition_failed")
	got := decodeAs[api.ErrorBody](t, a).Error.Details.Conflicts
	now := api.SumString("1").String()
	if diff := cmp.Diff(map[string]string{"a": now, "b": now}, got); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	if v := w.hashes(token, "a/b").Version; v != 1 {
		t.Errorf("a refused write made version %d", v)
	}
	ok := api.PushRequest{Entries: entries{"a": "2", "b": "2", "c": "2"}, Expect: entries{"a": now, "b": now, "c": ""}}
	for try := range 3 { // the second and third are retries of an answer that was lost
		a = w.push(token, "a/b", ok)
		wantStatus(t, fmt.Sprint("try ", try), a, 200, "")
		if v := decodeAs[api.PushAnswer](t, a).Version; v != 2 {
			t.Errorf("try %d made version %d, want 2", try, v)
		}
	}
}

func TestTombstones(t *testing.T) {
	w := newWorld(t, options{})
	writer, maintainer := w.token("*", api.Writer), w.token("*", api.Maintainer)
	w.put(writer, "a/b", entries{"a": "1"})
	w.put(writer, "a/b", entries{"a": "2", "b": "1"})

	a := w.push(writer, "a/b", api.PushRequest{SoftDeleteKeys: []string{"a"}})
	wantStatus(t, "retiring by a writer", a, 403, "forbidden")
	wantStatus(t, "retiring by a maintainer", w.push(maintainer, "a/b", api.PushRequest{SoftDeleteKeys: []string{"a", "never-seen"}}), 200, "")
	if diff := cmp.Diff(map[string]uint64{"a": 3}, w.hashes(writer, "a/b").DeletedEntries); diff != "" {
		t.Errorf("deletedEntries (-want +got):\n%s", diff)
	}
	for _, earlier := range []string{"1", "2"} {
		a = w.push(writer, "a/b", api.PushRequest{Entries: entries{"a": earlier, "b": "1"}})
		wantStatus(t, "an earlier content", a, 200, "")
		if diff := cmp.Diff([]string{"a"}, decodeAs[api.PushAnswer](t, a).Ignored); diff != "" {
			t.Errorf("ignored (-want +got):\n%s", diff)
		}
	}
	wantStatus(t, "new content", w.push(writer, "a/b", api.PushRequest{Entries: entries{"a": "3"}}), 422, "key_retired")
	wantStatus(t, "new content by a maintainer", w.push(maintainer, "a/b", api.PushRequest{Entries: entries{"a": "3"}}), 422, "key_retired")
	revive := api.PushRequest{Entries: entries{"a": "3"}, Expect: entries{"a": "tombstone:3"}}
	wantStatus(t, "reviving by a writer", w.push(writer, "a/b", revive), 403, "forbidden")
	wantStatus(t, "reviving", w.push(maintainer, "a/b", revive), 200, "")
	view := w.hashes(writer, "a/b")
	if view.DeletedEntries != nil || view.EntryChecksums["a"] != api.SumString("3").String() {
		t.Errorf("after the revival: %+v", view)
	}
	wantStatus(t, "put and retired at once", w.push(maintainer, "a/b", api.PushRequest{Entries: entries{"a": "4"}, SoftDeleteKeys: []string{"a"}}), 400, "bad_request")
}

func TestWritersMayRetire(t *testing.T) {
	w := newWorld(t, options{server: allowRetire("lax/*")})
	writer := w.token("*", api.Writer)
	for repo, want := range map[string]int{"lax/b": 200, "strict/b": 403} {
		w.put(writer, repo, entries{"a": "1"})
		if a := w.push(writer, repo, api.PushRequest{SoftDeleteKeys: []string{"a"}}); a.status != want {
			t.Errorf("%s: %d, want %d", repo, a.status, want)
		}
	}
}

func TestDeltaAndKeys(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Maintainer)
	w.put(token, "a/b", entries{"a": "1", "b": "1", "c": "1"})
	epoch := w.put(token, "a/b", entries{"b": "2"}).Epoch
	wantStatus(t, "retire", w.push(token, "a/b", api.PushRequest{SoftDeleteKeys: []string{"c"}}), 200, "")
	tests := []struct {
		query   string
		entries entries
		tombs   map[string]uint64
		delta   bool
	}{
		{"", entries{"a": "1", "b": "2"}, map[string]uint64{"c": 3}, false},
		{"since=0&epoch=" + epoch, entries{"a": "1", "b": "2"}, map[string]uint64{"c": 3}, true},
		{"since=1&epoch=" + epoch, entries{"b": "2"}, map[string]uint64{"c": 3}, true},
		{"since=2&epoch=" + epoch, entries{}, map[string]uint64{"c": 3}, true},
		{"since=3&epoch=" + epoch, entries{}, nil, true},
		{"since=4&epoch=" + epoch, entries{"a": "1", "b": "2"}, map[string]uint64{"c": 3}, false},
		{"since=2&epoch=another", entries{"a": "1", "b": "2"}, map[string]uint64{"c": 3}, false},
		{"since=2", entries{"a": "1", "b": "2"}, map[string]uint64{"c": 3}, false},
		{"keys=a", entries{"a": "1"}, nil, false},
		{"keys=c&keys=b&keys=b&keys=nobody&keys=..", entries{"b": "2"}, map[string]uint64{"c": 3}, false},
	}
	for _, tt := range tests {
		got := decodeAs[api.FullAnswer](t, w.do(request{path: memory("a/b", tt.query), token: token}))
		if diff := cmp.Diff(tt.entries, got.Content.Entries); diff != "" {
			t.Errorf("%q: entries (-want +got):\n%s", tt.query, diff)
		}
		if diff := cmp.Diff(tt.tombs, got.Content.DeletedEntries); diff != "" {
			t.Errorf("%q: deletedEntries (-want +got):\n%s", tt.query, diff)
		}
		if got.Delta != tt.delta || got.Version != 3 || len(got.Content.EntryModified) != len(tt.entries) {
			t.Errorf("%q: delta %v of version %d, %d times", tt.query, got.Delta, got.Version, len(got.Content.EntryModified))
		}
	}
}

func TestSecretsRefused(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Writer)
	all := api.PushRequest{
		Entries: entries{
			"one": "x\n y " + markBlock1 + " z", "two": markBlock2, "three": "\n\n" + markBlock3, "warn": markWarn, "clean": "1",
			"held": markHeld, "dir/" + markBlock1: "1", "../x": "1", "Clean": "1",
		},
		// No claim helps against the first two tiers, nor for another key or rule.
		Allowed: []api.Allowed{{Key: "one", Rule: "rule-block1"}, {Key: "two", Rule: "rule-block2"}, {Key: "three", Rule: "rule-block1"}, {Key: "clean", Rule: "rule-block3"}},
	}
	a := w.push(token, "a/b", all)
	wantStatus(t, "secrets", a, 422, "secret_found")
	var got []string
	for _, f := range decodeAs[api.ErrorBody](t, a).Error.Details.Findings {
		got = append(got, fmt.Sprintf("%s:%d:%d %s %s", f.Key, f.Line, f.Column, f.Rule, f.Tier))
		if f.Reason == "" {
			t.Errorf("%s has no reason", f.Key)
		}
	}
	want := []string{
		"../x:0:0 key_invalid ", "Clean:0:0 key_conflict ", "clean:0:0 key_conflict ", "dir/" + markBlock1 + ":0:5 rule-block1 block1",
		"held:0:0 unreadable ", "one:2:4 rule-block1 block1", "three:3:1 rule-block3 block3", "two:1:1 rule-block2 block2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	wantStatus(t, "nothing was applied", w.do(request{path: memory("a/b"), token: token}), 404, "not_found")

	delete(all.Entries, "Clean")
	for _, key := range []string{"one", "two", "three", "held", "dir/" + markBlock1, "../x"} {
		delete(all.Entries, key)
	}
	all.Allowed = nil
	wantStatus(t, "the rest", w.push(token, "a/b", all), 200, "")

	for _, mark := range []string{markBlock1, markBlock2, markBlock3} {
		if strings.Contains(w.logged.String(), mark) {
			t.Errorf("the log holds %s", mark)
		}
	}
}

func TestAllowed(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Writer)
	p := api.PushRequest{Entries: entries{"k": "a " + markBlock3}, Allowed: []api.Allowed{{Key: "k", Rule: "rule-block3", Reason: "example"}}}
	wantStatus(t, "allowed", w.push(token, "a/b", p), 200, "")
	log := w.logged.String()
	if !strings.Contains(log, "key=k") || !strings.Contains(log, "rule=rule-block3") || strings.Contains(log, markBlock3) {
		t.Errorf("the audit line is missing or says too much: %s", log)
	}
	p.Allowed = nil
	p.Entries["k2"] = p.Entries["k"]
	wantStatus(t, "not remembered for others", w.push(token, "a/b", p), 422, "secret_found")
}

func TestScannerOut(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Writer)
	a := w.push(token, "a/b", api.PushRequest{Entries: entries{"k": markBroken}})
	wantStatus(t, "a scanner that cannot judge", a, 503, "unavailable")
	if a.header.Get("Retry-After") == "" {
		t.Error("a 503 has no Retry-After")
	}
	wantStatus(t, "nothing was stored", w.do(request{path: memory("a/b"), token: token}), 404, "")
}

func TestActor(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Writer)
	w.do(request{method: http.MethodPut, path: memory("a/b"), token: token, body: `{"entries":{"k":"1"}}`, header: map[string]string{
		api.HeaderActorPerson:  "Ad%C3%A4%20%1b%5b31m",
		api.HeaderActorDevice:  strings.Repeat("%C3%A9", 150),
		api.HeaderActorAgent:   "100%",
		api.HeaderActorSession: markBlock1,
	}})
	got := decodeAs[api.HistoryAnswer](t, w.do(request{path: api.PathHistory + "?repo=a%2Fb", token: token}))
	want := api.Actor{Token: "writer", Person: "Adä [31m", Device: strings.Repeat("é", 100), Agent: "100%", Session: "withheld"}
	if len(got.Versions) != 1 {
		t.Fatalf("history = %+v", got)
	}
	if diff := cmp.Diff(want, got.Versions[0].Actor); diff != "" {
		t.Errorf("actor (-want +got):\n%s", diff)
	}
}

func TestGzip(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Writer)
	w.put(token, "a/b", entries{"k": strings.Repeat("text ", 1000)})
	plainTag := w.do(request{path: memory("a/b"), token: token}).header.Get("ETag")
	for _, view := range []string{"", "view=hashes"} {
		plain := w.do(request{path: memory("a/b", view), token: token})
		for accept, want := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "*": true, "gzip;q=0": false, "identity": false, "gzip;q=0, *": false} {
			a := w.do(request{path: memory("a/b", view), token: token, header: map[string]string{"Accept-Encoding": accept}})
			if got := a.header.Get("Content-Encoding") == "gzip"; got != want {
				t.Errorf("%q, Accept-Encoding %q: compressed %v, want %v", view, accept, got, want)
			}
			if a.header.Get("ETag") != plainTag || a.header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%q, Accept-Encoding %q: ETag %q, Vary %q", view, accept, a.header.Get("ETag"), a.header.Get("Vary"))
			}
			body := string(a.body)
			if want {
				zip, err := gzip.NewReader(strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				raw, err := io.ReadAll(zip)
				if err != nil {
					t.Fatal(err)
				}
				body = string(raw)
			}
			if body != string(plain.body) {
				t.Errorf("%q, Accept-Encoding %q: another body", view, accept)
			}
		}
	}
}

func TestHistoryContentRestore(t *testing.T) {
	w := newWorld(t, options{})
	reader, writer, maintainer := w.token("*", api.Reader), w.token("*", api.Writer), w.token("*", api.Maintainer)
	w.put(writer, "a/b", entries{"k": "1", "other": "1"})
	w.put(writer, "a/b", entries{"k": "2"})
	wantStatus(t, "retire", w.push(maintainer, "a/b", api.PushRequest{SoftDeleteKeys: []string{"k"}}), 200, "")

	history := func(query string) []string {
		var rows []string
		for _, v := range decodeAs[api.HistoryAnswer](t, w.do(request{path: api.PathHistory + "?repo=a/b" + query, token: reader})).Versions {
			rows = append(rows, fmt.Sprintf("%s@%d %s %v", v.Key, v.Version, v.Op, v.Current))
		}
		return rows
	}
	if diff := cmp.Diff([]string{"k@3 retire false", "k@2 put false", "k@1 put false"}, history("&key=k")); diff != "" {
		t.Errorf("history of k (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"other@1 put true"}, history("&key=other")); diff != "" {
		t.Errorf("history of other (-want +got):\n%s", diff)
	}
	if got := history("&limit=2"); len(got) != 2 {
		t.Errorf("with a limit of 2: %v", got)
	}
	if got := history("&key=nobody"); len(got) != 0 {
		t.Errorf("of an unknown key: %v", got)
	}

	content := func(key, version string) answer {
		return w.do(request{path: api.PathContent + "?repo=a/b&key=" + url.QueryEscape(key) + "&version=" + version, token: reader})
	}
	got := decodeAs[api.ContentAnswer](t, content("k", "1"))
	if got.Content != "1" || got.Checksum != api.SumString("1") || got.Key != "k" || got.Version != 1 {
		t.Errorf("content = %+v", got)
	}
	wantStatus(t, "content of a retirement", content("k", "3"), 404, "not_found")
	wantStatus(t, "content of no version", content("k", "9"), 404, "not_found")
	wantStatus(t, "content without a version", content("k", ""), 400, "bad_request")
	wantStatus(t, "content of a bad key", content("../k", "1"), 422, "key_invalid")

	restore := func(token string, r any) answer {
		return w.do(request{method: http.MethodPost, path: api.PathRestore, token: token, body: jsonOf(t, r)})
	}
	r := map[string]any{"repo": "A/B", "key": "k", "version": 1}
	wantStatus(t, "restore by a writer", restore(writer, r), 403, "forbidden")
	for range 2 { // the second finds it in place
		a := restore(maintainer, r)
		wantStatus(t, "restore", a, 200, "")
		if v := decodeAs[api.PushAnswer](t, a).Version; v != 4 {
			t.Errorf("restored as version %d, want 4", v)
		}
	}
	if got := w.hashes(reader, "a/b"); got.EntryChecksums["k"] != api.SumString("1").String() || len(got.DeletedEntries) != 0 {
		t.Errorf("after the restore: %+v", got)
	}
	wantStatus(t, "restore over live content", restore(maintainer, map[string]any{"repo": "a/b", "key": "k", "version": 2}), 200, "")
	wantStatus(t, "restore of a retirement", restore(maintainer, map[string]any{"repo": "a/b", "key": "k", "version": 3}), 404, "not_found")
	wantStatus(t, "restore without a repo", restore(maintainer, map[string]any{"key": "k"}), 400, "repo_invalid")
	wantStatus(t, "restore with a bad repo", restore(maintainer, map[string]any{"repo": "..", "key": "k"}), 400, "repo_invalid")
}

func TestSmallDoors(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("acme/*", api.Writer)
	me := w.do(request{path: api.PathWhoAmI, token: token})
	if want := `{"name":"writer","repos":"acme/*","role":"writer"}` + "\n"; string(me.body) != want {
		t.Errorf("who am I = %s, want %s", me.body, want)
	}
	v := decodeAs[api.ServerVersion](t, w.do(request{path: api.PathVersion}))
	if v.Name != "teammemd" || v.Version != "1.2.3" || v.Protocol != 1 || len(v.Features) == 0 {
		t.Errorf("version = %+v", v)
	}
	wantStatus(t, "livez", w.do(request{path: api.PathLive}), 200, "")
	wantStatus(t, "readyz", w.do(request{path: api.PathReady}), 200, "")
	a := w.do(request{method: http.MethodPut, path: memory("acme/api"), token: token, body: `{}`, header: map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}})
	wantStatus(t, "a browser on another site", a, 403, "forbidden")
}

func TestPanicIsAnswered(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Writer)
	// A content that makes the scanner panic while it runs in the handler itself.
	w2 := newWorld(t, options{core: func(o *core.Options) { o.Rules = func() string { panic("text of a client") } }})
	token2 := w2.token("*", api.Writer)
	a := w2.push(token2, "a/b", api.PushRequest{Entries: entries{"k": "1"}})
	wantStatus(t, "a panic", a, 500, "internal")
	if log := w2.logged.String(); strings.Contains(log, "text of a client") || !strings.Contains(log, "handler panicked") {
		t.Errorf("the log of a panic: %s", log)
	}
	// And one in a goroutine of the scan must not end the process.
	a = w.push(token, "a/b", api.PushRequest{Entries: entries{"k": markPanic}})
	wantStatus(t, "a scanner that panics", a, 422, "refused")
	if strings.Contains(w.logged.String(), markPanic) {
		t.Error("the log holds what the scanner panicked with")
	}
	var body json.RawMessage
	if err := json.Unmarshal(a.body, &body); err != nil {
		t.Errorf("not JSON: %v", err)
	}
}
