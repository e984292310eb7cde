package server_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
)

// tryPut sends entries with what is claimed to be allowed.
func (w *world) tryPut(token, repo string, entries map[string]string, allowed ...api.Allowed) answer {
	w.t.Helper()
	return w.do(request{method: http.MethodPut, path: memory(repo), token: token, body: jsonOf(w.t, api.PushRequest{Entries: entries, Allowed: allowed})})
}

func (w *world) allowRule(token, repo, rule, keys string, expires time.Time) answer {
	w.t.Helper()
	return w.do(request{method: http.MethodPut, path: api.PathScanPolicy, token: token, body: jsonOf(w.t, map[string]any{
		"repo": repo, "rule": rule, "keys": keys, "reason": "samples", "expires_at": expires,
	})})
}

func (w *world) policy(token, repo, more string) api.PolicyAnswer {
	w.t.Helper()
	a := w.do(request{path: api.PathScanPolicy + "?repo=" + url.QueryEscape(repo) + more, token: token})
	if a.status != http.StatusOK {
		w.t.Fatalf("policy: %d %s", a.status, a.body)
	}
	return decodeAs[api.PolicyAnswer](w.t, a)
}

// TestRefusalNamesEverything: each finding of each key with its rule and line,
// nothing of what is stored, answered or logged holds a line of the body.
func TestRefusalNamesEverything(t *testing.T) {
	w := newWorld(t, options{level: -4})
	token := w.token("a/b", api.Maintainer)
	text := "first line of prose\n" + markBlock1 + " second line of prose\nthird " + markBlock3 + "\n"
	got := w.tryPut(token, "a/b", map[string]string{"x.md": text, "y/z.md": "\n\n" + markBlock2, "clean.md": "prose"})
	wantStatus(t, "a write with secrets", got, http.StatusUnprocessableEntity, "secret_found")
	var named []string
	for _, f := range decodeAs[api.ErrorBody](t, got).Error.Details.Findings {
		named = append(named, strings.Join([]string{f.Key, f.Rule, f.Tier, string(rune('0' + f.Line))}, " "))
	}
	want := []string{"x.md rule-block1 block1 2", "x.md rule-block3 block3 3", "y/z.md rule-block2 block2 3"}
	if diff := cmp.Diff(want, named); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	for _, piece := range []string{"of prose", "MARK-"} {
		if strings.Contains(string(got.body), piece) || strings.Contains(w.logged.String(), piece) {
			t.Errorf("%q of the body is in the answer or the log", piece)
		}
	}
	if after := w.do(request{path: memory("a/b"), token: token}); after.status != http.StatusNotFound {
		t.Errorf("something was stored: %d", after.status)
	}
}

// TestAllowedCountsForTheThirdTier: a person's word lets the third tier pass, for
// the key and rule that it names; never the first two.
func TestAllowedCountsForTheThirdTier(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("a/b", api.Writer)
	say := func(key, tier string) api.Allowed {
		return api.Allowed{Key: key, Rule: "rule-" + tier, Reason: "example"}
	}
	for _, tt := range []struct {
		name, text string
		allowed    []api.Allowed
		status     int
	}{
		{"tier 1", markBlock1, []api.Allowed{say("k", "block1")}, 422},
		{"tier 2", markBlock2, []api.Allowed{say("k", "block2")}, 422},
		{"tier 1 beside an allowed one", markBlock1 + markBlock3, []api.Allowed{say("k", "block1"), say("k", "block3")}, 422},
		{"tier 3 alone", markBlock3, nil, 422},
		{"another key", markBlock3, []api.Allowed{say("j", "block3")}, 422},
		{"another rule", markBlock3, []api.Allowed{say("k", "block2")}, 422},
		{"what could not be judged", markHeld, []api.Allowed{{Key: "k", Rule: "unreadable", Reason: "example"}}, 422},
		{"tier 3, allowed", markBlock3, []api.Allowed{say("k", "block3")}, 200},
	} {
		if got := w.tryPut(token, "a/b", map[string]string{"k": tt.text}, tt.allowed...); got.status != tt.status {
			t.Errorf("%s: %d, want %d: %s", tt.name, got.status, tt.status, got.body)
		}
	}
	if log := w.logged.String(); strings.Count(log, "finding was allowed") != 1 || !strings.Contains(log, "rule=rule-block3 reason=example") {
		t.Errorf("the log: %s", log)
	}
}

// TestAllowedIsRecorded: with the version, in both views, until other text comes;
// a reason that is none of ours is not repeated.
func TestAllowedIsRecorded(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("a/b", api.Maintainer)
	allowed := api.Allowed{Key: "k", Rule: "rule-block3", Reason: "free text of mine"}
	w.put(token, "a/b", entries{"other": "prose"})
	if got := w.tryPut(token, "a/b", map[string]string{"k": markBlock3}, allowed); got.status != http.StatusOK {
		t.Fatal(got.status)
	}
	want := map[string]map[string]string{"k": {"rule-block3": "other"}}
	hashes := decodeAs[api.HashesAnswer](t, w.do(request{path: memory("a/b", "view=hashes"), token: token}))
	full := decodeAs[api.FullAnswer](t, w.do(request{path: memory("a/b", "keys=k"), token: token}))
	rest := decodeAs[api.FullAnswer](t, w.do(request{path: memory("a/b", "keys=other"), token: token}))
	for name, got := range map[string]map[string]map[string]string{"hashes": hashes.EntryAllowed, "full": full.Content.EntryAllowed} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if rest.Content.EntryAllowed != nil {
		t.Errorf("of another key: %v", rest.Content.EntryAllowed)
	}
	w.put(token, "a/b", entries{"k": "prose"})
	hashes = decodeAs[api.HashesAnswer](t, w.do(request{path: memory("a/b", "view=hashes"), token: token}))
	if hashes.EntryAllowed != nil {
		t.Errorf("of the next text: %v", hashes.EntryAllowed)
	}
	history := decodeAs[api.HistoryAnswer](t, w.do(request{path: api.PathHistory + "?repo=a/b&key=k", token: token}))
	for i, want := range []map[string]string{nil, {"rule-block3": "other"}} {
		if v := history.Versions[i]; v.Rules != "test-1" || !cmp.Equal(v.Allowed, want) {
			t.Errorf("row %d: rules %q, allowed %v", i, v.Rules, v.Allowed)
		}
	}
	back := w.do(request{method: http.MethodPost, path: api.PathRestore, token: token, body: `{"repo":"a/b","key":"k","version":2}`})
	wantStatus(t, "restoring what was allowed", back, http.StatusOK, "")
}

// TestPolicyLetsPass: entries of maintainers let any tier pass, within their
// pattern of keys and until they expire or end.
func TestPolicyLetsPass(t *testing.T) {
	var now atomic.Pointer[time.Time]
	set := func(at time.Time) { now.Store(&at) }
	start := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	set(start)
	w := newWorld(t, options{core: func(o *core.Options) { o.Now = func() time.Time { return *now.Load() } }})
	lead, dev := w.token("a/b", api.Maintainer), w.token("a/*", api.Writer)
	n := 0
	try := func(want int, repo, key, mark string) {
		t.Helper()
		n++
		if got := w.tryPut(dev, repo, map[string]string{key: mark + strings.Repeat(".", n)}); got.status != want {
			t.Errorf("%s in %s %s: %d, want %d", mark, repo, key, got.status, want)
		}
	}
	try(422, "a/b", "docs/x.md", markBlock1)
	if got := w.allowRule(lead, "a/b", "rule-block1", "docs/**", start.Add(30*24*time.Hour)); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	try(200, "a/b", "docs/x.md", markBlock1)
	try(200, "a/b", "docs/deep/x.md", markBlock1)
	try(422, "a/b", "x.md", markBlock1)
	try(422, "a/b", "docs/x.md", markBlock2)
	try(422, "a/c", "docs/x.md", markBlock1)

	set(start.Add(30*24*time.Hour - time.Millisecond))
	try(200, "a/b", "docs/x.md", markBlock1)
	set(start.Add(30 * 24 * time.Hour))
	try(422, "a/b", "docs/x.md", markBlock1)

	got := w.allowRule(lead, "a/b", "rule-block2", "", time.Time{})
	entry := decodeAs[api.PolicyEntry](t, got)
	try(200, "a/b", "x.md", markBlock2)
	in := w.policy(dev, "a/b", "")
	if len(in.Entries) != 1 || in.Entries[0].ID != entry.ID || in.Entries[0].Actor.Token != "maintainer" || in.Revision != 2 {
		t.Errorf("policy %+v", in)
	}
	end := w.do(request{method: http.MethodDelete, path: api.PathScanPolicy + "?repo=a/b&id=" + entry.ID, token: lead})
	wantStatus(t, "ending an entry", end, http.StatusOK, "")
	try(422, "a/b", "x.md", markBlock2)
	all := w.policy(dev, "a/b", "&all=true")
	if len(all.Entries) != 2 || all.Entries[1].EndedAt.IsZero() || all.Entries[1].EndedBy.Token != "maintainer" || all.Revision != 3 {
		t.Errorf("all that ever was: %+v", all)
	}
	hashes := w.do(request{path: memory("a/b", "view=hashes"), token: dev})
	again := w.do(request{path: memory("a/b", "view=hashes"), token: dev, header: map[string]string{"If-None-Match": hashes.header.Get("ETag")}})
	if again.status != http.StatusNotModified || again.header.Get(api.HeaderPolicy) != "3" || hashes.header.Get(api.HeaderPolicy) != "3" {
		t.Errorf("a 304 says revision %q, want 3", again.header.Get(api.HeaderPolicy))
	}
	if log := w.logged.String(); strings.Count(log, "scan policy changed") != 3 {
		t.Errorf("the log: %s", log)
	}
}

// TestPolicyIsAboutFindings: what could not be judged has no rule that a policy
// could let pass.
func TestPolicyIsAboutFindings(t *testing.T) {
	w := newWorld(t, options{})
	lead := w.token("a/b", api.Maintainer)
	if got := w.allowRule(lead, "a/b", "unreadable", "", time.Time{}); got.status != http.StatusOK {
		t.Fatal(got.status)
	}
	wantStatus(t, "what could not be judged", w.tryPut(lead, "a/b", map[string]string{"k": markHeld}), http.StatusUnprocessableEntity, "refused")
}

// TestAllowedEndsWithItsGeneration: other rules mean other things. What was
// allowed under older ones is history, and not told or repeated.
func TestAllowedEndsWithItsGeneration(t *testing.T) {
	var rules atomic.Pointer[string]
	set := func(s string) { rules.Store(&s) }
	set("1-a")
	w := newWorld(t, options{core: func(o *core.Options) { o.Rules = func() string { return *rules.Load() } }})
	lead := w.token("a/b", api.Maintainer)
	if got := w.tryPut(lead, "a/b", map[string]string{"k": markBlock3}, api.Allowed{Key: "k", Rule: "rule-block3", Reason: "example"}); got.status != http.StatusOK {
		t.Fatal(got.status)
	}
	w.put(lead, "a/b", entries{"other": "prose"})
	allowed := func() map[string]map[string]string {
		return decodeAs[api.FullAnswer](t, w.do(request{path: memory("a/b"), token: lead})).Content.EntryAllowed
	}
	restore := func(want int) {
		t.Helper()
		w.put(lead, "a/b", entries{"k": "prose under " + *rules.Load()})
		if got := w.do(request{method: http.MethodPost, path: api.PathRestore, token: lead, body: `{"repo":"a/b","key":"k","version":1}`}); got.status != want {
			t.Errorf("restoring under %s: %d, want %d", *rules.Load(), got.status, want)
		}
	}
	set("1-b")
	if len(allowed()) != 1 {
		t.Error("it ended with a minor change")
	}
	restore(http.StatusOK)
	set("2-a")
	if got := allowed(); got != nil {
		t.Errorf("it outlives a major change: %v", got)
	}
	restore(http.StatusUnprocessableEntity)
}

func TestPolicyRefuses(t *testing.T) {
	w := newWorld(t, options{})
	lead := w.token("a/b", api.Maintainer)
	for name, body := range map[string]map[string]any{
		"no repo":        {"rule": "r", "reason": "x"},
		"no rule":        {"repo": "a/b", "reason": "x"},
		"no rule's name": {"repo": "a/b", "rule": "A rule", "reason": "x"},
		"no reason":      {"repo": "a/b", "rule": "r"},
		"a bad pattern":  {"repo": "a/b", "rule": "r", "reason": "x", "keys": "[a"},
		"a secret":       {"repo": "a/b", "rule": "r", "reason": "x", "keys": markBlock1},
		"the past":       {"repo": "a/b", "rule": "r", "reason": "x", "expires_at": "2001-01-01T00:00:00Z"},
	} {
		if got := w.do(request{method: http.MethodPut, path: api.PathScanPolicy, token: lead, body: jsonOf(t, body)}); got.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	w.do(request{method: http.MethodPut, path: api.PathScanPolicy, token: lead, body: jsonOf(t, map[string]any{"repo": "a/b", "rule": "r", "reason": markBlock1})})
	if p := w.policy(lead, "a/b", ""); len(p.Entries) != 1 || p.Entries[0].Reason != "withheld" {
		t.Errorf("policy %+v", p)
	}
}

// TestRescan: with other rules than before, what is live is judged again and
// marked, for maintainers, and nothing is taken away.
func TestRescan(t *testing.T) {
	var rules atomic.Pointer[string]
	set := func(s string) { rules.Store(&s) }
	var scans atomic.Int32
	strict := func() bool { return strings.HasSuffix(*rules.Load(), "b") }
	set("1-a")
	w := newWorld(t, options{core: func(o *core.Options) {
		scan := o.Scan
		o.Rules = func() string { return *rules.Load() }
		o.Scan = func(ctx context.Context, key, content string) ([]api.Finding, error) {
			if strict() {
				scans.Add(1)
				return scan(ctx, key, content)
			}
			return nil, nil
		}
	}})
	lead, dev := w.token("a/*", api.Maintainer), w.token("a/*", api.Writer)
	w.put(lead, "a/b", entries{"bad.md": "x\n" + markBlock1, "good.md": "prose", "gone.md": markBlock2, "ruled.md": markBlock2, "warn.md": markWarn})
	w.put(lead, "a/c", entries{"good.md": "more prose"})
	marks := func() api.MarksAnswer {
		t.Helper()
		return decodeAs[api.MarksAnswer](t, w.do(request{path: api.PathScanMarks + "?repo=a/b", token: lead}))
	}
	rescan := func() {
		t.Helper()
		if err := w.core.Rescan(t.Context(), *rules.Load()); err != nil {
			t.Fatal(err)
		}
	}
	rescan()
	if got := marks(); got.Rules != "1-a" || len(got.Marks) != 0 {
		t.Errorf("at first: %+v", got)
	}
	set("1-b")
	rescan()
	if got := scans.Load(); got != 6 {
		t.Errorf("%d entries were scanned, want 6", got)
	}
	got := marks()
	var keys []string
	for _, m := range got.Marks {
		keys = append(keys, m.Key)
	}
	if !slices.Equal(keys, []string{"bad.md", "gone.md", "ruled.md"}) || got.Rules != "1-b" || got.Marks[0].Line != 2 || got.Marks[0].Rule != "rule-block1" {
		t.Errorf("marks %+v", got)
	}
	scans.Store(0)
	rescan()
	if n := scans.Load(); n != 0 {
		t.Errorf("the same rules scanned %d entries again", n)
	}
	w.put(dev, "a/b", entries{"gone.md": "taken out"})
	w.allowRule(lead, "a/b", "rule-block2", "ruled.md", time.Time{})
	if got := marks(); len(got.Marks) != 1 || got.Marks[0].Key != "bad.md" {
		t.Errorf("after one was taken out and one allowed: %+v", got)
	}
	full := decodeAs[api.FullAnswer](t, w.do(request{path: memory("a/b"), token: dev}))
	if len(full.Content.Entries) != 5 {
		t.Errorf("%d entries are left, want 5", len(full.Content.Entries))
	}
	if log := w.logged.String(); strings.Count(log, "live entries scanned") != 2 || !strings.Contains(log, "repos=2 entries=6 marked=3") || strings.Contains(log, "MARK") {
		t.Errorf("the log: %s", log)
	}
}
