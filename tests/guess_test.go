package tests

import (
	"testing"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/samples"
)

// guess is a line in which nothing but a rule of the third tier finds something,
// and what it finds. Other seeds give other values.
func guess(t *testing.T, seed uint64) (line, value, rule string) {
	t.Helper()
	s := samples.NewSource(seed, "guess")
	random := s.Text(samples.Alnum, 40)
	sc := scanner.New(scanner.Options{})
	for _, line := range []string{
		"api_" + "key = \"" + random + "\"",
		"secret " + "token: " + random,
		"pass" + "word: " + random[:20] + "!7",
		"The api " + "key is " + random + " for now",
	} {
		found, err := sc.Scan(t.Context(), "", line)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 1 && found[0].Tier == scanner.Block3 {
			start, end := found[0].Span()
			return line, line[start:end], found[0].Rule
		}
	}
	t.Fatal("no rule of the third tier finds any of the lines")
	return "", "", ""
}
