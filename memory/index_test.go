package memory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/memory"
)

func TestMergeIndex(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, base, mine, theirs, want string }{
		{
			"both append",
			"# Index\n\n- a\n", "# Index\n\n- a\n- m\n", "# Index\n\n- a\n- t\n",
			"# Index\n\n- a\n- m\n- t\n",
		},
		{
			"the same entry on both sides, in other places",
			"- a\n- b\n", "- a\n- b\n- n\n", "- n\n- a\n- b\n- t\n",
			"- n\n- a\n- b\n- t\n",
		},
		{
			"removed here, left alone there",
			"- a\n- b\n- c\n", "- a\n- c\n", "- a\n- b\n- c\n- t\n",
			"- a\n- c\n- t\n",
		},
		{
			"removed there, left alone here",
			"- a\n- b\n- c\n", "- a\n- b\n- c\n- m\n", "- a\n- c\n",
			"- a\n- c\n- m\n",
		},
		{
			"edited on both sides",
			"- a: old\n- b\n", "- a: mine\n- b\n", "- a: theirs\n- b\n",
			"- a: mine\n- a: theirs\n- b\n",
		},
		{
			"edited here, neighbour added there",
			"- a\n- b\n- c\n", "- a\n- B\n- c\n", "- a\n- t\n- b\n- c\n",
			"- a\n- t\n- B\n- c\n",
		},
		{
			"edited here, removed there",
			"- a\n- b\n- c\n", "- a\n- B\n- c\n", "- a\n- c\n",
			"- a\n- B\n- c\n",
		},
		{
			"order of the server",
			"- a\n- b\n- c\n", "- c\n- b\n- a\n- m\n", "- b\n- a\n- c\n",
			"- b\n- a\n- m\n- c\n",
		},
		{
			"first in the list, after its blank line",
			"# Index\n\n- a\n", "# Index\n\n- m\n- a\n", "# Index\n\n- a\n- t\n",
			"# Index\n\n- m\n- a\n- t\n",
		},
		{
			"both first in the list",
			"# Index\n\n- a\n", "# Index\n\n- m\n- a\n", "# Index\n\n- t\n- a\n",
			"# Index\n\n- m\n- t\n- a\n",
		},
		{
			"a new section takes nothing under it that is not its own",
			"# Index\n\n- a\n", "# Index\n\n- a\n\n## Mine\n\n- m\n", "# Index\n\n- a\n- t\n",
			"# Index\n\n- a\n- t\n\n## Mine\n\n- m\n",
		},
		{
			"two new sections",
			"# Index\n\n- a\n", "# Index\n\n- a\n\n## Mine\n\n- m\n", "# Index\n\n- a\n- t\n\n## Theirs\n\n- u\n",
			"# Index\n\n- a\n- t\n\n## Mine\n\n- m\n\n## Theirs\n\n- u\n",
		},
		{
			"sections with equal headings inside",
			"## A\n\n### Links\n- a\n",
			"## A\n\n### Links\n- a\n\n## M\n\n### Links\n- m\n",
			"## A\n\n### Links\n- a\n\n## T\n\n### Links\n- t\n",
			"## A\n\n### Links\n- a\n\n## M\n\n### Links\n- m\n\n## T\n\n### Links\n- t\n",
		},
		{
			"the first of two equal headings removed with its section",
			"## A\n\n### Links\n- a\n\n## B\n\n### Links\n- b\n",
			"## B\n\n### Links\n- b\n",
			"## A\n\n### Links\n- a\n\n## B\n\n### Links\n- b\n- t\n",
			"## B\n\n### Links\n- b\n- t\n",
		},
		{
			"a renamed heading keeps its place",
			"## A\n- a\n\n## B\n- b\n", "## A\n- a\n\n## New\n- b\n", "## A\n- a\n- t\n\n## B\n- b\n",
			"## A\n- a\n- t\n\n## New\n- b\n",
		},
		{
			"a new section goes behind a deeper one",
			"## A\n- a\n\n## B\n- b\n", "## A\n- a\n\n## M\n- m\n\n## B\n- b\n", "## A\n- a\n\n### Sub\n- s\n\n## B\n- b\n",
			"## A\n- a\n\n### Sub\n- s\n\n## M\n- m\n\n## B\n- b\n",
		},
		{
			"a moved line draws nothing after it",
			"- a\n- x\n- b\n", "- a\n- m\n- b\n- x\n", "- a\n- t\n- x\n- b\n",
			"- a\n- m\n- t\n- x\n- b\n",
		},
		{
			"the same entry added twice",
			"- a\n", "- a\n- m\n- m\n", "- a\n- t\n",
			"- a\n- m\n- t\n",
		},
		{
			"blank lines as in the side that put two lines together",
			"Intro.\n\n- a\n", "Intro.\nMore.\n\n- a\n", "Intro.\n\n- a\n- t\n",
			"Intro.\nMore.\n\n- a\n- t\n",
		},
		{
			"blank lines at the end",
			"- a\n", "- a\n- m\n\n", "- t\n- a\n",
			"- t\n- a\n- m\n\n",
		},
		{
			"no blank lines are left over",
			"# Index\n\n- a\n\n## B\n\n- b\n\n## C\n\n- c\n", "# Index\n\n- a\n\n## C\n\n- c\n", "# Index\n\n- a\n\n## B\n\n- b\n\n## C\n\n- c\n- t\n",
			"# Index\n\n- a\n\n## C\n\n- c\n- t\n",
		},
		{
			"indented lines belong to where they stand",
			"- a\n  - see x\n", "- a\n  - see x\n- m\n  - see x\n", "- t\n- a\n  - see x\n",
			"- t\n- a\n  - see x\n- m\n  - see x\n",
		},
		{
			"white space at the end is no difference",
			"- a\n- b\n", "- a  \n- b\n- m\n", "- a\n- b\t\n- t\n",
			"- a\n- b\t\n- m\n- t\n",
		},
		{
			"line ends are those of the server",
			"- a\r\n", "- a\n- m\n", "- a\r\n- t\r\n",
			"- a\r\n- m\r\n- t\r\n",
		},
		{
			"no newline at the end",
			"- a", "- a\n- m", "- a\n- t",
			"- a\n- m\n- t",
		},
		{"emptied here", "- a\n- b\n", "", "- a\n- b\n- t\n", "- t\n"},
		{"emptied there", "- a\n- b\n", "- a\n- b\n- m\n", "", "- m\n"},
		{"emptied by both together", "- a\n- b\n", "- a\n", "- b\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, clean := memory.Merge(parse("MEMORY.md"), test.base, test.mine, test.theirs)
			if diff := cmp.Diff(test.want, got); diff != "" || !clean {
				t.Errorf("clean %t (-want +got):\n%s", clean, diff)
			}
		})
	}
}

func TestTheIndexOfAnyDirectory(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"MEMORY.md": true, "a/b/MEMORY.md": true, "memory.md": false, "MEMORY.md/a.md": false, "xMEMORY.md": false,
	} {
		if _, clean := memory.Merge(parse(name), "- a\n", "- a\n- m\n", "- a\n- t\n"); clean != want {
			t.Errorf("%s merges as an index: %t, want %t", name, clean, want)
		}
	}
}
