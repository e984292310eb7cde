package server

import (
	"net/http"
	"net/netip"

	"github.com/teammem/teammemd/api"
)

// signIn lets the authorization server answer.
func (c *call) signIn() error {
	if c.o.SignIn == nil {
		return api.Errorf(api.ErrNotFound, "nobody signs in at this server")
	}
	c.o.SignIn.ServeHTTP(&statusWriter{ResponseWriter: c.w, call: c}, c.r)
	return nil
}

// statusWriter notes the status of an answer that is not ours.
type statusWriter struct {
	http.ResponseWriter

	call *call
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	if w.call.status == 0 {
		w.call.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// AddressOf returns a function that says whom a request counts against: the last
// address that no trusted proxy vouches for, a whole /64 in IPv6.
func AddressOf(proxies []netip.Prefix) func(*http.Request) string {
	return newAddressLimits(proxies).client
}
