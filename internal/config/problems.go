package config

import (
	"strconv"
	"strings"

	"github.com/teammem/teammemd/api"
)

// Problem is one thing that is wrong.
type Problem struct {
	// Where is "FILE:LINE", a file, the name of a variable, or "--flag".
	Where string
	Text  string // one clause; never a token
}

// ProblemErrors is every thing that is wrong at once. It wraps [api.ErrConfig].
type ProblemErrors []Problem

// Error returns one line for each problem. A file is named by the first of its
// problems only.
func (p ProblemErrors) Error() string {
	lines := make([]string, len(p))
	last := ""
	for i, one := range p {
		where := one.Where
		if file, line, ok := one.line(); ok {
			if file == last {
				where = "line " + line
			}
			last = file
		}
		lines[i] = where + ": " + one.Text
	}
	return strings.Join(lines, "\n")
}

// line splits Where into file and line, where it has both.
func (p Problem) line() (file, line string, ok bool) {
	i := strings.LastIndexByte(p.Where, ':')
	if i < 0 {
		return "", "", false
	}
	if _, err := strconv.Atoi(p.Where[i+1:]); err != nil {
		return "", "", false
	}
	return p.Where[:i], p.Where[i+1:], true
}

// Unwrap returns [api.ErrConfig].
func (p ProblemErrors) Unwrap() error { return api.ErrConfig }

// orNil returns p as an error, nil when there is no problem.
func (p ProblemErrors) orNil() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// nearest returns the known word that is at most two edits away, "" for none.
func nearest(word string, known []string) string {
	best, bestCost := "", 3
	for _, k := range known {
		if cost := edits(word, k); cost < bestCost {
			best, bestCost = k, cost
		}
	}
	return best
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
