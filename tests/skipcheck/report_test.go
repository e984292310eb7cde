package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// events writes "go test -json" lines: action, test, output.
func events(lines ...[3]string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(`{"Action":"` + l[0] + `","Package":"example.com/p","Test":"` + l[1] + `","Output":"` + l[2] + `"}` + "\n")
	}
	return b.String()
}

func TestRead(t *testing.T) {
	t.Parallel()
	list, err := readPermitted(strings.NewReader("# comment\n\nexample\\.com/p\\.TestMac/.*  # needs macOS\nexample\\.com/p\\.TestTraced: no strace # not here\nexample\\.com/p\\.TestShort: short run # another run has it\n"))
	if err != nil {
		t.Fatal(err)
	}
	skip := func(test string) string {
		return events([3]string{"run", test}, [3]string{"output", test, `=== RUN   ` + test + `\n`}, [3]string{"output", test, `    x_test.go:5: no strace\n`},
			[3]string{"output", test, `--- SKIP: ` + test + ` (0.00s)\n`}, [3]string{"skip", test})
	}
	closing := func(line string) string { return events([3]string{"output", "", line + `\n`}) }
	tests := []struct {
		name, in, out string
		sum           summary
	}{
		{
			"a passing test is silent, its package closes",
			events([3]string{"output", "TestA", `talk\n`}, [3]string{"pass", "TestA"}) + closing(`ok  \texample.com/p\t0.1s`) + events([3]string{"pass"}),
			"ok  \texample.com/p\t0.1s\n",
			summary{},
		},
		{
			"a failing test is shown",
			events([3]string{"output", "TestA", `=== RUN   TestA\n`}, [3]string{"output", "TestA", `    x_test.go:4: bad\n`}, [3]string{"fail", "TestA"}) + closing(`FAIL\texample.com/p\t0.1s`) + events([3]string{"fail"}),
			"    x_test.go:4: bad\nFAIL\texample.com/p\t0.1s\n",
			summary{failed: true},
		},
		{
			"a package may fail alone",
			events([3]string{"output", "", `found a leaked goroutine\n`}, [3]string{"fail"}),
			"found a leaked goroutine\n",
			summary{failed: true},
		},
		{
			"a build may fail",
			`{"ImportPath":"example.com/p","Action":"build-output","Output":"x.go:1: no\n"}` + "\n" + `{"ImportPath":"example.com/p","Action":"build-fail"}` + "\n",
			"x.go:1: no\n",
			summary{failed: true},
		},
		{
			"a forbidden skip", skip("TestA"),
			"SKIP example.com/p.TestA: x_test.go:5: no strace (NOT in the list of permitted skips)\n1 skipped, 1 of them not permitted\n",
			summary{skipped: 1, forbidden: 1},
		},
		{
			"a permitted skip", skip("TestMac/swap"),
			"SKIP example.com/p.TestMac/swap: x_test.go:5: no strace (permitted: needs macOS)\n1 skipped, 0 of them not permitted\n",
			summary{skipped: 1},
		},
		{
			"a skip for the reason that is permitted", skip("TestTraced"),
			"SKIP example.com/p.TestTraced: x_test.go:5: no strace (permitted: not here)\n1 skipped, 0 of them not permitted\n",
			summary{skipped: 1},
		},
		{
			"a skip for another reason than the one that is permitted", skip("TestShort"),
			"SKIP example.com/p.TestShort: x_test.go:5: no strace (NOT in the list of permitted skips)\n1 skipped, 1 of them not permitted\n",
			summary{skipped: 1, forbidden: 1},
		},
		{
			"a pattern matches whole names",
			skip("TestMac"),
			"SKIP example.com/p.TestMac: x_test.go:5: no strace (NOT in the list of permitted skips)\n1 skipped, 1 of them not permitted\n",
			summary{skipped: 1, forbidden: 1},
		},
		{"a package without tests is no skip", events([3]string{"skip"}), "", summary{}},
		{"a test that died", events([3]string{"output", "TestA", `exit status 3\n`}), "exit status 3\n", summary{}},
		{"plain text goes through", "go: no such flag\n", "go: no such flag\n", summary{}},
		{"no newline at the end", "cut", "cut", summary{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			sum, err := newReport(&out, list).read(strings.NewReader(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.out, out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if sum != test.sum {
				t.Errorf("summary %+v, want %+v", sum, test.sum)
			}
		})
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	in := events([3]string{"output", "TestA", `    a_test.go:7: FIGURE 20 histories\n`}, [3]string{"output", "TestA", `    a_test.go:9: talk of a FIGURE\n`}, [3]string{"pass", "TestA"})
	for figures, want := range map[bool]string{false: "", true: "FIGURE 20 histories\n"} {
		var out strings.Builder
		r := newReport(&out, nil)
		r.figures = figures
		if _, err := r.read(strings.NewReader(in)); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("figures %t: output %q, want %q", figures, out.String(), want)
		}
	}
}

func TestPermittedNeedsReason(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"pkg.TestA", "pkg.TestA # ", "pkg.( # unclosed"} {
		if _, err := readPermitted(strings.NewReader(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
