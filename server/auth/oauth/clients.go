package oauth

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/teammem/teammemd/api"
)

// Client is a program that may ask for tokens. All are public: they have no
// secret, and PKCE or the device code stands in for it.
type Client struct {
	ID   string
	Name string // as people read it on the page that asks them
	// Redirects are the addresses that a browser may be sent back to, compared
	// letter by letter. One at http://127.0.0.1 or http://[::1] stands for any port
	// (RFC 8252, section 7.3).
	Redirects []string
	// Device says whether it may use the device grant.
	Device bool
}

// CLI is the command line.
var CLI = Client{
	ID: api.ClientCLI, Name: "teammemd on the command line", Device: true,
	Redirects: []string{"http://127.0.0.1/callback", "http://[::1]/callback"},
}

// allows reports whether a browser may be sent back to redirect.
func (c Client) allows(redirect string) bool {
	return slices.ContainsFunc(c.Redirects, func(registered string) bool {
		return registered == redirect || sameLoopback(registered, redirect)
	})
}

// sameLoopback reports whether two addresses on this machine differ only in
// their port.
func sameLoopback(registered, redirect string) bool {
	want, err := url.Parse(registered)
	if err != nil || !isLoopback(want) || want.Port() != "" {
		return false
	}
	got, err := url.Parse(redirect)
	if err != nil || !isLoopback(got) || got.Hostname() != want.Hostname() {
		return false
	}
	host := want.Host
	if port := got.Port(); port != "" {
		host += ":" + port
	}
	// Put together anew, nothing can hide in what was parsed away.
	return redirect == "http://"+host+want.EscapedPath() && !strings.ContainsAny(redirect, "?#@\\")
}

func isLoopback(u *url.URL) bool {
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsLoopback() && u.Scheme == "http"
}
