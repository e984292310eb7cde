package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
)

// checkout is a client that says who it is.
type checkout struct {
	w         *world
	token, id string
	device    string
	confirmed string
}

func newCheckout(w *world, token, device string, n int) *checkout {
	return &checkout{w: w, token: token, device: device, id: fmt.Sprintf("%032x", n)}
}

// ask makes one request and returns the answer.
func (c *checkout) ask(r request) answer {
	c.w.t.Helper()
	r.token = c.token
	header := map[string]string{api.HeaderActorDevice: c.device, api.HeaderActorPerson: c.device + "%20person"}
	if c.id != "" {
		header[api.HeaderDevice] = c.id
	}
	if c.confirmed != "" {
		header[api.HeaderCleaned] = c.confirmed
	}
	for name, value := range r.header {
		header[name] = value
	}
	r.header = header
	return c.w.do(r)
}

// pull reads everything, and remembers where the server was.
func (c *checkout) pull() string {
	c.w.t.Helper()
	got := c.ask(request{path: api.PathTeamMemory + "?repo=acme/api"})
	if got.status != http.StatusOK {
		c.w.t.Fatalf("pull: %d %s", got.status, got.body)
	}
	return got.header.Get(api.HeaderState)
}

// confirm says that all up to a state was cleaned.
func (c *checkout) confirm(state string) {
	c.w.t.Helper()
	c.confirmed = state
	if got := c.ask(request{path: api.PathTeamMemory + "?view=hashes&repo=acme/api"}); got.status != http.StatusOK {
		c.w.t.Fatalf("confirming: %d %s", got.status, got.body)
	}
}

func reportsOf(t *testing.T, got answer) []api.RedactionReport {
	t.Helper()
	var list api.RedactionsAnswer
	if err := json.Unmarshal(got.body, &list); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %s: %v", got.status, got.body, err)
	}
	return list.Redactions
}

// states is what a report says of each device: "open", "confirmed" or "cannot say".
func states(r api.RedactionReport) map[string]string {
	all := map[string]string{}
	for _, d := range r.Devices {
		switch {
		case d.Nameless:
			all[d.Actor.Device] = "cannot say"
		case d.ConfirmedAt.IsZero():
			all[d.Actor.Device] = "open"
		default:
			all[d.Actor.Device] = "confirmed"
		}
	}
	return all
}

// TestRedactionReport follows a value from the write to the last machine that has
// cleaned up.
func TestRedactionReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	lead, member := w.token("acme/*", api.Maintainer), w.token("acme/*", api.Writer)
	early, desk, laptop := newCheckout(w, member, "early", 1), newCheckout(w, member, "desk", 2), newCheckout(w, member, "laptop", 3)
	base := newCheckout(w, w.token("acme/*", api.Reader), "base", 0)
	base.id = "" // a client that knows nothing of us
	value := "marmalade on thirteen bridges"

	w.put(member, "acme/api", map[string]string{"a.md": "harmless"})
	early.pull()
	desk.ask(request{method: http.MethodPut, path: api.PathTeamMemory + "?repo=acme/api", body: `{"entries":{"b.md":"it is ` + value + `"}}`})
	for _, c := range []*checkout{laptop, base} {
		c.pull()
	}
	got := w.do(request{method: http.MethodPost, path: api.PathRedact, token: lead, body: `{"repo":"acme/api","value":"` + value + `"}`})
	var redacted api.RedactAnswer
	if err := json.Unmarshal(got.body, &redacted); err != nil || len(redacted.Reports) != 1 {
		t.Fatalf("%s: %v", got.body, err)
	}
	id := redacted.Reports[0].ID
	one := func() api.RedactionReport {
		t.Helper()
		reports := reportsOf(t, w.do(request{path: fmt.Sprintf("%s?repo=acme/api&id=%d", api.PathRedactions, id), token: lead}))
		if len(reports) != 1 {
			t.Fatalf("%d reports of one redaction", len(reports))
		}
		return reports[0]
	}
	want := func(when string, r api.RedactionReport, all map[string]string, open int) {
		t.Helper()
		if got := states(r); fmt.Sprint(got) != fmt.Sprint(all) || r.Open != open || r.Confirmed != len(all)-open {
			t.Errorf("%s: %v, %d open, %d confirmed; want %v", when, got, r.Open, r.Confirmed, all)
		}
	}
	want("at once", redacted.Reports[0], map[string]string{"base": "cannot say", "desk": "open", "laptop": "open"}, 3)
	// Two never came so far: early, and the credential of whoever wrote the first text.
	if r := one(); r.NotReached != 2 || r.Contents != 1 || len(r.Versions) != 1 || r.Versions[0] != 2 || r.Actor.Token == "" || r.At.IsZero() {
		t.Errorf("the report says %+v", r)
	}

	now := desk.pull()
	desk.confirm(now)
	want("one has cleaned", one(), map[string]string{"base": "cannot say", "desk": "confirmed", "laptop": "open"}, 2)
	epoch, _, _ := strings.Cut(now, ";")
	for _, lie := range []string{"another;99", epoch + ";2", epoch + ";9999", "nonsense", epoch + ";-1"} {
		laptop.confirm(lie)
		want("after "+lie, one(), map[string]string{"base": "cannot say", "desk": "confirmed", "laptop": "open"}, 2)
	}
	laptop.confirm(now)
	want("both have", one(), map[string]string{"base": "cannot say", "desk": "confirmed", "laptop": "confirmed"}, 1)

	list := reportsOf(t, w.do(request{path: api.PathRedactions + "?repo=acme/api", token: lead}))
	if len(list) != 1 || list[0].ID != id || list[0].Devices != nil || list[0].Confirmed != 2 {
		t.Errorf("the list is %+v", list)
	}
	if strings.Contains(string(got.body), "bridges") {
		t.Error("an answer has the value")
	}
}

// TestDevicesArePrivate: who works with a repo and when they did last is for its
// maintainers, and for nobody else in any answer.
func TestDevicesArePrivate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.put(w.token("acme/*", api.Writer), "acme/api", map[string]string{"a.md": "marmalade on bridges"})
	newCheckout(w, w.token("acme/*", api.Reader), "adas-desk", 77).pull()
	w.do(request{method: http.MethodPost, path: api.PathRedact, token: w.token("acme/*", api.Maintainer), body: `{"repo":"acme/api","value":"marmalade on bridges"}`})
	for _, c := range []struct {
		name, repos string
		role        api.Role
		status      int
	}{
		{"a reader", "acme/*", api.Reader, 403},
		{"a writer", "acme/*", api.Writer, 403},
		{"a maintainer", "acme/*", api.Maintainer, 200},
		{"an administrator", "*", api.Admin, 200},
		{"a maintainer of another repo", "other/*", api.Maintainer, 404},
	} {
		token := w.token(c.repos, c.role)
		for _, query := range []string{"", "&id=2"} {
			got := w.do(request{path: api.PathRedactions + "?repo=acme/api" + query, token: token})
			if got.status != c.status {
				t.Errorf("%s%s: %d, want %d", c.name, query, got.status, c.status)
			}
			if says := strings.Contains(string(got.body), "adas-desk"); says != (c.status == 200 && query != "") {
				t.Errorf("%s%s: the answer names a device: %v", c.name, query, says)
			}
			if strings.Contains(string(got.body), fmt.Sprintf("%032x", 77)) {
				t.Errorf("%s%s: the answer has a device's id", c.name, query)
			}
		}
		for _, path := range []string{api.PathTeamMemory, api.PathHistory, api.PathSearch, api.PathScanMarks} {
			if got := w.do(request{path: path + "?repo=acme/api&q=redacted", token: token}); strings.Contains(string(got.body), "adas-desk") {
				t.Errorf("%s reads a device's name at %s", c.name, path)
			}
		}
	}
}
