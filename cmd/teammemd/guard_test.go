package main

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/samples"
)

// guessed is a line in which nothing but a rule of the third tier finds something.
func guessed(t *testing.T, seed uint64) (line string, found scanner.Finding) {
	t.Helper()
	random := samples.NewSource(seed, "guess").Text(samples.Alnum, 40)
	sc := scanner.New(scanner.Options{})
	for _, line := range []string{"api_" + "key = \"" + random + "\"", "secret " + "token: " + random, "pass" + "word: " + random[:20] + "!7"} {
		found, err := sc.Scan(t.Context(), "", line)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 1 && found[0].Tier == scanner.Block3 {
			return line, found[0]
		}
	}
	t.Fatal("no rule of the third tier finds any of the lines")
	return "", scanner.Finding{}
}

// watched is a guard on a machine with a clock that is given.
type watched struct {
	*guard
	t      *testing.T
	clock  time.Time
	team   []api.PolicyEntry
	texts  map[api.Checksum]string
	logged *strings.Builder
}

func newWatch(t *testing.T, repo string) *watched {
	t.Helper()
	home := t.TempDir()
	a := newApp(strings.NewReader(""), &strings.Builder{}, &strings.Builder{}, func(name string) string {
		return map[string]string{"HOME": home, "TEAMMEMD_STATE_DIR": filepath.Join(home, "state")}[name]
	})
	m, err := a.machine()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := api.ParseRepo(repo)
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{t: t, clock: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC), texts: map[api.Checksum]string{}, logged: &strings.Builder{}}
	text := func(_ context.Context, sum api.Checksum) (string, error) {
		if text, ok := w.texts[sum]; ok {
			return text, nil
		}
		return "", fs.ErrNotExist
	}
	w.guard = m.newGuard(parsed, scanner.New(scanner.Options{}), func() []api.PolicyEntry { return w.team }, text, slog.New(slog.NewTextHandler(w.logged, nil)))
	w.now = func() time.Time { return w.clock }
	return w
}

// allow records a person's word, as of now.
func (w *watched) allow(line string, f scanner.Finding) {
	w.t.Helper()
	mac := allowanceMAC(w.key(), w.repo, f.Rule, valueOf(f, "", line))
	err := w.allowances.add(allowance{
		Allowance:  control.Allowance{ID: mac[:10], Repo: w.repo, Rule: f.Rule, Tier: string(f.Tier), Reason: "example", At: w.clock, ExpiresAt: w.clock.Add(allowedFor)},
		MAC:        mac,
		Generation: generationOf(w.rules.get()),
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// passesAs judges a text and reports why it may pass, "" where it is held.
func (w *watched) passesAs(name, text string, vouched api.Vouched) string {
	w.t.Helper()
	key, err := api.ParseKey(name)
	if err != nil {
		w.t.Fatal(err)
	}
	found, err := w.Check(w.t.Context(), key, text, vouched)
	if err != nil || len(found) == 0 {
		w.t.Fatalf("%d findings, %v", len(found), err)
	}
	why := found[0].Allowed
	for _, f := range found {
		if f.Allowed == "" {
			return ""
		}
	}
	return why
}

func TestAllowanceIsBound(t *testing.T) {
	line, f := guessed(t, 1)
	another, _ := guessed(t, 2)
	w := newWatch(t, "acme/api")
	before := w.Rules()
	w.allow(line, f)
	if w.Rules() == before {
		t.Error("what may pass is no part of the rules' name")
	}
	for _, text := range []string{line, "above\n" + line + "\n", "# x\n\n\n- " + line} {
		if why := w.passesAs("any.md", text, api.Vouched{}); why != "example" {
			t.Errorf("the value elsewhere: %q", why)
		}
	}
	for _, text := range []string{another, line + "\n" + another} {
		if why := w.passesAs("any.md", text, api.Vouched{}); why != "" {
			t.Errorf("another value passes: %q", why)
		}
	}
	for name, change := range map[string]func(*allowance){
		"another repo":       func(a *allowance) { a.Repo, _ = api.ParseRepo("acme/other") },
		"another generation": func(a *allowance) { a.Generation += "1" },
		"another value":      func(a *allowance) { a.MAC = strings.Repeat("0", 64) },
	} {
		err := w.allowances.change(func(list []allowance) []allowance { change(&list[0]); return list })
		if err != nil {
			t.Fatal(err)
		}
		if why := w.passesAs("any.md", line, api.Vouched{}); why != "" {
			t.Errorf("%s passes: %q", name, why)
		}
		if err := w.allowances.change(func([]allowance) []allowance { return nil }); err != nil {
			t.Fatal(err)
		}
		w.allow(line, f)
	}
}

// TestAllowanceExpires: after 90 days to the second, and is judged anew then.
func TestAllowanceExpires(t *testing.T) {
	line, f := guessed(t, 1)
	w := newWatch(t, "acme/api")
	plain := w.Rules()
	w.allow(line, f)
	during := w.Rules()
	start := w.clock
	w.clock = start.Add(90*24*time.Hour - time.Second)
	if why := w.passesAs("a.md", line, api.Vouched{}); why != "example" || w.Rules() != during {
		t.Errorf("a second before its end: %q", why)
	}
	w.clock = start.Add(90 * 24 * time.Hour)
	if why := w.passesAs("a.md", line, api.Vouched{}); why != "" || w.Rules() != plain {
		t.Errorf("at its end: %q", why)
	}
}

// TestAllowanceIsForGuesses: of the first tiers nothing passes by a person's word
// or a server's; by the team's policy it does.
func TestAllowanceIsForGuesses(t *testing.T) {
	w := newWatch(t, "acme/api")
	value := sample(t, "github-pat")
	found, err := w.scanner.Scan(t.Context(), "", value)
	if err != nil || len(found) != 1 {
		t.Fatal(len(found), err)
	}
	w.allow(value, found[0])
	vouched := api.Vouched{Sum: api.SumString(value), Rules: map[string]string{"github-pat": "example"}}
	if why := w.passesAs("a.md", value, vouched); why != "" {
		t.Errorf("passes: %q", why)
	}
	w.team = []api.PolicyEntry{{Rule: "github-pat", Keys: "docs/*", ExpiresAt: w.clock.Add(time.Hour)}}
	if why := w.passesAs("a.md", value, api.Vouched{}); why != "" {
		t.Errorf("beyond the policy's keys: %q", why)
	}
	if why := w.passesAs("docs/a.md", value, api.Vouched{}); why != api.AllowedByTeam {
		t.Errorf("by the policy: %q", why)
	}
	w.clock = w.clock.Add(time.Hour)
	if why := w.passesAs("docs/a.md", value, api.Vouched{}); why != "" {
		t.Errorf("after the policy's end: %q", why)
	}
}

// TestVouchedValues: what the server vouches for passes in that text and in edits
// of it, and covers no other value.
func TestVouchedValues(t *testing.T) {
	line, f := guessed(t, 1)
	another, _ := guessed(t, 2)
	w := newWatch(t, "acme/api")
	text := "# x\n" + line + "\n"
	vouched := api.Vouched{Sum: api.SumString(text), Rules: map[string]string{f.Rule: "revoked"}}
	if why := w.passesAs("a.md", text, vouched); why != "revoked" {
		t.Errorf("the text itself: %q", why)
	}
	edit := "# y\n" + line + "\nmore\n"
	if why := w.passesAs("a.md", edit, vouched); why != "" {
		t.Errorf("an edit of a text that is not at hand: %q", why)
	}
	w.texts[vouched.Sum] = text
	if why := w.passesAs("a.md", edit, vouched); why != "revoked" {
		t.Errorf("an edit: %q", why)
	}
	if why := w.passesAs("a.md", edit+another, vouched); why != "" {
		t.Errorf("an edit with another value: %q", why)
	}
	vouched.Rules = map[string]string{"another-rule": "example"}
	if why := w.passesAs("a.md", text, vouched); why != "" {
		t.Errorf("another rule: %q", why)
	}
}

// TestDamagedAllowances count for nothing, and are told of once.
func TestDamagedAllowances(t *testing.T) {
	line, f := guessed(t, 1)
	for name, text := range map[string]string{
		"torn": `{"format":1,"allow`, "another format": `{"format":2,"allowances":[]}`, "no MAC": `{"format":1,"allowances":[{"rule":"x"}]}`, "empty": "",
	} {
		w := newWatch(t, "acme/api")
		w.allow(line, f)
		if err := os.WriteFile(w.allowances.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if why := w.passesAs("a.md", line, api.Vouched{}); why != "" {
				t.Errorf("%s: passes: %q", name, why)
			}
		}
		if n := strings.Count(w.logged.String(), "damaged"); n != 1 {
			t.Errorf("%s: told of %d times", name, n)
		}
	}
}

// TestRulesAreNamedWithoutLoadingThem: by the note of a process of this program;
// a note of another program, or a wrong one, does not last.
func TestRulesAreNamedWithoutLoadingThem(t *testing.T) {
	dir := t.TempDir()
	sc := scanner.New(scanner.Options{})
	first := newRulesName(sc, dir).get()
	if first == "" || first != sc.RuleSet() {
		t.Fatalf("named %q", first)
	}
	file := filepath.Join(dir, "rules.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Replace(string(text), first, "9-wrong", 1)
	if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	second := newRulesName(sc, dir)
	if got := second.get(); got != "9-wrong" {
		t.Errorf("the note was not read: %q", got)
	}
	if second.confirm(); second.get() != first || newRulesName(sc, dir).get() != first {
		t.Error("a wrong note outlives a scan")
	}
	if err := os.WriteFile(file, []byte(`{"program":"another","rules":"9-wrong"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := newRulesName(sc, dir).get(); got != first {
		t.Errorf("the note of another program was believed: %q", got)
	}
}
