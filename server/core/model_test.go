package core_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

// model is a repo in plain maps, and the rules of the protocol written down a
// second time, in the simplest way.
type model struct {
	version uint64
	live    map[string]string
	tombs   map[string]uint64
	had     map[string]bool // key + "\x00" + content
}

func newModel() *model {
	return &model{live: map[string]string{}, tombs: map[string]uint64{}, had: map[string]bool{}}
}

const (
	secretContent = "MARK"
	modelCap      = 4
)

// now returns what an expectation of key must say.
func (m *model) now(key string) string {
	if content, ok := m.live[key]; ok {
		return api.SumString(content).String()
	}
	if v, ok := m.tombs[key]; ok {
		return fmt.Sprintf("tombstone:%d", v)
	}
	return ""
}

// clash reports whether two keys cannot live side by side.
func clash(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// push returns the outcome in a word and, on success, what was ignored.
func (m *model) push(p api.PushRequest, role api.Role, lax bool) (outcome string, ignored []string) {
	if len(p.SoftDeleteKeys) > 0 && role < api.Maintainer && !lax {
		return "forbidden", nil
	}
	for _, key := range p.SoftDeleteKeys {
		if _, both := p.Entries[key]; both {
			return "bad_request", nil
		}
	}
	for _, content := range p.Entries {
		if content == secretContent {
			return "secret_found", nil
		}
	}
	puts, retired, revives, newForRetired := map[string]string{}, map[string]bool{}, false, false
	for key, content := range p.Entries {
		_, expects := p.Expect[key]
		_, dead := m.tombs[key]
		current, live := m.live[key]
		switch {
		case live && current == content:
		case dead && !expects && m.had[key+"\x00"+content]:
			ignored = append(ignored, key)
		case dead && !expects:
			newForRetired = true
		default:
			puts[key] = content
			revives = revives || dead
		}
	}
	for _, key := range p.SoftDeleteKeys {
		if _, live := m.live[key]; live {
			retired[key] = true
		}
	}
	slices.Sort(ignored)
	if len(puts) == 0 && len(retired) == 0 && !newForRetired {
		return "ok", ignored
	}
	for key, want := range p.Expect {
		_, effect := puts[key]
		_, asked := p.Entries[key]
		if (asked || slices.Contains(p.SoftDeleteKeys, key)) && !effect && !retired[key] {
			continue // holds already
		}
		if m.now(key) != want {
			return "precondition_failed", nil
		}
	}
	if revives && role < api.Maintainer {
		return "forbidden", nil
	}
	after := maps.Clone(m.live)
	for key := range retired {
		delete(after, key)
	}
	for key := range puts {
		if _, live := m.live[key]; live {
			continue
		}
		for other := range after {
			if clash(key, other) {
				return "key_conflict", nil
			}
		}
		for other := range puts {
			if key != other && clash(key, other) {
				return "key_conflict", nil
			}
		}
	}
	if newForRetired {
		return "key_retired", nil
	}
	maps.Copy(after, puts)
	if len(after) > modelCap && len(after) > len(m.live) {
		return "team_memory_too_many_entries", nil
	}
	m.version++
	m.live = after
	for key := range retired {
		m.tombs[key] = m.version
	}
	for key, content := range puts {
		delete(m.tombs, key)
		m.had[key+"\x00"+content] = true
	}
	return "ok", ignored
}

// TestPushAgainstModel sends random writes to a real store and to the model.
func TestPushAgainstModel(t *testing.T) {
	backend := sqlitetest.Serve(t, t.TempDir())
	c, err := core.New(core.Options{Store: backend, MaxEntries: modelCap, Scan: func(_ context.Context, key, content string) ([]api.Finding, error) {
		if content == secretContent {
			return []api.Finding{{Key: key, Line: 1, Rule: "mark", Tier: "block1"}}, nil
		}
		return nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	key := rapid.SampledFrom([]string{"a", "A", "a/b", "b", "b/c/d", "B/c", "c", "d"})
	content := rapid.SampledFrom([]string{"1", "2", "3", "3", "2", secretContent})
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		repo, err := api.ParseRepo(fmt.Sprintf("run/%d", runs))
		if err != nil {
			rt.Fatal(err)
		}
		m := newModel()
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			p := api.PushRequest{Entries: rapid.MapOfN(key, content, 0, 4).Draw(rt, "entries"), Expect: map[string]string{}}
			if rapid.IntRange(0, 3).Draw(rt, "retires") == 0 {
				p.SoftDeleteKeys = rapid.SliceOfN(key, 0, 2).Draw(rt, "retire")
			}
			for k := range p.Entries {
				switch rapid.IntRange(0, 9).Draw(rt, "expect") {
				case 0, 1, 2, 3, 4:
					p.Expect[k] = m.now(k)
				case 5:
					p.Expect[k] = ""
				case 6:
					p.Expect[k] = "tombstone:1"
				}
			}
			role := rapid.SampledFrom([]api.Role{api.Writer, api.Maintainer, api.Maintainer}).Draw(rt, "role")
			lax := rapid.Bool().Draw(rt, "lax")
			want, wantIgnored := m.push(p, role, lax)

			pushed, err := c.Push(t.Context(), core.Push{Repo: repo, Request: p, Role: role, WritersMayRetire: lax})
			got := "ok"
			if err != nil {
				got = api.Row(err).Code
			}
			// Several faults of one request: one of them gives its name, and both
			// are right, so only their being refused is compared.
			bothFaults := want == "key_retired" && got == "key_conflict"
			if got != want && !bothFaults {
				rt.Fatalf("push %+v by a %v: %s (%v), the model says %s", p, role, got, err, want)
			}
			if err == nil {
				if diff := cmp.Diff(wantIgnored, pushed.Ignored); diff != "" {
					rt.Fatalf("ignored (-model +got):\n%s", diff)
				}
			}
			sameState(rt, c, repo, m)
		}
	})
}

// sameState compares what the server shows with the model.
func sameState(t *rapid.T, c *core.Core, repo api.Repo, m *model) {
	t.Helper()
	view, err := c.View(context.Background(), repo)
	if m.version == 0 {
		if !errors.Is(err, api.ErrNotFound) {
			t.Fatalf("view of a repo never written: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	full := fullAnswer(t, c, view, core.Selection{})
	if full.Version != m.version {
		t.Fatalf("version %d, the model is at %d", full.Version, m.version)
	}
	if diff := cmp.Diff(m.live, full.Content.Entries); diff != "" {
		t.Fatalf("entries (-model +got):\n%s", diff)
	}
	tombs := m.tombs
	if len(tombs) == 0 {
		tombs = nil
	}
	if diff := cmp.Diff(tombs, full.Content.DeletedEntries); diff != "" {
		t.Fatalf("tombstones (-model +got):\n%s", diff)
	}
}
