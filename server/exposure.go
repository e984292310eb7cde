package server

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/teammem/teammemd/api"
)

// ParseProxies reads addresses and networks ("10.0.0.1", "10.0.0.0/8"). The
// error wraps [api.ErrConfig].
func ParseProxies(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range list {
		prefix, err := netip.ParsePrefix(s)
		if err != nil {
			addr, addrErr := netip.ParseAddr(s)
			if addrErr != nil {
				return nil, fmt.Errorf("%w: trusted_proxies: %q is neither an address nor a network", api.ErrConfig, s)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		out = append(out, prefix.Masked())
	}
	return out, nil
}

// CheckExposure refuses to let tokens travel in the clear: a listen address
// beyond loopback needs TLS here, or proxies that bring it. addr is host:port
// as for [net.Listen]; the error wraps [api.ErrConfig] and says what to do.
func CheckExposure(addr string, hasTLS bool, trustedProxies []netip.Prefix) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%w: listen address %q is not host:port", api.ErrConfig, addr)
	}
	if hasTLS || len(trustedProxies) > 0 || isLoopback(host) {
		return nil
	}
	return fmt.Errorf("%w: %s is reachable from other machines, and tokens would travel in the clear; "+
		"set tls_cert and tls_key, or set trusted_proxies to the proxy that brings TLS, or listen on 127.0.0.1", api.ErrConfig, addr)
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
