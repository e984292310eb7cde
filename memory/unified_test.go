package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/teammem/teammemd/memory"
)

func TestUnified(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, before, after, want string }{
		{"equal", "a\n", "a\n", ""},
		{"created", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"emptied", "a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"one line", "a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n"},
		{"context", lines("1 2 3 4 5 6 7 8 9"), lines("1 2 3 4 x 6 7 8 9"), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
		{"inserted", lines("1 2 3 4 5 6 7 8 9"), lines("1 2 3 4 5 x 6 7 8 9"), "@@ -3,6 +3,7 @@\n 3\n 4\n 5\n+x\n 6\n 7\n 8\n"},
		{
			"near changes are one hunk",
			lines("a 1 2 3 4 5 6 b"), lines("A 1 2 3 4 5 6 B"),
			"@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n",
		},
		{
			"far changes are two",
			lines("a 1 2 3 4 5 6 7 b"), lines("A 1 2 3 4 5 6 7 B"),
			"@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n",
		},
		{
			"unfinished lines", "a\nb", "a\nb\n",
			"@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
		},
		{
			"unfinished after", "a\n", "a\nb",
			"@@ -1 +1,2 @@\n a\n+b\n\\ No newline at end of file\n",
		},
		{"line ends", "a\r\n", "a\n", "@@ -1 +1 @@\n-a\r\n+a\n"},
	}
	for _, test := range tests {
		want := test.want
		if want != "" {
			want = "--- old\n+++ new\n" + want
		}
		if diff := cmp.Diff(want, memory.Unified("old", "new", test.before, test.after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestUnifiedApplies proves that a diff holds exactly the change, for any texts.
func TestUnifiedApplies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawSides(t, plain)
		before, after := drawn.base, drawn.mine
		diff := memory.Unified("old", "new", before, after)
		got, err := apply(before, diff)
		if err != nil || got != after {
			t.Fatalf("applying %q to %q gives %q, %v, want %q", diff, before, got, err, after)
		}
	})
}

// apply is a small patch(1) that takes nothing on trust.
func apply(text, diff string) (string, error) {
	if diff == "" {
		return text, nil
	}
	lines := strings.SplitAfter(text, "\n")
	body, found := strings.CutPrefix(diff, "--- old\n+++ new\n")
	if !found {
		return "", fmt.Errorf("no header: %q", diff)
	}
	var out strings.Builder
	at := 0
	for _, hunk := range strings.Split("\n"+body, "\n@@ -")[1:] {
		head, changes, _ := strings.Cut(hunk, " @@\n")
		var from, count int
		if n, _ := fmt.Sscanf(head, "%d,%d", &from, &count); n == 1 {
			count = 1
		}
		if count > 0 {
			from--
		}
		for ; at < from; at++ {
			out.WriteString(lines[at])
		}
		changes = strings.TrimSuffix(changes, "\n") + "\n"
		for change := range strings.SplitAfterSeq(strings.ReplaceAll(changes, "\n\\ No newline at end of file\n", "\x00"), "\n") {
			for part := range strings.SplitAfterSeq(change, "\x00") {
				if part == "" {
					continue
				}
				line := strings.TrimSuffix(part[1:], "\x00")
				if part[0] != '+' {
					if at >= len(lines) || lines[at] != line {
						return "", fmt.Errorf("line %d is not %q", at+1, line)
					}
					at++
					count--
				}
				if part[0] != '-' {
					out.WriteString(line)
				}
			}
		}
		if count != 0 {
			return "", fmt.Errorf("the count of %q is wrong by %d", head, count)
		}
	}
	return out.String() + strings.Join(lines[at:], ""), nil
}
