package tests

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/scanner/samples"
)

// TestTokensStaySecret looks for tokens and join codes where they must not be:
// in what is printed and logged, and in the server's data.
func TestTokensStaySecret(t *testing.T) {
	t.Parallel()
	c := newCompanion(t, "-v")
	admin := newMachine(t, "admin")
	secret := strings.TrimSpace(admin.ok("server", "token", "create", "--name", "ada", "--repo", team, "--role", "maintainer", "--data", c.data).stdout)
	m := newFastMachine(t, "ada")
	m.enroll(c.url, secret, team)
	m.write("note.md", "text\n")
	m.ok("sync", "-v")
	daemon := m.daemon("-v")
	m.ok("status", "-v")
	m.ok("sync", "--json")
	daemon.stop()
	m.ok("config", "show")
	m.ok("config", "show", "--json")
	m.ok("history", "note.md", "-v")
	m.extra = []string{"TEAMMEMD_TOKEN=" + secret, "TEAMMEMD_URL=" + c.url}
	m.ok("config", "show")
	m.ok("config", "show", "--json")
	m.extra = nil
	c.ok("server", "token", "list", "--data", c.data)
	c.ok("server", "token", "list", "--data", c.data, "--json")
	put(t, filepath.Join(m.home, "token"), secret+"\nand more\n")
	m.run("sync") // a token file that is none
	places := searched{"what the client printed": m.spoken(), "what the server printed": c.spoken()}
	places.addFiles(t, c.home, "")
	places.mustLack(t, []planted{{rule: "token", value: secret}})

	dir := admin.checkout("api", "git@github.com:acme/api.git")
	t.Cleanup(admin.endDetached)
	o := admin.runIn(dir, "up", "--detach", "--listen", "127.0.0.1:0")
	_, code := invited(t, o.stdout)
	data := searched{}
	data.addFiles(t, admin.xdg("data"), "")
	for where, text := range data {
		for _, form := range []string{code, strings.ReplaceAll(code, "-", "")} {
			if strings.Contains(string(text), form) {
				t.Errorf("%s: the join code is there", where)
			}
		}
	}
}

// TestPrivateFiles works under a mask that hides nothing: what the program keeps
// is for its user alone all the same.
func TestPrivateFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: no permission bits")
	}
	m := newFastMachine(t, "ada")
	open := filepath.Join(m.home, "unmasked")
	if err := os.WriteFile(open, []byte("#!/bin/sh\numask 0\nexec "+m.bin+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.bin = open
	dir := m.checkout("api", "git@github.com:acme/api.git")
	family, _ := samples.Find("npm-access-token")
	put(t, filepath.Join(m.claudeTeam(dir), "note.md"), "text\n")
	put(t, filepath.Join(m.claudeTeam(dir), "held.md"), "it is "+family.Sample()+" now\n")
	t.Cleanup(m.endDetached)
	if o := m.runIn(dir, "up", "--detach", "--listen", "127.0.0.1:0"); o.code != 3 {
		t.Fatalf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	url, code := invited(t, m.runIn(dir, "up").stdout)
	ben := newFastMachine(t, "ben")
	his := ben.checkout("api", "git@github.com:acme/api.git")
	ben.runIn(his, "join", url, "--code", code)
	put(t, filepath.Join(ben.claudeTeam(his), "note.md"), "ben's\n")
	put(t, filepath.Join(m.claudeTeam(dir), "note.md"), "ada's\n")
	put(t, filepath.Join(ben.claudeTeam(his), "new.md"), "ben's\n")
	await(t, 20*time.Second, "the daemon to push", func() bool { r := m.status(); return r.Pending == 0 && r.Version > 1 })
	ben.runIn(his, "sync")
	m.run("scan", m.claudeTeam(dir))
	m.ok("conflicts", "list")
	checked := 0
	for _, top := range []string{m.xdg("state"), m.xdg("data"), m.xdg("config"), m.xdg("run")} {
		err := filepath.WalkDir(filepath.Join(top, "teammemd"), func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			checked++
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is %s: others may look", strings.TrimPrefix(name, m.home), info.Mode())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if checked < 12 {
		t.Errorf("only %d files and directories were there to check", checked)
	}
}

// certificateFor makes a self-signed certificate for 127.0.0.1.
func certificateFor(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	put(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	put(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE " + "KEY", Bytes: bytes})))
	return cert, key
}

// TestTLS listens beyond loopback with a certificate: clients who trust it work,
// those who do not send no token.
func TestTLS(t *testing.T) {
	t.Parallel()
	c := &companion{machine: newMachine(t, "server")}
	c.data = filepath.Join(c.home, "data")
	cert, key := certificateFor(t, c.home)
	put(t, filepath.Join(c.home, "server.toml"), fmt.Sprintf("tls_cert = %q\ntls_key = %q\n", cert, key))
	c.up("0.0.0.0:0", "--config", filepath.Join(c.home, "server.toml"))
	if !strings.HasPrefix(c.url, "https://") {
		t.Fatalf("listening on %s, want https", c.url)
	}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(c.url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	url := "https://127.0.0.1:" + port
	m := newFastMachine(t, "ada")
	m.enroll(url, c.token("ada", team, "writer"), team)
	m.write("note.md", "text\n")
	complains(t, m.run("sync"), 75, "certificate")
	m.extra = []string{"SSL_CERT_FILE=" + cert}
	if r := m.sync(0); r.Sent != 1 {
		t.Errorf("sent %d, want 1", r.Sent)
	}
	plainly := newFastMachine(t, "ben")
	plainly.enroll("http://127.0.0.1:"+port, c.token("ben", team, "writer"), team)
	if o := plainly.run("sync"); o.code != 75 && o.code != 1 {
		t.Errorf("plain HTTP to a server with TLS: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// TestGracefulStop stops a server under a load of writes: what was answered 200
// is there after the next start, and no answer is torn.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	c := newCompanion(t)
	token := c.token("raw", "acme/*", "writer")
	var accepted sync.Map
	var stopping atomic.Bool
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for n := 0; ; n++ {
				key, text := fmt.Sprintf("w%d/%04d.md", i, n), fmt.Sprintf("write %d of %d\n%s", n, i, sized(2000))
				a, err := try(http.MethodPut, c.url+"/api/claude_code/team_memory?repo=acme%2Fapi", token, fmt.Sprintf(`{"entries":{%q:%q}}`, key, text))
				switch {
				case err == nil && a.status == http.StatusOK:
					accepted.Store(key, text)
				case err != nil && stopping.Load():
					return
				case err == nil && (a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests):
					return
				default:
					t.Errorf("a write: status %d, %v", a.status, err)
					return
				}
			}
		})
	}
	await(t, time.Minute, "some writes to be accepted", func() bool {
		n := 0
		accepted.Range(func(any, any) bool { n++; return true })
		return n >= 50
	})
	stopping.Store(true)
	if code := c.stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	writers.Wait()
	c.again()
	full, _ := c.get(token, team)
	total := 0
	accepted.Range(func(key, text any) bool {
		total++
		if full.Content.Entries[key.(string)] != text.(string) {
			t.Errorf("%s was accepted and is not there", key)
		}
		return true
	})
	t.Logf("%d writes accepted before the stop", total)
}

// try is call for a server that may be gone.
func try(method, address, token, body string) (answer, error) {
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := bare.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	var text [512]byte
	_, _ = resp.Body.Read(text[:])
	return answer{status: resp.StatusCode}, nil
}
