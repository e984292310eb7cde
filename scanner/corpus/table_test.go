package corpus_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/report"

	"github.com/teammem/teammemd/scanner/corpus"
	"github.com/teammem/teammemd/scanner/samples"
)

// TestRecallTable prints what docs/benchmarks.md says of the sets:
//
//	go test ./scanner/corpus -run TestRecallTable -v
func TestRecallTable(t *testing.T) {
	inContexts, contextsErr := scanFamilies()
	inNotes, notesErr := scanNotes()
	inNegatives, negativesErr := scanNegatives()
	if err := errors.Join(contextsErr, notesErr, negativesErr); err != nil {
		t.Fatal(err)
	}
	if !testing.Verbose() {
		return
	}
	stock := scanStock(t)
	fmt.Printf("| set | size | found | by gitleaks as it comes, by its named rules |\n|---|--:|--:|--:|\n")
	row := func(set string, size int, percent, theirs float64) {
		fmt.Printf("| %s | %d | %.2f %% | %.2f %% |\n", set, size, percent, theirs)
	}
	row("families in contexts that keep a value whole, by tiers 1 and 2", len(inContexts.whole.tried), inContexts.whole.percent(), stock.percent("whole"))
	row("families in contexts that break a value, by tiers 1 and 2", len(inContexts.broken.tried), inContexts.broken.percent(), stock.percent("broken"))
	row("notes with a secret, by all tiers that hold", len(corpus.Notes()), inNotes.held.percent(), stock.percent("notes"))
	row("notes with a secret, by tiers 1 and 2", len(corpus.Notes()), inNotes.strict.percent(), stock.percent("notes"))
	row("notes without a secret, by tiers 1 and 2", len(corpus.Negatives()), inNegatives.strict.percent(), stock.percent("negatives"))
	row("notes without a secret, by all tiers that hold", len(corpus.Negatives()), inNegatives.held.percent(), stock.percent("negatives"))
	fmt.Printf("\n%s\n%s\n%s", inContexts.whole.table("context", true), inContexts.broken.table("context", true),
		inNotes.held.table("category", true))
}

// scanStock lets gitleaks' own detector look at the same sets, one sample of
// each. Findings of its generic rule do not count: it finds most of anything.
func scanStock(t *testing.T) tally {
	t.Helper()
	detector, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	finds := func(text string) bool {
		return slices.ContainsFunc(detector.DetectString(text), func(f report.Finding) bool { return f.RuleID != "generic-api-key" })
	}
	result := newTally()
	for _, way := range corpus.Contexts() {
		for _, family := range samples.Families() {
			value := family.Sample()
			if way.OneLine && strings.Contains(value, "\n") {
				continue
			}
			set := "broken"
			if way.Whole {
				set = "whole"
			}
			result.add(set, finds(way.Wrap(value)))
		}
	}
	for _, note := range corpus.Notes() {
		result.add("notes", finds(note.Make(samples.NewSource(1, note.Name)).Text))
	}
	for _, negative := range corpus.Negatives() {
		result.add("negatives", finds(negative.Text(samples.NewSource(1, negative.Name))))
	}
	return result
}
