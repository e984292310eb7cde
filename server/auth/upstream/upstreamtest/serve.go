package upstreamtest

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// serve lets mux answer until the test ends, and returns its URL. What mux does not
// know fails the test.
func serve(tb testing.TB, who string, mux *http.ServeMux) string {
	tb.Helper()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		tb.Errorf("%s was asked for %s %s", who, r.Method, r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
	})
	srv := httptest.NewServer(mux)
	tb.Cleanup(srv.Close)
	return srv.URL
}
