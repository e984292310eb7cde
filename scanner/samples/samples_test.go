package samples_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/samples"
)

func TestThereAreThirtySixFamilies(t *testing.T) {
	var rules []string
	for _, family := range samples.Families() {
		rules = append(rules, family.Rule)
	}
	if !slices.IsSorted(rules) || len(slices.Compact(slices.Clone(rules))) != 36 {
		t.Errorf("%d families, sorted: %t: %v", len(rules), slices.IsSorted(rules), rules)
	}
	for _, rule := range rules {
		if family, ok := samples.Find(rule); !ok || family.Rule != rule {
			t.Errorf("Find(%q) = %q, %t", rule, family.Rule, ok)
		}
	}
	if _, ok := samples.Find("nothing"); ok {
		t.Error("found a family that is none")
	}
}

func TestSamplesAreSteadyAndDistinct(t *testing.T) {
	seen := make(map[string]string)
	for _, family := range samples.Families() {
		for _, sample := range []string{family.Sample(), family.SampleFrom(2), family.SampleFrom(3)} {
			if before, ok := seen[sample]; ok {
				t.Errorf("%s and %s share a sample", family.Rule, before)
			}
			seen[sample] = family.Rule
			if strings.TrimSpace(sample) != sample || sample == "" {
				t.Errorf("%s: a sample of %d bytes has space around it", family.Rule, len(sample))
			}
		}
		if family.Sample() != family.SampleFrom(1) {
			t.Errorf("%s: the sample is not that of seed 1", family.Rule)
		}
	}
}

func TestEverySeedIsFound(t *testing.T) {
	s := scanner.New(scanner.Options{})
	rapid.Check(t, func(t *rapid.T) {
		family := rapid.SampledFrom(samples.Families()).Draw(t, "family")
		seed := rapid.Uint64().Draw(t, "seed")
		findings, err := s.Scan(t.Context(), "a.md", family.SampleFrom(seed)+"\n")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(findings, func(f scanner.Finding) bool { return f.Rule == family.Rule }) {
			t.Fatalf("%s with seed %d is not found", family.Rule, seed)
		}
	})
}

func TestSourcesAreClean(t *testing.T) {
	s := scanner.New(scanner.Options{})
	var files []string
	for _, pattern := range []string{"*.go", "../*.go", "../*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		findings, err := s.Scan(t.Context(), "source.md", string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, finding := range findings {
			t.Errorf("%s:%d: %s", file, finding.Line, finding.Rule)
		}
	}
}
