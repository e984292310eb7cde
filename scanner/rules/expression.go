package rules

import (
	"regexp"
	"sync"
)

// expression is a regular expression of a filter. It is compiled when a filter
// first needs it: a program that scans nothing pays nothing. It is safe for
// concurrent use.
type expression struct {
	source  string
	once    sync.Once
	matcher *regexp.Regexp
}

// expressionOf returns the expression of a source that compiles; tests see to
// that.
func expressionOf(source string) *expression { return &expression{source: source} }

// Regexp returns the compiled expression.
func (e *expression) Regexp() *regexp.Regexp {
	e.once.Do(func() {
		e.matcher = regexp.MustCompile(e.source)
		e.source = ""
	})
	return e.matcher
}

// MatchString reports whether text has a match.
func (e *expression) MatchString(text string) bool { return e.Regexp().MatchString(text) }

// FindString returns the first match in text, "" for none.
func (e *expression) FindString(text string) string { return e.Regexp().FindString(text) }

// FindAllString returns the first n matches in text, all for -1.
func (e *expression) FindAllString(text string, n int) []string {
	return e.Regexp().FindAllString(text, n)
}

// ReplaceAllString replaces every match in text.
func (e *expression) ReplaceAllString(text, by string) string {
	return e.Regexp().ReplaceAllString(text, by)
}
