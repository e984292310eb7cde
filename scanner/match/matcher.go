package match

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/teammem/teammemd/scanner/rules"
)

// Matcher searches texts for the secrets of a set of rules. It is safe for
// concurrent use.
type Matcher struct {
	rules    []rule
	words    []string
	of       [][]int32 // by keyword: the rules that have it
	keywords *automaton
	searches sync.Pool // of *search
}

// New returns a matcher. Expressions are compiled when a text first has one of
// their keywords, so this costs little.
func New(set []rules.Rule) *Matcher {
	m := &Matcher{rules: make([]rule, len(set))}
	ids := make(map[string]int32)
	for i := range set {
		m.rules[i].Rule = set[i]
		for _, word := range set[i].Keywords {
			for _, form := range forms(word) {
				id, ok := ids[form]
				if !ok {
					id = int32(len(m.words)) //nolint:gosec // a few thousand
					ids[form] = id
					m.words = append(m.words, form)
					m.of = append(m.of, nil)
				}
				m.of[id] = append(m.of[id], int32(i)) //nolint:gosec // a few hundred
			}
		}
	}
	m.keywords = newAutomaton(m.words)
	for i, word := range m.words {
		m.words[i] = strings.ToLower(word)
	}
	m.searches.New = func() any { return m.newSearch() }
	return m
}

// forms returns the spellings of a keyword that the automaton does not see as
// one: of letters beyond ASCII also the capitals.
func forms(word string) []string {
	upper := strings.ToUpper(word)
	if upper == asciiUpper(word) {
		return []string{word}
	}
	first, size := utf8.DecodeRuneInString(word)
	all := []string{word, asciiLower(string(unicode.ToUpper(first)) + word[size:]), asciiLower(upper)}
	slices.Sort(all)
	return slices.Compact(all)
}

func asciiUpper(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, s)
}

// Compile compiles every expression now, and returns the first error.
func (m *Matcher) Compile() error {
	for i := range m.rules {
		if err := m.rules[i].ready(); err != nil {
			return err
		}
	}
	return nil
}

// Rule returns the rule of a hit.
func (m *Matcher) Rule(i int) rules.Rule { return m.rules[i].Rule }

// Hit is a secret that was found.
type Hit struct {
	// Rule is the place of the rule in the set.
	Rule int
	// Start and End are the bytes of the secret in the text.
	Start, End int
}

// Within limits a search to the parts of a text that were not searched before.
type Within interface {
	// NextTouched returns the first such part that ends after from.
	NextTouched(from int) (start, end int, ok bool)
	// Touched reports whether text[start:end] is one in part.
	Touched(start, end int) bool
}

// Request is one search.
type Request struct {
	Text string
	// Within is nil for a search of the whole text.
	Within Within
	// Stop is asked now and then; true ends the search. Nil never does.
	Stop func() bool
}

// Find returns the hits in a text, sorted by place and rule, and whether the
// search came to its end. An error says that a rule cannot be compiled.
func (m *Matcher) Find(r Request) (hits []Hit, done bool, err error) {
	s, _ := m.searches.Get().(*search)
	defer m.searches.Put(s)
	s.begin(r)
	done = s.all()
	hits, err = slices.Clone(s.hits), s.err
	s.end()
	slices.SortFunc(hits, func(a, b Hit) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		if a.End != b.End {
			return b.End - a.End
		}
		return a.Rule - b.Rule
	})
	return hits, done, err
}
