package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

func TestTokensAreKept(t *testing.T) {
	p := somePaths(t)
	c := config.CredentialsAt(p)
	one, other := repo(t, "acme/api"), repo(t, "acme/other")
	if _, err := c.Token("http://a", one); !errors.Is(err, api.ErrSignedOut) {
		t.Fatalf("with none: %v", err)
	}
	for _, save := range []struct {
		server string
		repo   api.Repo
		token  string
	}{{"http://a", one, "first"}, {"http://a/", one, " second\n"}, {"http://a", api.Repo{}, "any"}, {"https://b", one, "b-one"}} {
		if err := c.SaveToken(save.server, save.repo, save.token); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(server string, repo api.Repo, want string) {
		t.Helper()
		got, err := c.Token(server, repo)
		if got != want || (want == "") != errors.Is(err, api.ErrSignedOut) {
			t.Errorf("%s %s: got %q, %v; want %q", server, repo, got, err, want)
		}
	}
	expect("http://A:80/", one, "second")
	expect("http://a", other, "any")
	expect("https://b", one, "b-one")
	expect("https://b", other, "")
	if err := c.DropToken("http://a", one); err != nil {
		t.Fatal(err)
	}
	expect("http://a", one, "any")

	if runtime.GOOS != "windows" {
		st, err := os.Stat(p.Credentials())
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", st.Mode(), err)
		}
		err = filepath.WalkDir(p.StateDir, func(path string, d fs.DirEntry, err error) error {
			if st, _ := d.Info(); err == nil && st.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is open to others: %v", path, st.Mode())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestTokensSavedAtOnce(t *testing.T) {
	p := somePaths(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := config.CredentialsAt(p).SaveToken("http://a", repo(t, fmt.Sprintf("acme/r%d", i)), fmt.Sprintf("t%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 20 {
		got, err := config.CredentialsAt(p).Token("http://a", repo(t, fmt.Sprintf("acme/r%d", i)))
		if want := fmt.Sprintf("t%d", i); got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
}

func TestBrokenCredentials(t *testing.T) {
	secret := strings.Join([]string{"se", "cret"}, "")
	for _, text := range []string{"{", secret, `{"schema":3}`, `{}`, `{"schema":1,"tokens":"` + secret + `"}`} {
		p := somePaths(t)
		write(t, p.Credentials(), text)
		_, err := config.CredentialsAt(p).Token("http://a", repo(t, "acme/api"))
		if !errors.Is(err, api.ErrConfig) || strings.Contains(err.Error(), secret) {
			t.Errorf("reading %q: %v", text, err)
		}
		if err := config.CredentialsAt(p).SaveToken("http://a", repo(t, "acme/api"), "x"); !errors.Is(err, api.ErrConfig) {
			t.Errorf("saving over %q: %v", text, err)
		}
	}
}

func TestTokenFiles(t *testing.T) {
	dir := t.TempDir()
	secret := strings.Join([]string{"se", "cret"}, "")
	if got, err := config.ReadTokenFile(write(t, filepath.Join(dir, "ok"), "\n "+secret+"\r\n")); got != secret || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for name, text := range map[string]string{
		"empty": " \n", "two lines": secret + "\n" + secret, "binary": secret + "\x00", "not ASCII": secret + "é", "large": strings.Repeat(secret, 20_000),
	} {
		_, err := config.ReadTokenFile(write(t, filepath.Join(dir, name), text))
		if !errors.Is(err, api.ErrConfig) || strings.Contains(strings.ReplaceAll(err.Error(), dir, ""), secret) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := config.ReadTokenFile(filepath.Join(dir, "absent")); !errors.Is(err, api.ErrConfig) {
		t.Errorf("absent: %v", err)
	}
	for _, bad := range []string{"", "a b", "a\x7f"} {
		if err := config.CredentialsAt(somePaths(t)).SaveToken("http://a", api.Repo{}, bad); !errors.Is(err, api.ErrUsage) {
			t.Errorf("saving %q: %v", bad, err)
		}
	}
}

func TestTokenFor(t *testing.T) {
	p := somePaths(t)
	root := config.Root{Repo: repo(t, "acme/api"), Server: "http://a"}
	client := config.Client{}
	var signIn func() (string, string, error)
	expect := func(want, wantSource string) {
		t.Helper()
		token, source, err := config.TokenFor(p, client, root, signIn)
		if token != want || (err == nil) != (want != "") || err == nil && source != wantSource {
			t.Errorf("got %q from %s, %v; want %q from %s", token, source, err, want, wantSource)
		}
	}
	// Each step is stronger than those before it.
	expect("", "")
	client.TokenFile = write(t, filepath.Join(t.TempDir(), "general"), "t1\n")
	expect("t1", client.TokenFile)
	signIn = func() (string, string, error) { return "", "", fmt.Errorf("not here: %w", api.ErrSignedOut) }
	expect("t1", client.TokenFile)
	signIn = func() (string, string, error) { return "t1s", "signed in", nil }
	expect("t1s", "signed in")
	if err := config.CredentialsAt(p).SaveToken(root.Server, root.Repo, "t2"); err != nil {
		t.Fatal(err)
	}
	expect("t2", p.Credentials())
	root.TokenFile = write(t, filepath.Join(t.TempDir(), "own"), "t3\n")
	expect("t3", root.TokenFile)
	client.Token = "t4"
	expect("t4", "TEAMMEMD_TOKEN")
	client.Server = "http://A/"
	expect("t4", "TEAMMEMD_TOKEN")

	// What is meant for one server goes to no other.
	client.Server = "http://elsewhere"
	expect("t3", root.TokenFile)
	root.TokenFile = ""
	expect("t2", p.Credentials())
	if err := config.CredentialsAt(p).DropToken(root.Server, root.Repo); err != nil {
		t.Fatal(err)
	}
	expect("t1s", "signed in")
	signIn = nil
	expect("", "")
}
