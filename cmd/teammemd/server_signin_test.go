package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// postForm sends a form and returns status and body.
func postForm(t *testing.T, client *http.Client, to string, form url.Values) (int, string) {
	t.Helper()
	resp, err := client.PostForm(to, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// TestSignInWithAJoinCode is a small team's whole way: a join code, a device, a
// write, a refresh, and the end.
func TestSignInWithAJoinCode(t *testing.T) {
	data := t.TempDir()
	maintainer := token(t, data, api.Maintainer, "acme/*")
	p := startServer(t, "--data", data)
	var code api.JoinCodeAnswer
	if got := p.ask(http.MethodPost, api.PathJoinCodes, maintainer, `{"repo":"acme/api"}`); json.Unmarshal([]byte(got.body), &code) != nil {
		t.Fatalf("join code: %d %s", got.status, got.body)
	}
	config := &oauth2.Config{ClientID: api.ClientCLI, Endpoint: oauth2.Endpoint{
		TokenURL: p.url + api.PathToken, DeviceAuthURL: p.url + api.PathDeviceCode, AuthStyle: oauth2.AuthStyleInParams,
	}}
	device, err := config.DeviceAuth(t.Context(), oauth2.SetAuthURLParam("device", "laptop"))
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	for _, step := range []struct {
		path string
		form url.Values
		want string
	}{
		{api.PathSignIn, url.Values{"provider": {"local"}, "join_code": {code.Code}, "name": {"Ada"}, "next": {"/device?user_code=" + device.UserCode}}, "laptop"},
		{api.PathDevice, url.Values{"user_code": {device.UserCode}, "action": {"approve"}}, "Your device goes on"},
	} {
		if status, body := postForm(t, browser, p.url+step.path, step.form); status != 200 || !strings.Contains(body, step.want) {
			t.Fatalf("%s: %d %s", step.path, status, body)
		}
	}
	device.Interval = 1
	signedIn, err := config.DeviceAccessToken(t.Context(), device)
	if err != nil {
		t.Fatal(err)
	}
	me := p.ask(http.MethodGet, api.PathWhoAmI, signedIn.AccessToken, "")
	if me.status != 200 || !strings.Contains(me.body, `"login":"Ada"`) {
		t.Errorf("who am I: %d %s", me.status, me.body)
	}
	if got := p.ask(http.MethodPut, memoryPath("acme/api"), signedIn.AccessToken, entry(t, "a.md", "text")); got.status != 200 {
		t.Errorf("writing: %d %s", got.status, got.body)
	}
	if got := p.ask(http.MethodGet, memoryPath("acme/web"), signedIn.AccessToken, ""); got.status != 404 {
		t.Errorf("another repo: %d %s", got.status, got.body)
	}
	if got := p.ask(http.MethodGet, api.PathVersion, "", ""); !strings.Contains(got.body, `"sign-in"`) {
		t.Errorf("features: %s", got.body)
	}
	if status, body := postForm(t, browser, p.url+api.PathRevoke, url.Values{"client_id": {api.ClientCLI}, "token": {signedIn.RefreshToken}}); status != 200 {
		t.Errorf("signing out: %d %s", status, body)
	}
	if got := p.ask(http.MethodGet, api.PathWhoAmI, signedIn.AccessToken, ""); got.status != 401 {
		t.Errorf("after signing out: %d %s", got.status, got.body)
	}
	if _, err := os.Stat(filepath.Join(data, signInKey)); err == nil {
		t.Error("a key was made that nothing needs")
	}
	p.stop()
	wantAudited(t, data, store.ActionJoin, store.ActionSignIn, store.ActionSignOut)
}

// wantAudited checks that the server's own chain names these actions, by who
// signed in.
func wantAudited(t *testing.T, data string, actions ...string) {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows, err := s.Trail(t.Context(), api.Repo{}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range actions {
		if !slices.ContainsFunc(rows, func(r store.AuditRow) bool { return r.Action == action && r.Actor.User != "" }) {
			t.Errorf("the audit has no %s: %+v", action, rows)
		}
	}
}

// TestSignInIsConfigured starts with a forge, changes it while it runs, and
// refuses what cannot be.
func TestSignInIsConfigured(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	text := "[sign_in]\nurl = \"http://127.0.0.1:1\"\nlocal = false\n[sign_in.forge]\nkind = \"github\"\nclient_id = \"%s\"\n"
	file := write(t, dir, "server.toml", fmt.Sprintf(text, "first"))
	p := startServer(t, "--data", data, "--config", file)
	begin := func() string {
		_, body := postForm(t, http.DefaultClient, p.url+api.PathSignIn, url.Values{"provider": {"forge"}})
		return body
	}
	if body := begin(); !strings.Contains(body, "https://github.com/login/oauth/authorize?client_id=first&") {
		t.Errorf("the way to the forge: %s", body)
	}
	if info, err := os.Stat(filepath.Join(data, signInKey)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	write(t, dir, "server.toml", fmt.Sprintf(text, "second"))
	p.signal(syscall.SIGHUP)
	p.log.await(t, "configuration reloaded", 1)
	if body := begin(); !strings.Contains(body, "client_id=second&") {
		t.Errorf("after a reload: %s", body)
	}
	p.stop()
	if err := os.Chmod(filepath.Join(data, signInKey), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, talk, code := run(t, "server", "--listen", "127.0.0.1:0", "--data", data, "--config", file); code != api.ExitConfig || !strings.Contains(talk, "chmod 600") {
		t.Errorf("a key that others may read: exit %d, %q, %q", code, out, talk)
	}
}
