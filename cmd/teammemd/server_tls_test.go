package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
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
