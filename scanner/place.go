package scanner

import "strings"

// lines knows where the lines of a text are.
type lines struct {
	ends []int // offsets of every "\n"
}

func linesOf(text string) *lines {
	ends := make([]int, 0, strings.Count(text, "\n"))
	for i := range len(text) {
		if text[i] == '\n' {
			ends = append(ends, i)
		}
	}
	return &lines{ends}
}

// locate returns the 1-based line and column of an offset.
func (l *lines) locate(offset int) (line, column int) {
	low, high := 0, len(l.ends)
	for low < high { // the number of line ends before offset
		middle := (low + high) / 2
		if l.ends[middle] < offset {
			low = middle + 1
			continue
		}
		high = middle
	}
	if low == 0 {
		return 1, offset + 1
	}
	return low + 1, offset - l.ends[low-1]
}
