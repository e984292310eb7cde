package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/samples"
)

// folder writes files into a new directory.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func secret(t *testing.T, rule string) string {
	t.Helper()
	family, ok := samples.Find(rule)
	if !ok {
		t.Fatalf("there is no family %s", rule)
	}
	return family.Sample()
}

// documents is a folder of which all is known.
func documents(t *testing.T) string {
	t.Helper()
	pat := secret(t, "github-pat")
	files := map[string]string{
		"clean.md":            "nothing to hide\n",
		"again/clean.md":      "nothing to hide\n",
		"docs/one.MDX":        "a line\nthe token is " + pat + "\n",
		"docs/two.markdown":   pat + "\n" + secret(t, "stripe-access-token") + "\n",
		"docs/" + pat + ".md": "the name says it all\n",
		"binary.md":           "a\x00b",
		"large.md":            strings.Repeat("x ", scanner.DefaultMaxBytes),
		"program.go":          pat,
		"words.txt":           pat,
	}
	return folder(t, files)
}

func TestCount(t *testing.T) {
	t.Parallel()
	b, err := gather("documents", documents(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := count(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if c.texts != 4 || c.repeated != 1 || c.strict != 3 || c.blocked != 3 {
		t.Errorf("%d texts, %d repeated, %d and %d blocked, want 4, 1, 3 and 3", c.texts, c.repeated, c.strict, c.blocked)
	}
	if want := map[string]int{scanner.NotText: 1, scanner.TooLarge: 1}; !maps.Equal(c.refused, want) {
		t.Errorf("refused %v, want %v", c.refused, want)
	}
	if got, want := c.rules[kind{scanner.Block1, "github-pat"}], (tally{3, 3}); got != want {
		t.Errorf("github-pat: %+v, want %+v", got, want)
	}
	if got, want := c.rules[kind{scanner.Block1, "stripe-access-token"}], (tally{1, 1}); got != want {
		t.Errorf("stripe-access-token: %+v, want %+v", got, want)
	}
	for _, want := range []place{
		{"docs/one.MDX", kind{scanner.Block1, "github-pat"}, 2},
		{"docs/two.markdown", kind{scanner.Block1, "stripe-access-token"}, 2},
		{"docs/<github-pat>.md", kind{scanner.Block1, "github-pat"}, 0},
	} {
		if !slices.Contains(c.places, want) {
			t.Errorf("%+v is not among %+v", want, c.places)
		}
	}
}

// TestTiers counts findings by what they do to their text.
func TestTiers(t *testing.T) {
	t.Parallel()
	c := census{rules: map[kind]tally{}}
	strict := scanner.Finding{Tier: scanner.Block2, Rule: "b"}
	guess, warn := scanner.Finding{Tier: scanner.Block3, Rule: "c"}, scanner.Finding{Tier: scanner.Warn, Rule: "d"}
	c.add("both.md", 10, []scanner.Finding{strict, guess, guess})
	c.add("guess.md", 10, []scanner.Finding{guess})
	c.add("warn.md", 10, []scanner.Finding{warn})
	c.add("clean.md", 10, nil)
	if c.texts != 4 || c.bytes != 40 || c.strict != 1 || c.blocked != 2 || len(c.places) != 4 {
		t.Errorf("%+v", c)
	}
	if got, want := c.rules[kind{scanner.Block3, "c"}], (tally{3, 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := slices.SortedFunc(maps.Keys(c.rules), c.byWeight); got[0].rule != "b" || got[1].rule != "c" || got[2].rule != "d" {
		t.Errorf("shown in the order %v", got)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		strict, blocked int
		over            bool
	}{{0, 0, false}, {15, 70, false}, {16, 70, true}, {15, 71, true}} {
		c := census{texts: 10_000, strict: tt.strict, blocked: tt.blocked}
		if c.over() != tt.over {
			t.Errorf("%d and %d of 10,000: over is %v", tt.strict, tt.blocked, c.over())
		}
	}
	if none := (&census{}); none.over() {
		t.Error("nothing is over its bounds")
	}
}

// TestRun runs all of it on the small folder.
func TestRun(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := run(t.Context(), &out, options{list: true, speed: true, budget: 1_000_000, dirs: []string{documents(t)}})
	if !errors.Is(err, errOver) {
		t.Errorf("3 of 4 texts are blocked, and the end is %v", err)
	}
	for _, want := range []string{
		"the given folders: 4 texts", "3 texts  750.00 per mille", "docs/one.MDX:2  github-pat  block1", "teammemd, everything on",
		"as a library", "as a command", "half within", "one random line", "first scan of the process",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, rule := range []string{"github-pat", "stripe-access-token"} {
		if strings.Contains(out.String(), secret(t, rule)) {
			t.Errorf("the value of %s is printed", rule)
		}
	}
	if err := run(t.Context(), &out, options{}); err == nil || errors.Is(err, errOver) {
		t.Errorf("with nothing to scan: %v", err)
	}
	if err := run(t.Context(), &out, options{dirs: []string{t.TempDir()}}); err == nil {
		t.Error("no complaint about a folder without Markdown")
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	b, err := gather("documents", documents(t))
	if err != nil {
		t.Fatal(err)
	}
	all, err := sample([]body{b}, 1_000_000)
	if err != nil || len(all) != 5 { // the text with a NUL is valid UTF-8
		t.Errorf("%d texts, %v, want 5", len(all), err)
	}
	some, err := sample([]body{b}, size(all)/2)
	if err != nil || len(some) >= len(all) || len(some) == 0 {
		t.Errorf("%d of %d texts for half of the bytes, %v", len(some), len(all), err)
	}
	if notes := cut([]string{strings.Repeat("é", noteBytes), "short"}); len(notes) != 1 || len(notes[0]) != noteBytes {
		t.Errorf("%d notes", len(notes))
	}
	for _, shape := range worst() {
		if len(shape.text) < worstBytes-100 || len(shape.text) > worstBytes {
			t.Errorf("%s: %d bytes", shape.name, len(shape.text))
		}
	}
}
