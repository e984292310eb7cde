package memory

import "strings"

// text is a file as lines. A line has no "\n"; a "\r" before it is part of the
// line, so that files of either convention, and mixed ones, stay what they are.
type text struct {
	lines []string
	// ended says whether the last line had its newline. It is kept apart from
	// the lines: adding a line after an unfinished one is no edit of that one.
	ended bool
}

func split(s string) text {
	if s == "" {
		return text{ended: true}
	}
	s, ended := strings.CutSuffix(s, "\n")
	return text{strings.Split(s, "\n"), ended}
}

// join is the inverse of split.
func (t text) join() string {
	if len(t.lines) == 0 {
		return ""
	}
	s := strings.Join(t.lines, "\n")
	if t.ended || t.lines[len(t.lines)-1] == "" {
		return s + "\n"
	}
	return s
}

// ending is the merge of the last newline: whoever changed it wins.
func ending(base, mine, theirs text) bool {
	if mine.ended == base.ended {
		return theirs.ended
	}
	return mine.ended
}

// vocabulary numbers lines, so that they are compared as numbers.
type vocabulary map[string]int

func (v vocabulary) number(lines []string) []int {
	numbers := make([]int, len(lines))
	for i, line := range lines {
		n, known := v[line]
		if !known {
			n = len(v)
			v[line] = n
		}
		numbers[i] = n
	}
	return numbers
}
