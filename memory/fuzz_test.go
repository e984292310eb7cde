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
		checkPlain(t, base, mine, theirs)
		index := parse("MEMORY.md")
		got, clean := memory.Merge(index, base, mine, theirs)
		if !clean {
			t.Fatal("an index does not merge")
		}
		for _, line := range append(fileLines(mine), fileLines(theirs)...) {
			line = strings.TrimRight(line, " \t\r")
			if strings.HasPrefix(line, "- ") && !strings.Contains(base, line) && !strings.Contains(got, line) {
				t.Fatalf("the added entry %q is not in %q", line, got)
			}
		}
		memory.MergeWithoutBase(index, mine, theirs)
		if diff := memory.Unified("old", "new", base, mine); (diff == "") != (base == mine) {
			t.Fatalf("diff of %q and %q: %q", base, mine, diff)
		}
	})
}

func checkPlain(t *testing.T, base, mine, theirs string) {
	t.Helper()
	note := parse("a.md")
	got, clean := memory.Merge(note, base, mine, theirs)
	back, also := memory.Merge(note, base, theirs, mine)
	if got != back || clean != also {
		t.Fatalf("%q, %t; the other way round %q, %t", got, clean, back, also)
	}
	if !clean && (base == mine || base == theirs || mine == theirs) {
		t.Fatal("a merge with an unchanged side is not clean")
	}
	marked := memory.Marked(base, mine, theirs)
	if !clean && strings.Count(marked, "\n=======") == 0 {
		t.Fatalf("no marks in %q", marked)
	}
}
