package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

// certificateEvery is the interval at which the files of the certificate are
// looked at: those who renew it need not know of this server.
const certificateEvery = 10 * time.Second

// certificate is the one that connections are answered with. It can be replaced
// while they come in.
type certificate struct {
	current atomic.Pointer[tls.Certificate]

	mu        sync.Mutex  // guards what follows, and is held while files are read
	cert, key string      // files
	seen      [2][32]byte // SHA-256 of the files when they were last taken
}

// digestOf tells one content of a file from the next, also where times are coarse;
// zero for one that cannot be read, which may be there again at the next look.
func digestOf(file string) [32]byte {
	raw, err := os.ReadFile(file)
	if err != nil {
		return [32]byte{}
	}
	return sha256.Sum256(raw)
}

// load takes the certificate that c names; where that fails the one in use
// stays. The error wraps [api.ErrConfig].
func (c *certificate) load(from config.Server) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read(from.TLSCert, from.TLSKey)
}

// read reads both files; c.mu is held. The digests are taken first: what changes
// meanwhile is read again.
func (c *certificate) read(cert, key string) error {
	seen := [2][32]byte{digestOf(cert), digestOf(key)}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%w: reading tls_cert and tls_key: %w", api.ErrConfig, err)
	}
	c.current.Store(&pair)
	c.cert, c.key, c.seen = cert, key, seen
	return nil
}

// refresh reads the files again if they are not those that were read last.
func (c *certificate) refresh() (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := [2][32]byte{digestOf(c.cert), digestOf(c.key)}
	if now == c.seen {
		return false, nil
	}
	if err := c.read(c.cert, c.key); err != nil {
		return false, err
	}
	return true, nil
}

// watch takes a renewed certificate by itself, until ctx ends. A broken one, or
// half of a pair, is tried again at each look, and told once.
func (c *certificate) watch(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(certificateEvery)
	defer ticker.Stop()
	told := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		changed, err := c.refresh()
		if err != nil && !told {
			log.ErrorContext(ctx, "renewed certificate cannot be used, the old one stays", "error", oneLine(err.Error()))
		}
		told = err != nil
		if changed {
			log.InfoContext(ctx, "certificate renewed", "ends", c.end().UTC())
		}
	}
}

// end is when the certificate stops being valid.
func (c *certificate) end() time.Time {
	if pair := c.current.Load(); pair != nil && pair.Leaf != nil {
		return pair.Leaf.NotAfter
	}
	return time.Time{}
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
