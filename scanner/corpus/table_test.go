package corpus_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/teammem/teammemd/scanner/corpus"
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
	fmt.Printf("| set | size | found |\n|---|--:|--:|\n")
	row := func(set string, size int, percent float64) { fmt.Printf("| %s | %d | %.2f %% |\n", set, size, percent) }
	row("families in contexts that keep a value whole, by tiers 1 and 2", len(inContexts.whole.tried), inContexts.whole.percent())
	row("families in contexts that break a value, by tiers 1 and 2", len(inContexts.broken.tried), inContexts.broken.percent())
	row("notes with a secret, by all tiers that hold", len(corpus.Notes()), inNotes.held.percent())
	row("notes with a secret, by tiers 1 and 2", len(corpus.Notes()), inNotes.strict.percent())
	row("notes without a secret, by tiers 1 and 2", len(corpus.Negatives()), inNegatives.strict.percent())
	row("notes without a secret, by all tiers that hold", len(corpus.Negatives()), inNegatives.held.percent())
	fmt.Printf("\n%s\n%s\n%s", inContexts.whole.table("context", true), inContexts.broken.table("context", true),
		inNotes.held.table("category", true))
}
