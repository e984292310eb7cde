package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
)

// TestLoginWhereThereIsNone: servers without sign-in are told in one line, with
// what to do instead.
func TestLoginWhereThereIsNone(t *testing.T) {
	t.Parallel()
	for what, handler := range map[string]http.HandlerFunc{
		"an older one": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"name":"teammemd","version":"1","protocol":1,"features":["events"]}`))
		},
		"a base server": http.NotFound,
	} {
		srv := httptest.NewServer(handler)
		t.Cleanup(srv.Close)
		out, talk, code := run(t, "login", srv.URL, "--no-wait")
		lines := strings.Split(strings.TrimSuffix(talk, "\n"), "\n")
		if code != api.ExitUsage || out != "" || len(lines) != 2 || lines[0] != "teammemd: "+srv.URL+" has no sign-in for people" ||
			!strings.HasPrefix(lines[1], "hint: ask its maintainer for a join code or a token") {
			t.Errorf("%s: exit %d, %q, %q", what, code, out, talk)
		}
	}
}
