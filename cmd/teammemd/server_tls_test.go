package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

// writeCertificate makes a certificate for the loopback address and returns the
// lines that name it in a configuration.
func writeCertificate(t *testing.T, dir string, serial int64) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: "localhost"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
	write(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	return "tls_cert = '" + filepath.Join(dir, "cert.pem") + "'\ntls_key = '" + filepath.Join(dir, "key.pem") + "'\n"
}

// serial returns the number of the certificate that a new connection sees.
func (p *process) serial() int64 {
	p.t.Helper()
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := d.DialContext(p.t.Context(), "tcp", strings.TrimPrefix(p.url, "https://"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// TestTLS serves with a certificate, renews it, and keeps it when the next one
// is broken.
func TestTLS(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	file := write(t, dir, "server.toml", writeCertificate(t, dir, 1))
	p := startServer(t, "--data", data, "--config", file)
	if !strings.HasPrefix(p.url, "https://127.0.0.1:") || p.serial() != 1 {
		t.Errorf("%s with certificate %d", p.url, p.serial())
	}
	addr := strings.TrimPrefix(p.url, "https://")
	if _, talk, code := run(t, "server", "healthcheck", "--config", file, "--listen", addr); code != 0 {
		t.Errorf("healthcheck: exit %d: %s", code, talk)
	}
	resp, err := http.Get("http://" + addr + api.PathReady)
	if err == nil {
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			t.Error("the server answers without TLS")
		}
	}
	writeCertificate(t, dir, 2)
	p.signal(syscall.SIGHUP)
	p.log.await(t, "configuration reloaded", 1)
	if got := p.serial(); got != 2 {
		t.Errorf("certificate %d after a renewal", got)
	}
	write(t, dir, "cert.pem", "nothing")
	p.signal(syscall.SIGHUP)
	p.log.await(t, "configuration was not reloaded", 1)
	if got := p.serial(); got != 2 {
		t.Errorf("certificate %d after a broken one", got)
	}
	p.stop()
}

// TestTLSMayBeReached listens beyond loopback, as TLS allows.
func TestTLSMayBeReached(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--data", t.TempDir(), "--config", write(t, dir, "server.toml", writeCertificate(t, dir, 1)), "--listen", "0.0.0.0:0")
	if !strings.HasPrefix(p.url, "https://0.0.0.0:") && !strings.HasPrefix(p.url, "https://[::]:") {
		t.Errorf("listening %s", p.url)
	}
	p.stop()
}

// TestCertificateIsWatched renews the files without a word to the server.
func TestCertificateIsWatched(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "server.toml", writeCertificate(t, dir, 1))
	loaded, err := config.LoadServer(config.Input{File: file})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var logged bytes.Buffer
		var c certificate
		if err := c.load(loaded.Config); err != nil {
			t.Fatal(err)
		}
		go c.watch(ctx, slog.New(slog.NewTextHandler(&logged, nil)))
		look := func() int64 {
			<-time.After(certificateEvery)
			synctest.Wait()
			return c.current.Load().Leaf.SerialNumber.Int64()
		}
		if got := look(); got != 1 {
			t.Errorf("certificate %d at first", got)
		}
		writeCertificate(t, dir, 2)
		if got := look(); got != 2 {
			t.Errorf("certificate %d after a renewal", got)
		}
		whole, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, "cert.pem", "half")
		for range 3 {
			if got := look(); got != 2 {
				t.Errorf("certificate %d after a broken one", got)
			}
		}
		if got := strings.Count(logged.String(), "cannot be used"); got != 1 {
			t.Errorf("a broken one is told %d times", got)
		}
		write(t, dir, "cert.pem", string(whole))
		look()
		writeCertificate(t, dir, 3)
		if got := look(); got != 3 {
			t.Errorf("certificate %d in the end", got)
		}
		cancel()
		synctest.Wait()
	})
}
