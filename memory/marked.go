package memory

import "strings"

// The lines around edits that overlap, as git writes them; the labels say which
// text is whose.
const (
	markMine   = "<<<<<<< saved copy"
	markMiddle = "======="
	markTheirs = ">>>>>>> team"
)

// Marked merges by lines as far as the edits allow, and shows the rest in the
// style of git, for a person to choose from. Lines that both sides have in
// common stand outside of the marks. With an empty base, which is also the way to
// say that none is known, everything that differs is marked. A merge without
// overlaps has no marks.
func Marked(base, mine, theirs string) string {
	w := compare(base, mine, theirs)
	merged, _ := w.merge(func(mine, theirs []string) ([]string, bool) { return marks(mine, theirs), true })
	return merged.join()
}

// marks shows two versions of the same lines.
func marks(mine, theirs []string) []string {
	words := vocabulary{}
	m, t := words.number(mine), words.number(theirs)
	var out []string
	at := 0
	for _, e := range edits(align(m, t, len(words)), len(m), len(t)) {
		out = append(out, mine[at:e.a0]...)
		out = append(out, mark(mine[e.a0:e.a1], theirs[e.b0:e.b1])...)
		at = e.a1
	}
	return append(out, mine[at:]...)
}

func mark(mine, theirs []string) []string {
	cr := ""
	if hasCR(mine) || hasCR(theirs) {
		cr = "\r"
	}
	out := append([]string{markMine + cr}, mine...)
	out = append(append(out, markMiddle+cr), theirs...)
	return append(out, markTheirs+cr)
}

// hasCR reports whether the lines are of the convention that ends them in CRLF.
func hasCR(lines []string) bool {
	return len(lines) > 0 && strings.HasSuffix(lines[0], "\r")
}
