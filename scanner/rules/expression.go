package rules

import (
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/teammem/teammemd/scanner/pattern"
)

// expression is a regular expression of a filter. It is compiled when a filter
// first needs it: a program that scans nothing pays nothing. It is safe for
// concurrent use.
type expression struct {
	source  string
	once    sync.Once
	matcher *regexp.Regexp

	asked  atomic.Int32 // how often, as long as there is no sieve
	sieve  atomic.Pointer[pattern.Sieve]
	sieved sync.Once
}

// oftenAsked is how often an expression is asked before it has a sieve.
const oftenAsked = 64

// may reports whether text can have a match.
func (e *expression) may(text string) bool {
	sieve := e.sieve.Load()
	if sieve == nil {
		if e.asked.Add(1) > oftenAsked {
			e.sieved.Do(e.makeSieve)
		}
		return true
	}
	return sieve.Passes(text)
}

// makeSieve makes the sieve. Without one the expression judges every text.
func (e *expression) makeSieve() {
	parsed, err := pattern.Parse(e.source)
	if err != nil {
		return
	}
	if sieve, err := parsed.SieveAnywhere(); err == nil {
		e.sieve.Store(sieve)
	}
}

// expressionOf returns the expression of a source that compiles; tests see to
// that.
func expressionOf(source string) *expression { return &expression{source: source} }

// Regexp returns the compiled expression.
func (e *expression) Regexp() *regexp.Regexp {
	e.once.Do(func() {
		e.matcher = regexp.MustCompile(e.source)
	})
	return e.matcher
}

// MatchString reports whether text has a match.
func (e *expression) MatchString(text string) bool {
	return e.may(text) && e.Regexp().MatchString(text)
}

// FindString returns the first match in text, "" for none.
func (e *expression) FindString(text string) string {
	if !e.may(text) {
		return ""
	}
	return e.Regexp().FindString(text)
}

// FindAllString returns the first n matches in text, all for -1.
func (e *expression) FindAllString(text string, n int) []string {
	if !e.may(text) {
		return nil
	}
	return e.Regexp().FindAllString(text, n)
}

// ReplaceAllString replaces every match in text.
func (e *expression) ReplaceAllString(text, by string) string {
	if !e.may(text) {
		return text
	}
	return e.Regexp().ReplaceAllString(text, by)
}
