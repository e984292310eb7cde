package search

import "strings"

// span is a range of bytes of a text that weighs more.
type span struct {
	from, to int
	weight   float32
}

// outline finds the title and the description of a note: those of its
// frontmatter, and its first heading. It reads no more of YAML than lines of the
// form "name: value" and the indented lines below them.
func outline(text string, spans []span) []span {
	spans, at := frontmatter(text, spans)
	if from, to, ok := heading(text, at); ok {
		spans = append(spans, span{from, to, weightTitle})
	}
	return spans
}

// maxSpans bounds the lines of frontmatter that weigh more.
const maxSpans = 30

// frontmatter adds the values that weigh more, and returns the byte after the
// frontmatter, 0 where there is none.
func frontmatter(text string, spans []span) (found []span, body int) {
	const fence = "---"
	end := lineEnd(text, 0)
	if strings.TrimRight(text[:end], "\r") != fence {
		return spans, 0
	}
	none := len(spans)
	weight := float32(0) // of the value whose lines are read
	for from := end + 1; from < len(text); from = end + 1 {
		end = lineEnd(text, from)
		line := strings.TrimRight(text[from:end], " \t\r")
		if line == fence || line == "..." {
			return spans, end
		}
		value := 0
		if line != "" && line[0] != ' ' && line[0] != '\t' {
			weight = weightOf(line)
			value = strings.IndexByte(line, ':') + 1
		}
		if weight > 0 && len(spans)-none < maxSpans {
			spans = append(spans, span{from + value, end, weight})
		}
	}
	return spans[:none], 0 // it never ended: it was no frontmatter
}

func weightOf(line string) float32 {
	name, _, ok := strings.Cut(line, ":")
	if !ok {
		return 0
	}
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "name", "title":
		return weightTitle
	case "description":
		return weightDescription
	}
	return 0
}

// heading finds the first heading among the first lines after a byte.
func heading(text string, at int) (from, to int, ok bool) {
	const maxLines = 20
	for line := 0; line < maxLines && at < len(text); line++ {
		to = lineEnd(text, at)
		if rest := strings.TrimLeft(text[at:to], "#"); len(rest) < to-at && strings.HasPrefix(rest, " ") {
			return at, to, true
		}
		at = to + 1
	}
	return 0, 0, false
}

// lineEnd returns the byte of the line feed at or after a byte, or the end.
func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}
