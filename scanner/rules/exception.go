package rules

import (
	"fmt"
	"strings"
)

// exception is what a rule of gitleaks lets pass.
type exception struct {
	Condition   string // "AND", or all else for "OR"
	RegexTarget string // "match", "line", or "" for the secret
	Regexes     []string
	StopWords   []string
	Paths       []string
	Commits     []string
}

// filtersOf turns exceptions into filters, but for what depends on a name or a
// commit. An exception that wants a path as well as a word is dropped whole:
// without its path it would let pass more than before.
func filtersOf(id string, exceptions []exception) []Filter {
	var filters []Filter
	for i, e := range exceptions {
		placed := len(e.Paths) > 0 || len(e.Commits) > 0
		if placed && e.Condition == "AND" || len(e.Regexes) == 0 && len(e.StopWords) == 0 {
			continue
		}
		filters = append(filters, Filter{
			Name: fmt.Sprintf("gitleaks-%s-%d", id, i),
			Keep: e.keep(),
		})
	}
	return filters
}

// keep compiles the exception when it is first needed.
func (e exception) keep() func(Match) bool {
	words := newStopWords(e.StopWords)
	regex := expressionOf("(?:" + strings.Join(e.Regexes, ")|(?:") + ")")
	return func(m Match) bool {
		secret := strings.ToLower(m.Secret())
		word := words.in(secret)
		switch {
		case len(e.Regexes) == 0:
			return !word
		case e.Condition == "AND":
			return !word && !words.none() || !regex.MatchString(e.target(m))
		}
		return !word && !regex.MatchString(e.target(m))
	}
}

// target is the text that the expressions of an exception look at.
func (e exception) target(m Match) string {
	switch e.RegexTarget {
	case "match":
		return m.identifier()
	case "line":
		return m.Line()
	}
	return m.Secret()
}

// identifier returns the match with the rest of the identifier before it, which
// gitleaks' own patterns take in.
func (m Match) identifier() string {
	const most = 50
	from := m.Start
	for from > 0 && m.Start-from < most && isIdentifier(m.Text[from-1]) {
		from--
	}
	return m.Text[from:m.End]
}

func isIdentifier(c byte) bool {
	return c == '_' || c == '.' || c == '-' || isAlnum(c)
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
