package tests

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// report is what `sync --json` promises of a root; `status --json` has a list
// of them.
type report struct {
	Schema      int        `json:"schema"`
	Repo        string     `json:"repo"`
	Root        string     `json:"root"`
	State       string     `json:"state"`
	Sent        int        `json:"sent"`
	Received    int        `json:"received"`
	Unchanged   int        `json:"unchanged"`
	Restored    int        `json:"restored"`
	Pending     int        `json:"pending"`
	PendingKeys []string   `json:"pending_keys"`
	Held        []held     `json:"held"`
	Conflicts   []conflict `json:"conflicts"`
	Version     uint64     `json:"version"`
	Epoch       string     `json:"epoch"`
	Error       string     `json:"error"`
	Notices     []string   `json:"notices"`
	// Of status alone.
	Watch       string `json:"watch"`
	WatchReason string `json:"watch_reason"`
	WatchRemedy string `json:"watch_remedy"`
}

type held struct {
	Key    string `json:"key"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Rule   string `json:"rule"`
	Tier   string `json:"tier"`
	Reason string `json:"reason"`
	Fix    string `json:"fix"`
}

type conflict struct {
	ID      string    `json:"id"`
	Key     string    `json:"key"`
	SavedAt time.Time `json:"saved_at"`
	Bytes   int       `json:"bytes"`
	Read    bool      `json:"read"`
}

// heldFor returns what is held under a key, and false for nothing.
func (r report) heldFor(key string) (held, bool) {
	i := slices.IndexFunc(r.Held, func(h held) bool { return h.Key == key })
	if i < 0 {
		return held{}, false
	}
	return r.Held[i], true
}

// heldNamed finds a held file by its name, which may be shown quoted.
func heldNamed(r report, name string) (held, bool) {
	if h, ok := r.heldFor(name); ok {
		return h, true
	}
	quoted := fmt.Sprintf("%q", name)
	for _, h := range r.Held {
		if h.Key == quoted || h.Key == strings.Trim(quoted, `"`) {
			return h, true
		}
	}
	return held{}, false
}

// sync runs one cycle and returns its report; the exit code is to be code.
func (m *machine) sync(code int, args ...string) report {
	m.t.Helper()
	return decode[report](m.t, m.want(code, append([]string{"sync", "--json"}, args...)...).stdout)
}

// status is the one registered root's part of `status --json`.
func (m *machine) status() report {
	m.t.Helper()
	all := decode[struct{ Roots []report }](m.t, m.ok("status", "--json").stdout)
	if len(all.Roots) != 1 {
		m.t.Fatalf("status has %d roots, want 1", len(all.Roots))
	}
	return all.Roots[0]
}

// savedCopies returns the contents of all saved copies.
func (m *machine) savedCopies() map[string][]string {
	m.t.Helper()
	list := decode[struct{ Conflicts []conflict }](m.t, m.ok("conflicts", "list", "--json").stdout)
	copies := make(map[string][]string)
	for _, c := range list.Conflicts {
		copies[c.Key] = append(copies[c.Key], m.ok("conflicts", "show", c.ID).stdout)
	}
	return copies
}

// decode reads the one JSON object of a text.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("decoding %q: %v", shorten(text), err)
	}
	if dec.More() {
		t.Fatalf("more than one JSON value in %q", shorten(text))
	}
	return v
}

// shorten keeps a failure readable.
func shorten(text string) string {
	const most = 2000
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}
