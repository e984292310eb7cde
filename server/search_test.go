package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
)

func searchPath(repo, query string, more ...string) string {
	return api.PathSearch + "?" + strings.Join(append([]string{"repo=" + url.QueryEscape(repo), "q=" + url.QueryEscape(query)}, more...), "&")
}

func TestSearch(t *testing.T) {
	w := newWorld(t, options{})
	writer, reader := w.token("acme/*", api.Writer), w.token("acme/*", api.Reader)
	w.put(writer, "acme/api", entries{"ops/deploy.md": "# Deploy\n\nNever skip the <b>canary</b> step.\n", "zh.md": "不要跳过金丝雀步骤\n", "other.md": "nothing\n"})
	w.put(writer, "acme/web", entries{"ops/deploy.md": "the canary of the web\n"})
	a := w.do(request{path: searchPath("acme/api", "CANARY"), token: reader})
	wantStatus(t, "a search", a, http.StatusOK, "")
	got := decodeAs[api.SearchAnswer](t, a)
	if len(got.Results) != 1 || got.Results[0].Score <= 0 || got.Results[0].Modified.IsZero() {
		t.Fatalf("the answer is %s", a.body)
	}
	want := api.SearchResult{Key: "ops/deploy.md", Line: 3, Snippet: "Never skip the <b>canary</b> step.", Marks: [][2]int{{18, 24}}, Score: got.Results[0].Score, Modified: got.Results[0].Modified}
	if diff := cmp.Diff(want, got.Results[0]); diff != "" {
		t.Errorf("the result (-want +got):\n%s", diff)
	}
	if got.Version != 1 || got.Total != 1 || got.Searched != 3 || got.Match != "all" || got.Repo.String() != "acme/api" {
		t.Errorf("the answer is %s", a.body)
	}
	if a := w.do(request{path: searchPath("acme/api", "xyzzy"), token: reader}); !strings.Contains(string(a.body), `"results":[]`) {
		t.Errorf("without results: %s", a.body)
	}
	w.put(writer, "acme/api", entries{"new.md": "another canary\n"})
	if got := decodeAs[api.SearchAnswer](t, w.do(request{path: searchPath("acme/api", "canary"), token: reader})); got.Total != 2 || got.Version != 2 {
		t.Errorf("after a write: %+v", got)
	}
	if strings.Contains(w.logged.String(), "canary") {
		t.Error("the log has a text or a query")
	}
}

func TestSearchParameters(t *testing.T) {
	w := newWorld(t, options{})
	writer, reader := w.token("acme/*", api.Writer), w.token("acme/*", api.Reader)
	many := entries{}
	for i := range 150 {
		many[fmt.Sprintf("%03d.md", i)] = "the same"
	}
	w.put(writer, "acme/api", many)
	for more, want := range map[string]int{"": 20, "limit=0": 20, "limit=7": 7, "limit=100000": 100, "limit=100&offset=100": 50, "offset=1000": 0} {
		a := w.do(request{path: searchPath("acme/api", "same", more), token: reader})
		got := decodeAs[api.SearchAnswer](t, a)
		if a.status != http.StatusOK || len(got.Results) != want || got.Total != 150 {
			t.Errorf("%q: status %d, %d results of %d, want %d", more, a.status, len(got.Results), got.Total, want)
		}
	}
	for _, path := range []string{
		searchPath("acme/api", "same", "limit=x"), searchPath("acme/api", "same", "limit=-1"), searchPath("acme/api", "same", "offset=1001"),
		searchPath("acme/api", "same", "q=again"), searchPath("acme/api", ""), searchPath("acme/api", "-same"), searchPath("acme/api", "!!!"),
		searchPath("acme/api", strings.Repeat("x", 1001)), searchPath("acme/api", strings.Repeat("x ", 40)), api.PathSearch + "?repo=acme/api", searchPath("acme/api", "key:"),
	} {
		wantStatus(t, path, w.do(request{path: path, token: reader}), http.StatusBadRequest, "bad_request")
	}
	wantStatus(t, "no repo", w.do(request{path: api.PathSearch + "?q=x", token: reader}), http.StatusBadRequest, "repo_invalid")
	wantStatus(t, "POST", w.do(request{method: http.MethodPost, path: searchPath("acme/api", "x"), token: reader}), http.StatusMethodNotAllowed, "")
}

func TestSearchCostsRate(t *testing.T) {
	w := newWorld(t, options{server: func(o *server.Options) { o.Rate, o.Burst = 0.001, 3 }})
	writer, reader := w.token("acme/*", api.Writer), w.token("acme/*", api.Reader)
	w.put(writer, "acme/api", entries{"a.md": "x"})
	for range 3 {
		wantStatus(t, "within the rate", w.do(request{path: searchPath("acme/api", "x"), token: reader}), http.StatusOK, "")
	}
	wantStatus(t, "beyond the rate", w.do(request{path: searchPath("acme/api", "x"), token: reader}), http.StatusTooManyRequests, "rate_limited")
}

// FuzzSearch: whatever the query, the answer is JSON and no 5xx.
func FuzzSearch(f *testing.F) {
	for _, q := range []string{"a", `"a b" -c`, "key:** a", "日本", "%", "\x00", "-", strings.Repeat("a*", 600)} {
		f.Add("repo=acme/api&q=" + url.QueryEscape(q))
	}
	f.Add("repo=acme/api&q=a&limit=18446744073709551615&offset=3")
	w := newWorld(f, options{})
	token := w.token("*", api.Reader)
	w.put(w.token("*", api.Writer), "acme/api", entries{"a.md": "a b c", "日本.md": "日本語 \x1b[31m"})
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, api.PathSearch, nil)
		r.URL.RawQuery = query
		r.Header.Set("Authorization", "Bearer "+token)
		rec := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(rec, r)
		checkAnswer(t, rec)
	})
}
