package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
)

// These tests speak the base protocol only, in plain JSON and plain headers, as
// a client does that has never heard of our additions.

var checksumForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func TestBaseLife(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("acme/*", api.Maintainer)

	wantStatus(t, "GET of a repo never written", w.do(request{path: memory("acme/api"), token: token}), http.StatusNotFound, "not_found")
	wantStatus(t, "its hashes", w.do(request{path: memory("acme/api", "view=hashes"), token: token}), http.StatusNotFound, "not_found")

	files := map[string]string{"MEMORY.md": "# Index\n<a> & \"b\" \u2028\r\n", "notes/ünï code.md": "日本語 🙂\x01\n", "empty.md": ""}
	put := w.do(request{method: http.MethodPut, path: memory("acme/api"), token: token, body: jsonOf(t, map[string]any{"entries": files})})
	wantStatus(t, "PUT", put, http.StatusOK, "")
	pushed := decodeAs[map[string]any](t, put)
	for _, name := range []string{"checksum", "lastModified", "version"} {
		if pushed[name] == nil {
			t.Errorf("the answer to PUT has no %s", name)
		}
	}

	full := w.do(request{path: memory("acme/api"), token: token})
	wantStatus(t, "GET", full, http.StatusOK, "")
	if strings.Contains(string(full.body), `\u003c`) {
		t.Error("the answer is HTML-escaped")
	}
	body := decodeAs[map[string]any](t, full)
	content, _ := body["content"].(map[string]any)
	if diff := cmp.Diff(anyMap(files), content["entries"]); diff != "" {
		t.Errorf("entries (-sent +got):\n%s", diff)
	}
	if diff := cmp.Diff(sums(files), content["entryChecksums"]); diff != "" {
		t.Errorf("entryChecksums (-want +got):\n%s", diff)
	}
	if _, there := content["deletedEntries"]; there {
		t.Error("deletedEntries is there though nothing was deleted")
	}
	if body["repo"] != "acme/api" || body["organizationId"] == "" {
		t.Errorf("repo = %v, organizationId = %v", body["repo"], body["organizationId"])
	}
	if _, err := time.Parse(time.RFC3339, fmt.Sprint(body["lastModified"])); err != nil {
		t.Errorf("lastModified: %v", err)
	}
	sum, _ := body["checksum"].(string)
	if !checksumForm.MatchString(sum) || sum != pushed["checksum"] {
		t.Errorf("checksum = %q, PUT said %v", sum, pushed["checksum"])
	}
	if got := full.header.Get("ETag"); got != `"`+sum+`"` {
		t.Errorf("ETag = %q, want the quoted checksum", got)
	}
	if got := full.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type = %q", got)
	}

	hashes := w.do(request{path: memory("acme/api", "view=hashes"), token: token})
	wantStatus(t, "hashes", hashes, http.StatusOK, "")
	view := decodeAs[map[string]any](t, hashes)
	if diff := cmp.Diff(sums(files), view["entryChecksums"]); diff != "" {
		t.Errorf("entryChecksums of the hashes view (-want +got):\n%s", diff)
	}
	if view["checksum"] != sum || view["version"] != body["version"] {
		t.Errorf("the hashes view says %v at %v, the full answer %v at %v", view["checksum"], view["version"], sum, body["version"])
	}
	for _, name := range []string{"content", "entries"} {
		if _, there := view[name]; there {
			t.Errorf("the hashes view has %s", name)
		}
	}
}

func anyMap(m map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

func sums(m map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = api.SumString(v).String()
	}
	return out
}

func TestBaseNotModified(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("acme/*", api.Writer)
	sum := w.put(token, "acme/api", map[string]string{"a.md": "1"}).Checksum.String()
	bare := strings.TrimPrefix(sum, "sha256:")
	other := api.SumString("other").String()
	tests := []struct {
		value string
		want  int
	}{
		{`"` + sum + `"`, 304},
		{sum, 304},
		{bare, 304},
		{`"` + bare + `"`, 304},
		{`W/"` + sum + `"`, 304},
		{`w/"` + bare + `"`, 304},
		{"*", 304},
		{`"` + other + `", "` + sum + `"`, 304},
		{`"x",W/"` + sum + `" , "y"`, 304},
		{`"` + other + `"`, 200},
		{"", 200},
		{`"`, 200},
		{"nonsense", 200},
		{strings.ToUpper(sum), 200},
	}
	for _, tt := range tests {
		for _, view := range []string{"", "view=hashes"} {
			a := w.do(request{path: memory("acme/api", view), token: token, header: map[string]string{"If-None-Match": tt.value}})
			if a.status != tt.want {
				t.Errorf("If-None-Match %q, %q: %d, want %d", tt.value, view, a.status, tt.want)
			}
			if got := a.header.Get("ETag"); got != `"`+sum+`"` {
				t.Errorf("If-None-Match %q: ETag %q", tt.value, got)
			}
			if got := a.header.Get(api.HeaderState); !strings.HasSuffix(got, ";1") || len(got) < 3 {
				t.Errorf("If-None-Match %q: %s %q", tt.value, api.HeaderState, got)
			}
			if a.status == 304 && (len(a.body) > 0 || a.header.Get("Content-Type") != "") {
				t.Errorf("a 304 has a body of %d bytes", len(a.body))
			}
		}
	}
	w.put(token, "acme/api", map[string]string{"a.md": "2"})
	a := w.do(request{path: memory("acme/api"), token: token, header: map[string]string{"If-None-Match": `"` + sum + `"`}})
	wantStatus(t, "after a change", a, 200, "")
}

func TestBaseIfMatch(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("acme/*", api.Writer)
	send := func(match, content string) answer {
		return w.do(request{
			method: http.MethodPut, path: memory("acme/api"), token: token,
			header: map[string]string{"If-Match": match}, body: jsonOf(t, map[string]any{"entries": map[string]string{"a.md": content}}),
		})
	}
	wantStatus(t, "If-Match * before the first write", send("*", "0"), 412, "precondition_failed")
	stale := w.put(token, "acme/api", map[string]string{"a.md": "0"}).Checksum.String()
	sum := w.put(token, "acme/api", map[string]string{"a.md": "1"}).Checksum.String()
	for i, spell := range []string{`"%s"`, `%s`, `W/"%s"`, `"x", "%s"`, "*"} {
		match := spell
		if strings.Contains(spell, "%s") {
			match = fmt.Sprintf(spell, sum)
		}
		a := send(match, fmt.Sprint("content ", i))
		wantStatus(t, match, a, 200, "")
		if a.status == 200 {
			sum = decodeAs[api.PushAnswer](t, a).Checksum.String()
		}
	}
	a := send(`"`+strings.TrimPrefix(sum, "sha256:")+`"`, "bare")
	wantStatus(t, "without the prefix", a, 200, "")
	sum = decodeAs[api.PushAnswer](t, a).Checksum.String()
	for _, match := range []string{`"` + stale + `"`, stale, `W/"` + stale + `"`, "nonsense", ""} {
		a := send(match, "stale")
		wantStatus(t, "If-Match "+match, a, 412, "precondition_failed")
		if got := a.header.Get("ETag"); got != `"`+sum+`"` {
			t.Errorf("a 412 shows ETag %q, want the current one", got)
		}
	}
	wantStatus(t, "a retry whose result holds", send(`"`+stale+`"`, "bare"), 200, "")
}

func TestBaseSoftDelete(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("acme/*", api.Maintainer)
	w.put(token, "acme/api", map[string]string{"a.md": "1", "b.md": "2"})
	for _, key := range []string{"a.md", "b.md"} {
		a := w.do(request{method: http.MethodPut, path: memory("acme/api"), token: token, body: jsonOf(t, map[string]any{"entries": map[string]string{}, "soft_delete_keys": []string{key}})})
		wantStatus(t, "retiring "+key, a, 200, "")
	}
	full := w.do(request{path: memory("acme/api"), token: token})
	wantStatus(t, "GET after the last key was retired", full, 200, "")
	got := decodeAs[struct{ Content json.RawMessage }](t, full)
	if want := `{"entries":{},"entryChecksums":{},"deletedEntries":{"a.md":2,"b.md":3}}`; string(got.Content) != want {
		t.Errorf("content = %s, want %s", got.Content, want)
	}
}

func TestBaseTooMuch(t *testing.T) {
	w := newWorld(t, options{core: func(o *core.Options) { o.MaxEntries = 3 }})
	token := w.token("acme/*", api.Writer)
	send := func(entries map[string]string) answer {
		return w.do(request{method: http.MethodPut, path: memory("acme/api"), token: token, body: jsonOf(t, map[string]any{"entries": entries})})
	}
	wantStatus(t, "an entry at the cap", send(map[string]string{"a": strings.Repeat("é", api.MaxEntryBytes/2)}), 200, "")
	large := strings.Repeat("é", api.MaxEntryBytes/2) + "!"
	a := send(map[string]string{"x": large, "y": large, "z": "small"})
	wantStatus(t, "entries over the cap", a, 413, "entry_too_large")
	details := decodeAs[api.ErrorBody](t, a).Error.Details
	if details.MaxBytes != api.MaxEntryBytes || len(details.Findings) != 2 || details.Findings[0].Key != "x" || details.Findings[1].Key != "y" {
		t.Errorf("details = %+v", details)
	}
	a = send(map[string]string{"b": "1", "c": "2", "d": "3"})
	wantStatus(t, "too many entries", a, 413, "team_memory_too_many_entries")
	var raw struct {
		Error struct{ Details json.RawMessage }
	}
	if err := json.Unmarshal(a.body, &raw); err != nil {
		t.Fatal(err)
	}
	if want := `{"error_code":"team_memory_too_many_entries","max_entries":3,"received_entries":4}`; string(raw.Error.Details) != want {
		t.Errorf("details = %s, want %s", raw.Error.Details, want)
	}
	filler := strings.Repeat(" ", api.MaxBodyBytes)
	a = w.do(request{method: http.MethodPut, path: memory("acme/api"), token: token, body: `{"entries":{}` + filler + `}`})
	wantStatus(t, "a body over the cap", a, 413, "body_too_large")
	a = w.do(request{method: http.MethodPut, path: memory("acme/api"), token: token, body: (`{"entries":{}` + filler)[:api.MaxBodyBytes-1] + `}`})
	wantStatus(t, "a body at the cap", a, 200, "")
}

func TestBaseSignIn(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("acme/*", api.Reader)
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer nonsense", "Basic " + token, token, "Bearer " + token + "x"} {
		a := w.do(request{path: memory("acme/api"), header: map[string]string{"Authorization": header}})
		wantStatus(t, header, a, 401, "signed_out")
		if !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("WWW-Authenticate = %q", a.header.Get("WWW-Authenticate"))
		}
	}
	a := w.do(request{path: memory("acme/api"), header: map[string]string{"Authorization": "bearer  " + token}})
	wantStatus(t, "the scheme in lower case", a, 404, "not_found")
	a = w.do(request{method: http.MethodPut, path: memory("acme/api"), token: token, body: `{"entries":{"a":"1"}}`})
	wantStatus(t, "PUT by a reader", a, 403, "forbidden")
	if decodeAs[api.ErrorBody](t, a).Error.Message == "" {
		t.Error("a 403 gives no reason")
	}
}

func TestBaseBadRequests(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Admin)
	tests := []struct {
		name, method, path, body string
		status                   int
		code                     string
	}{
		{"no repo", "GET", api.PathTeamMemory, "", 400, "repo_invalid"},
		{"empty repo", "GET", memory(""), "", 400, "repo_invalid"},
		{"dots in the repo", "GET", memory("acme/.."), "", 400, "repo_invalid"},
		{"one segment", "PUT", memory("acme"), `{"entries":{}}`, 400, "repo_invalid"},
		{"two repos", "GET", memory("acme/api", "repo=acme%2Fweb"), "", 400, "bad_request"},
		{"malformed query", "GET", api.PathTeamMemory + "?repo=%zz", "", 400, "bad_request"},
		{"semicolon", "GET", api.PathTeamMemory + "?repo=acme%2Fapi;view=hashes", "", 400, "bad_request"},
		{"unknown view", "GET", memory("acme/api", "view=x"), "", 400, "bad_request"},
		{"since", "GET", memory("acme/api", "since=-1"), "", 400, "bad_request"},
		{"wait", "GET", memory("acme/api", "wait=soon"), "", 400, "bad_request"},
		{"no body", "PUT", memory("acme/api"), "", 400, "bad_request"},
		{"no JSON", "PUT", memory("acme/api"), "<html>", 400, "bad_request"},
		{"cut JSON", "PUT", memory("acme/api"), `{"entries":{"a":"1"`, 400, "bad_request"},
		{"null", "PUT", memory("acme/api"), "null", 400, "bad_request"},
		{"array", "PUT", memory("acme/api"), "[]", 400, "bad_request"},
		{"trailing garbage", "PUT", memory("acme/api"), `{"entries":{}} x`, 400, "bad_request"},
		{"two objects", "PUT", memory("acme/api"), `{"entries":{}}{}`, 400, "bad_request"},
		{"wrong type", "PUT", memory("acme/api"), `{"entries":[]}`, 400, "bad_request"},
		{"null content", "PUT", memory("acme/api"), `{"entries":{"a":null}}`, 400, "bad_request"},
		{"null expectation", "PUT", memory("acme/api"), `{"entries":{"a":"1"},"expect":{"a":null}}`, 400, "bad_request"},
		{"null key", "PUT", memory("acme/api"), `{"soft_delete_keys":[null]}`, 400, "bad_request"},
		{"bytes that are not UTF-8 in a key", "PUT", memory("acme/api"), "{\"entries\":{\"a\xff\":\"1\"}}", 400, "bad_request"},
		{"bytes that are not UTF-8 in a content", "PUT", memory("acme/api"), "{\"entries\":{\"a\":\"\xff\"}}", 422, "refused"},
		{"half a pair", "PUT", memory("acme/api"), `{"entries":{"a":"\ud83d!"}}`, 422, "refused"},
		{"the other half", "PUT", memory("acme/api"), `{"entries":{"a":"\\\udE00"}}`, 422, "refused"},
		{"NUL", "PUT", memory("acme/api"), `{"entries":{"a":"\u0000"}}`, 422, "refused"},
		{"bad key", "PUT", memory("acme/api"), `{"entries":{"../a":"1"}}`, 422, "key_invalid"},
		{"HEAD", "HEAD", memory("acme/api"), "", 405, ""},
		{"OPTIONS", "OPTIONS", memory("acme/api"), "", 405, "method_not_allowed"},
		{"POST", "POST", memory("acme/api"), "{}", 405, "method_not_allowed"},
		{"DELETE", "DELETE", memory("acme/api"), "", 405, "method_not_allowed"},
		{"unknown path", "GET", "/api/claude_code/team_memory/", "", 404, "not_found"},
		{"root", "GET", "/", "", 404, "not_found"},
		{"unclean path", "GET", "//version", "", 404, "not_found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := w.do(request{method: tt.method, path: tt.path, token: token, body: tt.body})
			wantStatus(t, tt.name, a, tt.status, tt.code)
			if a.status == 405 && a.header.Get("Allow") != "GET, PUT" {
				t.Errorf("Allow = %q", a.header.Get("Allow"))
			}
		})
	}
	if a := w.do(request{path: memory("acme/api"), token: token}); a.status != 404 {
		t.Errorf("a refused write left something: %d %s", a.status, a.body)
	}
}

func TestBaseTolerates(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Writer)
	for _, body := range []string{
		`{}`, ` {"entries":{}} ` + "\n", `{"entries":null}`, `{"entries":{"a":"1"},"future":[1,{"x":null}]}`,
		`{"entries":{"a":"0","a":"1"}}`, `{"entries":{"a":"1"},"expect":{}}`, `{"entries":{"s":"\ud83d\ude00 \\ud83d \\\\"}}`,
	} {
		a := w.do(request{method: http.MethodPut, path: memory("Acme/API", "unknown=1"), token: token, body: body})
		wantStatus(t, body, a, 200, "")
	}
	full := decodeAs[api.FullAnswer](t, w.do(request{path: memory("acme/api"), token: token}))
	if diff := cmp.Diff(map[string]string{"a": "1", "s": "\U0001F600 \\ud83d \\\\"}, full.Content.Entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}
