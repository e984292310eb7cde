package scanner

import (
	"slices"
	"strings"
)

// A name is scanned as a small text of its own: whole, then each of its
// segments, then each segment without its extension. Half of the rules end a
// token only at a space or a quote, and a name has neither.

// part is a piece of a name and its line in the text made from it.
type part struct {
	at     int // offset in the made text
	origin int // offset in the name
	length int
}

// nameText makes the text for a name, and the way back.
func nameText(name string) (text string, parts []part) {
	if name == "" {
		return "", nil
	}
	var made strings.Builder
	add := func(origin int, piece string) {
		if piece == "" {
			return
		}
		parts = append(parts, part{at: made.Len(), origin: origin, length: len(piece)})
		made.WriteString(piece)
		made.WriteByte('\n')
	}
	add(0, name)
	origin := 0
	for segment := range strings.SplitSeq(name, "/") {
		if segment != name {
			add(origin, segment)
		}
		if dot := strings.LastIndexByte(segment, '.'); dot > 0 {
			add(origin, segment[:dot])
		}
		origin += len(segment) + 1
	}
	return made.String(), parts
}

// inName maps a span of the made text to the name. What runs over the end of
// its piece is cut there.
func inName(parts []part, start, end int) (int, int) {
	at, found := slices.BinarySearchFunc(parts, start, func(p part, offset int) int { return p.at - offset })
	if !found {
		at--
	}
	p := parts[max(at, 0)]
	from := min(start-p.at, p.length-1)
	to := min(end-p.at, p.length)
	return p.origin + from, p.origin + max(to, from+1)
}

// MaskName returns name with the spans of those findings that are in it
// replaced by their rules in angle brackets. It is the only form in which a
// name with a finding may be shown, logged or sent.
func MaskName(name string, findings []Finding) string {
	var masked strings.Builder
	done := 0
	for _, finding := range findings {
		start, end := finding.Span()
		if !finding.InName || end <= done || end > len(name) {
			continue
		}
		if start >= done {
			masked.WriteString(name[done:start])
			masked.WriteString("<" + finding.Rule + ">")
		}
		done = end
	}
	masked.WriteString(name[done:])
	return masked.String()
}
