package memory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/memory"
)

func TestMergeWithAnUnchangedSide(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.md", "MEMORY.md"} {
		for _, sides := range [][2]string{{"old", "new"}, {"new", "old"}, {"new", "new"}} {
			if got, clean := memory.Merge(parse(name), "old", sides[0], sides[1]); got != "new" || !clean {
				t.Errorf("%s: merging %q gives %q, %t", name, sides, got, clean)
			}
		}
	}
}

// TestMerge merges both ways round: an ordinary merge does not know whose side
// is whose.
func TestMerge(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, base, mine, theirs, want string
		overlap                        bool
	}{
		{name: "apart", base: lines("a b c"), mine: lines("A b c"), theirs: lines("a b C"), want: lines("A b C")},
		{name: "insertions apart", base: lines("a b"), mine: lines("x a b"), theirs: lines("a b y"), want: lines("x a b y")},
		{name: "same edit", base: lines("a b c"), mine: lines("a x c d"), theirs: lines("a x c"), want: lines("a x c d")},
		{name: "same insertion", base: lines("a b"), mine: lines("a x b"), theirs: lines("a x b c"), want: lines("a x b c")},
		{name: "same removal", base: lines("a b c d"), mine: lines("a c d e"), theirs: lines("a c d"), want: lines("a c d e")},
		{name: "overlap", base: lines("a b c"), mine: lines("a x c"), theirs: lines("a y c"), overlap: true},
		{name: "adjacent", base: lines("a b c d"), mine: lines("a x c d"), theirs: lines("a b y d"), overlap: true},
		{name: "insertion beside an edit", base: lines("a b c"), mine: lines("a x b c"), theirs: lines("a y c"), overlap: true},
		{name: "two appends", base: lines("a"), mine: lines("a x"), theirs: lines("a y"), overlap: true},
		{name: "one append is the beginning of the other", base: lines("a"), mine: lines("a x"), theirs: lines("a x y"), overlap: true},
		{name: "removal against edit", base: lines("a b c"), mine: lines("a c"), theirs: lines("a B c"), overlap: true},
		{name: "all removed against edit", base: lines("a b c"), mine: "", theirs: lines("a B c"), overlap: true},
		{name: "one edit over two", base: lines("a b c d e"), mine: lines("a x e"), theirs: lines("a B c D e"), overlap: true},
		{name: "new on both sides", mine: lines("a b"), theirs: lines("a c"), overlap: true},
		{
			name: "CRLF", base: "a\r\nb\r\nc\r\n", mine: "A\r\nb\r\nc\r\n", theirs: "a\r\nb\r\nC\r\n",
			want: "A\r\nb\r\nC\r\n",
		},
		{name: "mixed line ends", base: "a\r\nb\nc\n", mine: "a\r\nb\nC\n", theirs: "A\r\nb\nc\n", want: "A\r\nb\nC\n"},
		{name: "line ends changed against edit", base: "a\nb\n", mine: "a\r\nb\r\n", theirs: "a\nB\n", overlap: true},
		{name: "no newline at the end", base: "a\nb\nc", mine: "A\nb\nc", theirs: "a\nb\nC", want: "A\nb\nC"},
		{name: "newline added here, line there", base: "a\nb", mine: "a\nb\n", theirs: "a\nb\nc", want: "a\nb\nc\n"},
		{name: "newline removed here, edit there", base: "a\nb\n", mine: "a\nb", theirs: "A\nb\n", want: "A\nb"},
		{name: "append to an unfinished line", base: "a\nb", mine: "a\nb\nc", theirs: "A\nb", want: "A\nb\nc"},
		{name: "blank line at the end", base: "a\nb", mine: "a\nb\n\n", theirs: "A\nb", want: "A\nb\n\n"},
		{name: "newline removed here, last line there", base: "a\n\nb\n", mine: "a\n\nb", theirs: "a\n\n", want: "a\n\n"},
		{name: "moved line, edit elsewhere", base: lines("a b c d e"), mine: lines("b c a d e"), theirs: lines("a b c d E"), want: lines("b c a d E")},
		{name: "repeated lines", base: lines("a - b - c"), mine: lines("a - b - c - d"), theirs: lines("z a - b - c"), want: lines("z a - b - c - d")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, sides := range [][2]string{{test.mine, test.theirs}, {test.theirs, test.mine}} {
				got, clean := memory.Merge(parse("notes/a.md"), test.base, sides[0], sides[1])
				if diff := cmp.Diff(test.want, got); diff != "" || clean == test.overlap {
					t.Errorf("merging %q: clean %t (-want +got):\n%s", sides, clean, diff)
				}
			}
		})
	}
}

func TestMergeWithoutBase(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, mine, theirs, want string
		clean                    bool
	}{
		{"a.md", "a\n", "a\n", "a\n", true},
		{"a.md", "a\n", "a\nb\n", "", false},
		{"a.md", "", "a\n", "", false},
		{"notes/MEMORY.md", "- a\n- m\n", "- a\n- t\n", "- a\n- m\n- t\n", true},
		{"MEMORY.md", "", "- a\n", "- a\n", true},
		{"MEMORY.md", "- a\n", "", "- a\n", true},
		{"MEMORY.md.txt", "- a\n", "", "", false},
	}
	for _, test := range tests {
		got, clean := memory.MergeWithoutBase(parse(test.name), test.mine, test.theirs)
		if got != test.want || clean != test.clean {
			t.Errorf("%s: %q and %q give %q, %t", test.name, test.mine, test.theirs, got, clean)
		}
	}
}

// TestTooLargeToTravel proves that no merge makes an entry that would be held.
func TestTooLargeToTravel(t *testing.T) {
	t.Parallel()
	half := strings.Repeat("x", api.MaxEntryBytes/2)
	for _, name := range []string{"a.md", "MEMORY.md"} {
		got, clean := memory.Merge(parse(name), "a\nb\nc\n", half+"\nb\nc\n", "a\nb\n"+half+"y\n")
		if got != "" || clean {
			t.Errorf("%s: a merge of %d bytes is clean", name, len(got))
		}
	}
	if _, clean := memory.MergeWithoutBase(parse("MEMORY.md"), half+"\n", half+"y\n"); clean {
		t.Error("a union that is too large is clean")
	}
}

func TestMarked(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, base, mine, theirs, want string }{
		{"no overlap", lines("a b c"), lines("A b c"), lines("a b C"), lines("A b C")},
		{
			"overlap", lines("a b c d e"), lines("a x c d E"), lines("a y c d e"),
			"a\n<<<<<<< saved copy\nx\n=======\ny\n>>>>>>> team\nc\nd\nE\n",
		},
		{
			"common lines inside", lines("a"), lines("a m s n"), lines("a t s"),
			"a\n<<<<<<< saved copy\nm\n=======\nt\n>>>>>>> team\ns\n<<<<<<< saved copy\nn\n=======\n>>>>>>> team\n",
		},
		{
			"no base", "", lines("a m"), lines("a t"),
			"a\n<<<<<<< saved copy\nm\n=======\nt\n>>>>>>> team\n",
		},
		{
			"unfinished lines", "a", "b", "c",
			"<<<<<<< saved copy\nb\n=======\nc\n>>>>>>> team",
		},
		{
			"CRLF", "a\r\n", "b\r\n", "c\r\n",
			"<<<<<<< saved copy\r\nb\r\n=======\r\nc\r\n>>>>>>> team\r\n",
		},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, memory.Marked(test.base, test.mine, test.theirs)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
