package corpus_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/teammem/teammemd/scanner/corpus"
)

var printTables = flag.Bool("tables", false, "print the tables of docs/benchmarks.md")

// TestRecallTable prints what docs/benchmarks.md says of the sets:
//
//	go test ./scanner/corpus -run TestRecallTable -tables
func TestRecallTable(t *testing.T) {
	if !*printTables {
		t.Skip("-tables is not set")
	}
	inContexts, inNotes, inNegatives := scanFamilies(t), scanNotes(t), scanNegatives(t)
	fmt.Printf("| set | size | result |\n|---|--:|--:|\n")
	fmt.Printf("| families in contexts that keep a value whole, tiers 1 and 2 | %d contexts | %.2f %% |\n",
		len(inContexts.whole.tried), inContexts.whole.percent())
	fmt.Printf("| families in contexts that break a value, tiers 1 and 2 | %d contexts | %.2f %% |\n",
		len(inContexts.broken.tried), inContexts.broken.percent())
	fmt.Printf("| notes held, all tiers | %d | %.2f %% |\n", len(corpus.Notes()), inNotes.held.percent())
	fmt.Printf("| notes held, tiers 1 and 2 | %d | %.2f %% |\n", len(corpus.Notes()), inNotes.strict.percent())
	fmt.Printf("| negatives held, tiers 1 and 2 | %d | %.2f %% |\n", len(corpus.Negatives()), inNegatives.strict.percent())
	fmt.Printf("| negatives held, all tiers | %d | %.2f %% |\n", len(corpus.Negatives()), inNegatives.held.percent())
	fmt.Printf("\n%s\n%s\n%s", inContexts.whole.table("context", true), inContexts.broken.table("context", true),
		inNotes.held.table("category", true))
}
