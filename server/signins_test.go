package server_test

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// signInsOf lists what a token sees.
func (c *town) signInsOf(token, query string) []api.SignIn {
	c.t.Helper()
	a := c.do(request{path: api.PathSignIns + query, token: token})
	wantStatus(c.t, "sign-ins"+query, a, 200, "")
	return decodeAs[api.SignInsAnswer](c.t, a).SignIns
}

// signOuts lists what the server's chain says of ended sign-ins.
func (c *town) signOuts() (rows []store.AuditRow) {
	c.t.Helper()
	trail, err := c.backend.Trail(context.Background(), api.Repo{}, 0, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	return slices.DeleteFunc(trail, func(r store.AuditRow) bool { return r.Action != store.ActionSignOut })
}

// TestOwnSignIns: people see and end their own sign-ins, and nobody else's.
func TestOwnSignIns(t *testing.T) {
	c := newTown(t, "", options{})
	ada, phone, bob := c.signIn("ada"), c.signIn("ada"), c.signIn("bob")
	list := c.signInsOf(ada, "")
	if len(list) != 2 || list[0].Current == list[1].Current || list[0].Login != "ada" || list[0].ExpiresAt.IsZero() || list[0].UsedAt.IsZero() {
		t.Fatalf("ada's: %+v", list)
	}
	other := list[0]
	if other.Current {
		other = list[1]
	}
	wantStatus(t, "bob ends ada's", c.do(request{method: http.MethodDelete, path: api.PathSignIns + "?id=" + other.ID, token: bob}), 404, "not_found")
	wantStatus(t, "one", c.do(request{method: http.MethodDelete, path: api.PathSignIns + "?id=" + other.ID, token: ada}), 200, "")
	wantStatus(t, "the one that ended", c.do(request{path: api.PathWhoAmI, token: phone}), 401, "")
	wantStatus(t, "again", c.do(request{method: http.MethodDelete, path: api.PathSignIns + "?id=" + other.ID, token: ada}), 404, "not_found")
	third := c.signIn("ada")
	wantStatus(t, "the others", c.do(request{method: http.MethodDelete, path: api.PathSignIns + "?id=others", token: ada}), 200, "")
	wantStatus(t, "an other one", c.do(request{path: api.PathWhoAmI, token: third}), 401, "")
	wantStatus(t, "the one that asked", c.do(request{path: api.PathWhoAmI, token: ada}), 200, "")
	wantStatus(t, "all", c.do(request{method: http.MethodDelete, path: api.PathSignIns + "?id=all", token: ada}), 200, "")
	wantStatus(t, "after all", c.do(request{path: api.PathWhoAmI, token: ada}), 401, "")
	wantStatus(t, "bob", c.do(request{path: api.PathWhoAmI, token: bob}), 200, "")
	rows := c.signOuts()
	if len(rows) != 3 || rows[0].Actor.User != "user-ada" || !strings.Contains(rows[0].Detail, `"by":"self"`) || !strings.Contains(rows[0].Detail, other.ID) {
		t.Errorf("audited: %+v", rows)
	}
}

// TestAdminEndsSignIns: administrators of the server see everybody's and end
// somebody's; what is open with them ends.
func TestAdminEndsSignIns(t *testing.T) {
	c := newTown(t, "", options{})
	c.repo("acme/api", map[string]string{"ada": "push"})
	ada, bob, admin := c.signIn("ada"), c.signIn("bob"), c.token("*", api.Admin)
	if own := c.signInsOf(admin, ""); len(own) != 0 {
		t.Errorf("a service token has %+v", own)
	}
	if all := c.signInsOf(admin, "?user="); len(all) != 2 {
		t.Errorf("everybody's: %+v", all)
	}
	if list := c.signInsOf(admin, "?user=ada"); len(list) != 1 || list[0].User != "user-ada" || list[0].Current {
		t.Errorf("ada's: %+v", list)
	}
	for _, token := range []string{bob, c.token("acme/*", api.Admin)} {
		wantStatus(t, "nobody else may", c.do(request{method: http.MethodDelete, path: api.PathSignIns + "?id=all&user=ada", token: token}), 403, "forbidden")
	}
	wantStatus(t, "who is not there", c.do(request{path: api.PathSignIns + "?user=eve", token: admin}), 404, "not_found")
	wantStatus(t, "everybody at once", c.do(request{method: http.MethodDelete, path: api.PathSignIns + "?id=all&user=", token: admin}), 400, "bad_request")

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+api.PathEvents+"?repo=acme/api", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+ada)
	stream, err := c.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("the stream: %d", stream.StatusCode)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
		}
	}()
	wantStatus(t, "the admin may", c.do(request{method: http.MethodDelete, path: api.PathSignIns + "?id=all&user=ada", token: admin}), 200, "")
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the stream of an ended sign-in is open")
	}
	wantStatus(t, "ada", c.do(request{path: api.PathWhoAmI, token: ada}), 401, "")
	wantStatus(t, "bob", c.do(request{path: api.PathWhoAmI, token: bob}), 200, "")
	if rows := c.signOuts(); len(rows) != 1 || rows[0].Actor.User != "user-ada" || !strings.Contains(rows[0].Detail, `"by":"admin"`) {
		t.Errorf("audited: %+v", rows)
	}
}

// TestWhoAmIInARepo: people learn their role where they ask, and of no repo that
// they may not read.
func TestWhoAmIInARepo(t *testing.T) {
	c := newTown(t, "", options{})
	c.repo("acme/api", map[string]string{"ada": "maintain"})
	c.repo("acme/other", nil)
	ada := c.signIn("ada")
	me := decodeAs[api.WhoAmI](t, c.do(request{path: api.PathWhoAmI + "?repo=acme/api", token: ada}))
	if me.Role != api.Maintainer || me.Repo != "acme/api" || me.SignIn == nil || !me.SignIn.Current || me.SignIn.ExpiresAt.IsZero() {
		t.Errorf("%+v", me)
	}
	if me := decodeAs[api.WhoAmI](t, c.do(request{path: api.PathWhoAmI, token: ada})); me.Role != api.NoRole || me.SignIn == nil {
		t.Errorf("in no repo: %+v", me)
	}
	wantStatus(t, "beyond reach", c.do(request{path: api.PathWhoAmI + "?repo=acme/other", token: ada}), 404, "not_found")
}

// TestAuditRoute: maintainers read their repo's chain in pages that link, without
// contents, and administrators the server's.
func TestAuditRoute(t *testing.T) {
	c := newTown(t, "", options{})
	c.repo("acme/api", map[string]string{"ada": "maintain"})
	ada, admin := c.signIn("ada"), c.token("*", api.Admin)
	marker := "what " + "was written"
	for _, key := range []string{"b.md", "c.md"} {
		c.put(ada, "acme/api", entries{key: marker})
	}
	var rows []api.AuditRow
	for after, pages := "0", 0; ; pages++ {
		a := c.do(request{path: api.PathAudit + "?repo=acme/api&limit=2&after=" + after, token: ada})
		wantStatus(t, "a page", a, 200, "")
		if strings.Contains(string(a.body), marker) {
			t.Error("a content is in the chain")
		}
		page := decodeAs[api.AuditAnswer](t, a)
		rows = append(rows, page.Rows...)
		if page.Next == 0 {
			if pages != 1 {
				t.Errorf("%d pages", pages+1)
			}
			break
		}
		after = "2"
	}
	if len(rows) != 3 {
		t.Fatalf("%d rows: %+v", len(rows), rows)
	}
	for i, row := range rows {
		want := []string{"k", "b.md", "c.md"}[i]
		if row.Number != uint64(i+1) || row.Version != uint64(i+1) || row.Action != store.ActionWrite || !slices.Equal(row.Keys, []string{want}) || len(row.Hash) != 64 || row.At.IsZero() {
			t.Errorf("row %d: %+v", i, row)
		}
	}
	if rows[2].Actor.User != "user-ada" {
		t.Errorf("by %+v", rows[2].Actor)
	}
	wantStatus(t, "a maintainer", c.do(request{path: api.PathAudit, token: ada}), 403, "forbidden")
	wantStatus(t, "end a sign-in", c.do(request{method: http.MethodDelete, path: api.PathSignIns + "?id=all", token: ada}), 200, "")
	own := decodeAs[api.AuditAnswer](t, c.do(request{path: api.PathAudit, token: admin}))
	if len(own.Rows) == 0 || own.Rows[len(own.Rows)-1].Action != store.ActionSignOut {
		t.Errorf("the server's chain: %+v", own.Rows)
	}
}
