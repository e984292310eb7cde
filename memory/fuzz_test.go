package memory_test

import (
	"strings"
	"testing"

	"github.com/teammem/teammemd/memory"
)

// FuzzMerge gives arbitrary texts to everything: nothing may panic, and what
// follows from the texts alone must hold.
func FuzzMerge(f *testing.F) {
	for _, seed := range [][3]string{
		{"", "", ""},
		{"a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n"},
		{"a\r\nb", "a\r\nb\r\n", "a\nb"},
		{"# I\n\n- a\n- b\n", "# I\n\n- a\n\n## M\n- m\n", "# I\n\n- b\n- a\n- t\n"},
		{"\n\n\n", "\n", "\n\n\n\n\n"},
		{"a\na\nb\na\n", "a\nb\na\na\n", "b\na\na\na\n"},
		{"```\nx\n```\n", "```\ny\n```\n```\n", "```\n```\n"},
		{"\x00\xff\n", "\xff", "\r\n\r"},
		{"- \n-\n1.\n1. x\n#\n####### x\n", "#\n", "- x\n1) y\n"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, base, mine, theirs string) {
		three := sides{base, mine, theirs}
		three.checkNote(t)
		got := three.mergeIndex(t, "MEMORY.md")
		for _, line := range append(fileLines(mine), fileLines(theirs)...) {
			line = strings.TrimRight(line, " \t\r")
			if strings.HasPrefix(line, "- ") && !strings.Contains(base, line) && !strings.Contains(got, line) {
				t.Fatalf("the added entry %q is not in %q", line, got)
			}
		}
		memory.MergeWithoutBase(parse("MEMORY.md"), mine, theirs)
		if diff := memory.Unified("old", "new", base, mine); (diff == "") != (base == mine) {
			t.Fatalf("diff of %q and %q: %q", base, mine, diff)
		}
	})
}

func (s sides) checkNote(t *testing.T) {
	t.Helper()
	_, clean := s.mergeNote(t)
	if !clean && (s.base == s.mine || s.base == s.theirs || s.mine == s.theirs) {
		t.Fatal("a merge with an unchanged side is not clean")
	}
	marked := memory.Marked(s.base, s.mine, s.theirs)
	if !clean && strings.Count(marked, "\n=======") == 0 {
		t.Fatalf("no marks in %q", marked)
	}
}
