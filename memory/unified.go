package memory

import (
	"fmt"
	"strconv"
	"strings"
)

// contextLines is how many unchanged lines a unified diff shows around a change.
const contextLines = 3

// Unified returns the change from before to after in the unified format of diff
// and patch, with three lines of context. The names are those of its two header
// lines; a tab may separate a file's name from a remark. It is empty for equal
// texts.
func Unified(beforeName, afterName, before, after string) string {
	if before == after {
		return ""
	}
	words := vocabulary{}
	old, now := terminated(before), terminated(after)
	a, b := words.number(old), words.number(now)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", beforeName, afterName)
	list := edits(align(a, b, len(words)), len(a), len(b))
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].a0-list[n-1].a1 <= 2*contextLines {
			n++
		}
		writeHunk(&out, list[:n], old, now)
		list = list[n:]
	}
	return out.String()
}

// terminated splits a text into lines that include their newline: here the last
// one with and the same without are different lines.
func terminated(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// writeHunk writes edits that are near each other.
func writeHunk(out *strings.Builder, list []edit, old, now []string) {
	begin, end := list[0], list[len(list)-1]
	before := min(contextLines, begin.a0)
	after := min(contextLines, len(old)-end.a1)
	fmt.Fprintf(out, "@@ -%s +%s @@\n",
		place(begin.a0-before, end.a1+after), place(begin.b0-before, end.b1+after))
	at := begin.a0 - before
	for _, e := range list {
		writeLines(out, " ", old[at:e.a0])
		writeLines(out, "-", old[e.a0:e.a1])
		writeLines(out, "+", now[e.b0:e.b1])
		at = e.a1
	}
	writeLines(out, " ", old[at:end.a1+after])
}

// place is a range of lines as the format counts them: from 1, an empty range by
// the line before it.
func place(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return strconv.Itoa(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(out *strings.Builder, sign string, lines []string) {
	for _, line := range lines {
		out.WriteString(sign)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
