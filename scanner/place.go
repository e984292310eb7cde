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
// is its encoded form. Some rules match a space or a quote around the value;
// those are left out.
func (l lines) span(found *report.Finding) (start, end int) {
	start, end = l.matched(found)
	for end-start > 1 && isFrame(l.text[start]) {
		start++
	}
	for end-start > 1 && isFrame(l.text[end-1]) {
		end--
	}
	return start, end
}

func isFrame(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', '"', '\'', '`':
		return true
	}
	return false
}

// matched returns a span that is never empty, unless the text is.
func (l lines) matched(found *report.Finding) (start, end int) {
	start = l.offset(found.StartLine, found.StartColumn)
	for start < len(l.text) && l.text[start] == '\n' {
		start++ // gitleaks trims newlines off the match, not off its place
	}
	if found.Match != "" && strings.HasPrefix(l.text[start:], found.Match) {
		// The value follows its label, so the last occurrence is the value.
		if at := strings.LastIndex(found.Match, found.Secret); at >= 0 && found.Secret != "" {
			return start + at, start + at + len(found.Secret)
		}
		return start, start + len(found.Match)
	}
	end = l.offset(found.EndLine, found.EndColumn) + 1 // an inclusive column
	if found.EndColumn == 0 || end <= start {
		end = len(l.text) // gitleaks lost the end of a match that ends the text
	}
	end = min(end, len(l.text))
	return min(start, max(0, end-1)), end
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
