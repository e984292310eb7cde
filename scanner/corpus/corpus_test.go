package corpus_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/corpus"
	"github.com/teammem/teammemd/scanner/samples"
)

// What the sets must hold, so that a figure of theirs says something.
const (
	leastContexts   = 64
	leastNotes      = 420
	leastCategories = 125
	leastNegatives  = 320
)

func TestSetsAreLarge(t *testing.T) {
	categories := make(map[string]bool)
	for _, note := range corpus.Notes() {
		categories[note.Category] = true
	}
	for _, set := range []struct {
		name       string
		size, want int
	}{
		{"contexts", len(corpus.Contexts()), leastContexts},
		{"notes", len(corpus.Notes()), leastNotes},
		{"categories of notes", len(categories), leastCategories},
		{"negatives", len(corpus.Negatives()), leastNegatives},
	} {
		t.Logf("%d %s", set.size, set.name)
		if set.size < set.want {
			t.Errorf("%d %s, want at least %d", set.size, set.name, set.want)
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := make(map[string]bool)
	check := func(name string) {
		t.Helper()
		if seen[name] {
			t.Errorf("two entries named %q", name)
		}
		seen[name] = true
	}
	for _, way := range corpus.Contexts() {
		check("context " + way.Name)
	}
	for _, note := range corpus.Notes() {
		check("note " + note.Category + ": " + note.Name)
	}
	for _, negative := range corpus.Negatives() {
		check("negative " + negative.Category + ": " + negative.Name)
	}
}

func TestNotesMarkOneSecret(t *testing.T) {
	for _, note := range corpus.Notes() {
		made := note.Make(source(note.Name, 1))
		again := note.Make(source(note.Name, 1))
		first, last := made.Lines()
		switch {
		case made.From >= made.To:
			t.Errorf("%s: %s: no secret is marked", note.Category, note.Name)
		case made != again:
			t.Errorf("%s: %s: two texts for a seed", note.Category, note.Name)
		case sameForAll(note):
			t.Errorf("%s: %s: the secret is the same for every seed", note.Category, note.Name)
		case first < 1 || last < first || last > strings.Count(made.Text, "\n")+1:
			t.Errorf("%s: %s: lines %d to %d", note.Category, note.Name, first, last)
		}
		if strings.ContainsAny(made.Text, "⟨⟩⟪⟫¦") {
			t.Errorf("%s: %s: a sign is left over", note.Category, note.Name)
		}
	}
}

// sameForAll reports whether the secret of a note is the same for every seed.
func sameForAll(note corpus.Note) bool {
	first := note.Make(source(note.Name, 1)).Secret()
	for seed := uint64(2); seed < 10; seed++ {
		if note.Make(source(note.Name, seed)).Secret() != first {
			return false
		}
	}
	return true
}

func TestNegativesMarkNone(t *testing.T) {
	for _, negative := range corpus.Negatives() {
		if text := negative.Text(source(negative.Name, 1)); strings.ContainsAny(text, "⟨⟩⟪⟫¦") {
			t.Errorf("%s: %s: a sign is left over", negative.Category, negative.Name)
		}
		if strings.Contains(string(negative.Template), "⟪") {
			t.Errorf("%s: %s: it marks a secret", negative.Category, negative.Name)
		}
	}
}

// TestContextsKeepTheirWord sees that exactly those contexts keep a value in one
// run that say so.
func TestContextsKeepTheirWord(t *testing.T) {
	const value = "Ab3-cD4_eF5~gH6.iJ7A"
	for _, way := range corpus.Contexts() {
		text := way.Wrap(value)
		if whole := strings.Count(text, value) == 1; whole != (way.Whole || way.Glued) {
			t.Errorf("%s: the value is in one run: %t, want %t", way.Name, whole, !whole)
		}
		if way.OneLine {
			continue
		}
		lines := way.Wrap("first\nsecond")
		if way.Whole && (!strings.Contains(lines, "first") || !strings.Contains(lines, "second")) {
			t.Errorf("%s: lines are lost", way.Name)
		}
	}
}

// TestContextsAreClean sees that it is the value that is found in a context, not
// what stands around it.
func TestContextsAreClean(t *testing.T) {
	s := scanner.New(scanner.Options{})
	for _, way := range corpus.Contexts() {
		for _, finding := range scan(t, s, way.Wrap("example")) {
			if finding.Tier.Holds() {
				t.Errorf("%s: a harmless word is %s in line %d", way.Name, finding.Rule, finding.Line)
			}
		}
	}
}

// TestSourcesAreClean sees that nothing in the package looks like a secret. The
// texts keep the structures in which secrets stand, so no token of any vendor is
// what is asked of them.
func TestSourcesAreClean(t *testing.T) {
	s := scanner.New(scanner.Options{MaxBytes: 1 << 20})
	for _, pattern := range []string{"*.go", "notes/*.txt", "negatives/*.txt"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, finding := range scan(t, s, string(text)) {
				if finding.Tier == scanner.Block1 || finding.Tier == scanner.Block2 && filepath.Ext(file) == ".go" {
					t.Errorf("%s:%d: %s", file, finding.Line, finding.Rule)
				}
			}
		}
	}
}

// source returns the source of the texts of an entry.
func source(name string, seed uint64) *samples.Source { return samples.NewSource(seed, "corpus "+name) }

// scan returns the findings in a note of that text.
func scan(t *testing.T, s *scanner.Scanner, text string) []scanner.Finding {
	t.Helper()
	findings, err := find(s, text)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

// find is scan for sets that more than one test looks at.
func find(s *scanner.Scanner, text string) ([]scanner.Finding, error) {
	findings, err := s.Scan(context.Background(), "notes/x.md", text)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text[:min(len(text), 60)], err)
	}
	return findings, nil
}

// strict reports whether a finding is of the tiers that no single person may let
// pass.
func strict(f scanner.Finding) bool { return f.Tier == scanner.Block1 || f.Tier == scanner.Block2 }

// held reports whether a finding keeps its note from travelling.
func held(f scanner.Finding) bool { return f.Tier.Holds() }

// within reports whether any finding that counts is on the lines of the secret.
func within(findings []scanner.Finding, first, last int, counts func(scanner.Finding) bool) bool {
	return slices.ContainsFunc(findings, func(f scanner.Finding) bool {
		return f.Line >= first && f.Line <= last && counts(f)
	})
}
