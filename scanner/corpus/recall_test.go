package corpus_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/corpus"
	"github.com/teammem/teammemd/scanner/samples"
)

// What the scanner must reach, in percent.
const (
	wantFamilies  = 100.0 // of the families in contexts that keep a value whole
	wantNotes     = 95.0  // of the notes, by every tier that holds
	wantNegatives = 3.0   // at most, of the negatives, by tiers 1 and 2
)

// seeds is the number of samples of each kind in each context.
const seeds = 3

// tally counts by name how many of the tried were found.
type tally struct {
	tried, found map[string]int
}

func newTally() tally { return tally{make(map[string]int), make(map[string]int)} }

func (c tally) add(name string, found bool) {
	c.tried[name]++
	if found {
		c.found[name]++
	}
}

// percent returns the found among all tried, or those of one name.
func (c tally) percent(names ...string) float64 {
	var tried, found int
	for name := range c.tried {
		if len(names) == 0 || slices.Contains(names, name) {
			tried += c.tried[name]
			found += c.found[name]
		}
	}
	return 100 * float64(found) / float64(max(tried, 1))
}

// table returns the names as a table of Markdown, the lowest first, without
// those of 100 % unless all is set.
func (c tally) table(title string, all bool) string {
	var rows strings.Builder
	fmt.Fprintf(&rows, "| %s | found | of | %% |\n|---|--:|--:|--:|\n", title)
	names := slices.SortedFunc(maps.Keys(c.tried), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.percent(a), c.percent(b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		if all || c.found[name] < c.tried[name] {
			fmt.Fprintf(&rows, "| %s | %d | %d | %.1f |\n", name, c.found[name], c.tried[name], c.percent(name))
		}
	}
	fmt.Fprintf(&rows, "| **all** | | | **%.2f** |\n", c.percent())
	return rows.String()
}

// families is what became of the families in the contexts.
type families struct {
	whole, broken tally // by context, found by tiers 1 and 2
	byFamily      tally // in whole contexts, by family
	missed        []string
}

var scanFamilies = sync.OnceValues(func() (families, error) {
	s := scanner.New(scanner.Options{})
	result := families{whole: newTally(), broken: newTally(), byFamily: newTally()}
	for _, way := range corpus.Contexts() {
		for _, family := range samples.Families() {
			for seed := uint64(1); seed <= seeds; seed++ {
				value := family.SampleFrom(seed)
				if way.OneLine && strings.Contains(value, "\n") {
					continue
				}
				findings, err := find(s, way.Wrap(value))
				if err != nil {
					return result, err
				}
				found := slices.ContainsFunc(findings, strict)
				if !way.Whole {
					result.broken.add(way.Name, found)
					continue
				}
				result.whole.add(way.Name, found)
				result.byFamily.add(family.Rule, found)
				if !found {
					result.missed = append(result.missed, family.Rule+" in "+way.Name)
				}
			}
		}
	}
	slices.Sort(result.missed)
	result.missed = slices.Compact(result.missed)
	return result, nil
})

func TestFamiliesInContexts(t *testing.T) {
	result, err := scanFamilies()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("contexts that keep a value whole\n%s", result.whole.table("context", false))
	t.Logf("contexts that break a value\n%s", result.broken.table("context", true))
	t.Logf("families\n%s", result.byFamily.table("family", false))
	t.Logf("missed:\n%s", strings.Join(result.missed, "\n"))
	if got := result.whole.percent(); got < wantFamilies {
		t.Errorf("%.2f %% of the families are found where they are whole, want %.0f %%", got, wantFamilies)
	}
}

// notes is what became of the notes, by category.
type notes struct {
	held, strict tally
	missed       []string
}

var scanNotes = sync.OnceValues(func() (notes, error) {
	s := scanner.New(scanner.Options{})
	result := notes{held: newTally(), strict: newTally()}
	for _, note := range corpus.Notes() {
		for seed := uint64(1); seed <= seeds; seed++ {
			made := note.Make(source(note.Name, seed))
			first, last := made.Lines()
			findings, err := find(s, made.Text)
			if err != nil {
				return result, err
			}
			found := within(findings, first, last, held)
			result.held.add(note.Category, found)
			result.strict.add(note.Category, within(findings, first, last, strict))
			if !found {
				result.missed = append(result.missed, note.Category+": "+note.Name)
			}
		}
	}
	result.missed = slices.Compact(result.missed)
	return result, nil
})

func TestNotes(t *testing.T) {
	result, err := scanNotes()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("notes\n%s", result.held.table("category", false))
	t.Logf("by tiers 1 and 2: %.2f %%", result.strict.percent())
	t.Logf("missed:\n%s", strings.Join(result.missed, "\n"))
	if got := result.held.percent(); got < wantNotes {
		t.Errorf("%.2f %% of the notes are held, want %.0f %%", got, wantNotes)
	}
}

// negatives is what became of the negatives, by category.
type negatives struct {
	held, strict tally
	blocked      []string
}

var scanNegatives = sync.OnceValues(func() (negatives, error) {
	s := scanner.New(scanner.Options{})
	result := negatives{held: newTally(), strict: newTally()}
	for _, negative := range corpus.Negatives() {
		for seed := uint64(1); seed <= seeds; seed++ {
			findings, err := find(s, negative.Text(source(negative.Name, seed)))
			if err != nil {
				return result, err
			}
			result.strict.add(negative.Category, slices.ContainsFunc(findings, strict))
			result.held.add(negative.Category, slices.ContainsFunc(findings, held))
			for _, finding := range findings {
				if held(finding) {
					result.blocked = append(result.blocked,
						fmt.Sprintf("%s: %s: %s (%s)", negative.Category, negative.Name, finding.Rule, finding.Tier))
				}
			}
		}
	}
	slices.Sort(result.blocked)
	result.blocked = slices.Compact(result.blocked)
	return result, nil
})

func TestNegatives(t *testing.T) {
	result, err := scanNegatives()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("held by tiers 1 and 2: %.2f %%, by all: %.2f %%", result.strict.percent(), result.held.percent())
	t.Logf("held:\n%s", strings.Join(result.blocked, "\n"))
	if got := result.strict.percent(); got > wantNegatives {
		t.Errorf("%.2f %% of the negatives are held by tiers 1 and 2, want at most %.0f %%", got, wantNegatives)
	}
}
