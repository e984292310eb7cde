package scanner

import (
	"strings"

	"github.com/zricethezav/gitleaks/v8/report"
)

// lines knows where the lines of a text are.
type lines struct {
	text string
	ends []int // offsets of every "\n"
}

func linesOf(text string) lines {
	ends := make([]int, 0, strings.Count(text, "\n"))
	for i := range len(text) {
		if text[i] == '\n' {
			ends = append(ends, i)
		}
	}
	return lines{text: text, ends: ends}
}

// offset undoes gitleaks' way of counting: lines from 0, columns from 1 on the
// first line, and on every other line counted from the "\n" before it.
func (l lines) offset(line, column int) int {
	before := 0
	if line > 0 && len(l.ends) > 0 {
		before = l.ends[min(line, len(l.ends))-1]
	}
	return max(0, min(before+column-1, len(l.text)))
}

// span returns the bytes of text that hold the secret of found: the value
// itself where the text has it, else the whole match, which for a decoded value
// is its encoded form.
func (l lines) span(found *report.Finding) (start, end int) {
	start = l.offset(found.StartLine, found.StartColumn)
	for start < len(l.text) && l.text[start] == '\n' {
		start++ // gitleaks trims newlines off the match, not off its place
	}
	if found.Match != "" && strings.HasPrefix(l.text[start:], found.Match) {
		end = start + len(found.Match)
		// The value follows its label, so the last occurrence is the value.
		if at := strings.LastIndex(found.Match, found.Secret); at >= 0 && found.Secret != "" {
			start += at
			end = start + len(found.Secret)
		}
		return start, end
	}
	end = l.offset(found.EndLine, found.EndColumn) + 1 // an inclusive column
	if found.EndColumn == 0 || end <= start {
		end = len(l.text) // gitleaks lost the end of a match that ends the text
	}
	end = min(end, len(l.text))
	if end <= start {
		start = max(0, end-1)
	}
	return start, end
}

// locate returns the 1-based line and column of an offset.
func (l lines) locate(offset int) (line, column int) {
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
