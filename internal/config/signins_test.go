package config_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

func TestSignInsAreKept(t *testing.T) {
	p := somePaths(t)
	c := config.CredentialsAt(p)
	if err := c.SaveToken("http://a", repo(t, "acme/api"), "joined"); err != nil {
		t.Fatal(err)
	}
	schema := func(want string) {
		t.Helper()
		text, err := os.ReadFile(p.Credentials())
		if err != nil || !strings.Contains(string(text), `"schema": `+want) {
			t.Errorf("the file is not of schema %s: %v", want, err)
		}
	}
	schema("1")
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	want := config.Login{Server: "http://a", Serial: 3, Secrets: config.Secrets{Access: "x", Refresh: "y", Expires: at}}
	pending := config.Pending{Server: "http://a", DeviceCode: "d", UserCode: "BCDF-GHJK", URI: "http://a/device", Interval: 5, Expires: at}
	put := func(k *config.Kept) error { k.SignIn, k.Pending = &want, &pending; return nil }
	if err := c.Change("HTTP://A:80/", put); err != nil {
		t.Fatal(err)
	}
	schema("2")
	kept, err := c.Kept("http://a")
	if diff := cmp.Diff(config.Kept{SignIn: &want, Pending: &pending, Tokens: map[string]string{"acme/api": "joined"}}, kept); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if other, err := c.Kept("http://b"); err != nil || other.SignIn != nil || other.Pending != nil || len(other.Tokens) > 0 {
		t.Errorf("another server has %+v, %v", other, err)
	}
	if err := c.SaveToken("http://b", api.Repo{}, "other"); err != nil {
		t.Fatal(err)
	}
	servers, err := c.Servers()
	if diff := cmp.Diff([]string{"http://a", "http://b"}, servers); err != nil || diff != "" {
		t.Error(err, diff)
	}

	// An edit that fails changes nothing, one that empties leaves other servers.
	stop := errors.New("stop")
	if err := c.Change("http://a", func(k *config.Kept) error { *k = config.Kept{}; return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if kept, err := c.Kept("http://a"); err != nil || kept.SignIn == nil {
		t.Errorf("a failed edit: %+v, %v", kept, err)
	}
	if err := c.Change("http://a", func(k *config.Kept) error { *k = config.Kept{}; return nil }); err != nil {
		t.Fatal(err)
	}
	schema("1")
	if servers, err := c.Servers(); err != nil || len(servers) != 1 || servers[0] != "http://b" {
		t.Errorf("left: %v, %v", servers, err)
	}
	if c.RenewalLock("http://a") == c.RenewalLock("http://b") || c.RenewalLock("http://a") == p.Credentials()+".lock" {
		t.Error("two locks are one")
	}
}
