package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// signIn puts a person into a store, with a write of theirs, as a sign-in and a
// PUT would.
func signIn(t *testing.T, data, login, person string) (id string) {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: data, Serve: true})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	u, err := s.SaveUser(t.Context(), store.User{ID: "id-of-" + login, Issuer: "https://id.example.com", Subject: "7-" + login, Login: login, Name: person, CreatedAt: now, SeenAt: now})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := api.ParseRepo("acme/api")
	if err != nil {
		t.Fatal(err)
	}
	key, err := api.ParseKey(login + ".md")
	if err != nil {
		t.Fatal(err)
	}
	change := store.Change{
		At: now, Actor: api.Actor{User: u.ID, Person: person, Device: "device-of-" + login},
		Puts: []store.Put{{Key: key, Content: "text of " + login, Sum: api.SumString("text of " + login)}},
	}
	if _, err := s.Update(t.Context(), repo, func(store.Tx) (store.Change, error) { return change, nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return u.ID
}

func admin(t *testing.T, data string, want int, args ...string) (out, talk string) {
	t.Helper()
	out, talk, code := run(t, append([]string{"server", "admin", "user"}, append(args, "--data", data)...)...)
	if code != want {
		t.Fatalf("%v: exit %d, want %d: %s%s", args, code, want, out, talk)
	}
	return out, talk
}

func TestAdminUsers(t *testing.T) {
	data := t.TempDir()
	secret := token(t, data, api.Maintainer, "*")
	ada := signIn(t, data, "ada-login", "Ada of Example")
	signIn(t, data, "ben-login", "Ben of Example")
	if out, _ := admin(t, data, 0, "list"); !strings.Contains(out, ada) || !strings.Contains(out, "ben-login") || strings.Count(out, "\n") != 3 {
		t.Errorf("list: %q", out)
	}
	var exported struct {
		User userRow  `json:"user"`
		Acts []actRow `json:"acts"`

		Devices []deviceRow `json:"devices"`
	}
	out, _ := admin(t, data, 0, "export", "ada-login")
	if err := json.Unmarshal([]byte(out), &exported); err != nil || exported.User.ID != ada || strings.Contains(out, "ben-login") || strings.Contains(out, "text of") {
		t.Errorf("export: %v in %s", err, out)
	}
	puts := 0
	for _, act := range exported.Acts {
		if act.Action == "put" && act.Key == "ada-login.md" && act.Repo == "acme/api" && act.Version == 1 {
			puts++
		}
	}
	if puts != 1 {
		t.Errorf("the write is told %d times: %s", puts, out)
	}
	admin(t, data, api.ExitUsage, "erase", ada)
	admin(t, data, api.ExitUsage, "erase", "--yes")
	admin(t, data, api.ExitUsage, "export")
	admin(t, data, api.ExitFailure, "erase", "nobody", "--yes")
	if out, _ := admin(t, data, 0, "erase", "ada-login", "--yes"); !strings.Contains(out, "1 names") {
		t.Errorf("erase: %q", out)
	}
	if out, _ := admin(t, data, 0, "list"); strings.Contains(out, "ada-login") || !strings.Contains(out, "ben-login") {
		t.Errorf("list after it: %q", out)
	}
	if out, talk, code := run(t, "server", "fsck", "--data", data); code != 0 {
		t.Errorf("fsck: %s%s", out, talk)
	}
	files, err := os.ReadDir(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(filepath.Join(data, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Ada of Example", "device-of-ada-login"} {
			if bytes.Contains(raw, []byte(name)) {
				t.Errorf("%s has %q", file.Name(), name)
			}
		}
	}
	p := startServer(t, "--data", data)
	history := p.ask(http.MethodGet, api.PathHistory+"?repo=acme%2Fapi", secret, "").body
	if strings.Contains(history, "Ada") || !strings.Contains(history, "Ben of Example") || !strings.Contains(history, "ada-login.md") {
		t.Errorf("history: %s", history)
	}
	if got := p.ask(http.MethodGet, memoryPath("acme/api"), secret, "").body; !strings.Contains(got, "text of ada-login") {
		t.Errorf("their texts: %s", got)
	}
	// Beside a server, looking is the verb's and erasing the server's. Somebody without
	// an account is known by what clients said.
	admin(t, data, 0, "list")
	if out, _ := admin(t, data, 0, "erase", "--person", "Ben of Example", "--yes", "--json"); !strings.Contains(out, `"actors":1`) {
		t.Errorf("erase --person: %q", out)
	}
	if history := p.ask(http.MethodGet, api.PathHistory+"?repo=acme%2Fapi", secret, "").body; strings.Contains(history, "Ben of Example") {
		t.Errorf("the server that erased them still says: %s", history)
	}
	p.stop()
}
