package server_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
)

// Over TLS the same doors speak HTTP/2, streams included.
func TestTLS(t *testing.T) {
	lender := httptest.NewTLSServer(http.NotFoundHandler()) // has a certificate, and a client that trusts it
	defer lender.Close()
	w := newWorld(t, options{server: func(o *server.Options) {
		o.TLS = &tls.Config{Certificates: lender.TLS.Certificates, MinVersion: tls.VersionTLS12}
	}})
	w.url = strings.Replace(w.url, "http://", "https://", 1)
	trusting := lender.Client().Transport.(*http.Transport).Clone()
	trusting.ForceAttemptHTTP2 = true
	w.client = &http.Client{Transport: trusting}
	defer w.client.CloseIdleConnections()

	token := w.token("*", api.Writer)
	l := w.listen(t, token, "a/b")
	l.notice()
	w.put(token, "a/b", entries{"k": "1"})
	if _, n := l.notice(); n.Version != 1 {
		t.Errorf("the stream says %+v", n)
	}
	res, err := w.client.Get(w.url + api.PathVersion)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.ProtoMajor != 2 {
		t.Errorf("protocol %s, want HTTP/2", res.Proto)
	}
	go func() { _ = w.stop() }()
	l.rest()
}
