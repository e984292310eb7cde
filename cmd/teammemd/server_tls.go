package main

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

// certificate is the one that connections are answered with. It can be replaced
// while they come in.
type certificate struct {
	current atomic.Pointer[tls.Certificate]
}

// readCertificate reads the files that c names. The error wraps [api.ErrConfig].
func readCertificate(c config.Server) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("%w: reading tls_cert and tls_key: %w", api.ErrConfig, err)
	}
	return &pair, nil
}

// config returns what a listener needs.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.current.Load(), nil
		},
	}
}
