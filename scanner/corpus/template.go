package corpus

import (
	"strings"

	"github.com/teammem/teammemd/scanner/samples"
)

// Template is a text with signs for what is made at run time:
//
//	¦          nothing; it cuts a prefix, so that the file is clean to scanners
//	⟨H32⟩      32 random characters of an alphabet of alphabets
//	⟨uuid⟩     one of makers
//	⟨b64 ..⟩   what stands in it, encoded; likewise with every name of coders
//	⟪..⟫       the secret; the brackets vanish
type Template string

const (
	openMade, closeMade     = "⟨", "⟩"
	openSecret, closeSecret = "⟪", "⟫"
	cut                     = "¦"
)

// Made is the text of a template.
type Made struct {
	Text string
	// From and To are the bytes of the secret in Text; both 0 where the template
	// marks none.
	From, To int
}

// Secret returns the secret.
func (m Made) Secret() string { return m.Text[m.From:m.To] }

// Lines returns the 1-based lines of the secret, the last one included.
func (m Made) Lines() (first, last int) {
	first = 1 + strings.Count(m.Text[:m.From], "\n")
	return first, first + strings.Count(m.Secret(), "\n")
}

// Make returns the text of t for a source. It panics on a sign that it does not
// know.
func (t Template) Make(s *samples.Source) Made {
	text := expand(string(t), s)
	before, rest, marked := strings.Cut(text, openSecret)
	if !marked {
		return Made{Text: text}
	}
	secret, after, closed := strings.Cut(rest, closeSecret)
	if !closed || strings.Contains(after, openSecret) {
		panic("corpus: a secret that is not closed, or two of them, in: " + string(t))
	}
	return Made{Text: before + secret + after, From: len(before), To: len(before) + len(secret)}
}

// expand makes what stands in the brackets, the inner ones first, and drops the
// cuts.
func expand(text string, s *samples.Source) string {
	var made strings.Builder
	for {
		before, rest, found := strings.Cut(text, openMade)
		made.WriteString(strings.ReplaceAll(before, cut, ""))
		if !found {
			return made.String()
		}
		end := closing(rest)
		made.WriteString(generate(rest[:end], s))
		text = rest[end+len(closeMade):]
	}
}

// closing returns where the bracket is closed that is open before text.
func closing(text string) int {
	depth := 1
	for at := range text {
		switch {
		case strings.HasPrefix(text[at:], openMade):
			depth++
		case strings.HasPrefix(text[at:], closeMade):
			depth--
		}
		if depth == 0 {
			return at
		}
	}
	panic("corpus: a bracket that is not closed: " + text)
}
