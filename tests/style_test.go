package tests

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// maxLines is the most that a production file may have, in lines.
const maxLines = 500

// saysNothing are package names that do not tell what is inside.
var saysNothing = []string{"util", "utils", "common", "helper", "helpers", "manager", "misc"}

func TestStyle(t *testing.T) {
	t.Parallel()
	for _, complaint := range unstyled(sources(t)) {
		t.Error(complaint)
	}
}

// unstyled names every file that breaks a rule that a program can see.
func unstyled(files []source) []string {
	var complaints []string
	for _, file := range files {
		if !file.isTest() && file.lines > maxLines {
			complaints = append(complaints, fmt.Sprintf("%s: %d lines, at most %d: a file is one idea", file.file, file.lines, maxLines))
		}
		if file.sleeps && file.dir() != "tests" && !strings.HasPrefix(file.dir(), "tests/") {
			complaints = append(complaints, fmt.Sprintf("%s: calls time.Sleep: use testing/synctest, a channel or a timer", file.file))
		}
		for _, name := range []string{strings.TrimSuffix(file.pkg, "_test"), path.Base(file.dir())} {
			if slices.Contains(saysNothing, name) {
				complaints = append(complaints, fmt.Sprintf("%s: the name %q says nothing", file.file, name))
				break
			}
		}
	}
	return complaints
}

// TestStyleCanFail breaks each rule once.
func TestStyleCanFail(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		file source
		want int
	}{
		{"long", source{file: "sync/x.go", pkg: "sync", lines: 501}, 1},
		{"long enough", source{file: "sync/x.go", pkg: "sync", lines: 500}, 0},
		{"long test", source{file: "sync/x_test.go", pkg: "sync_test", lines: 501}, 0},
		{"sleeping test", parse(t, "sync/x_test.go", []byte("package sync_test\nimport \"time\"\nfunc x() { time.Sleep(1) }\n")), 1},
		{"sleeping program", parse(t, "sync/x.go", []byte("package sync\nimport \"time\"\nvar nap = time.Sleep\n")), 1},
		{"sleeping system test", parse(t, "tests/x_test.go", []byte("package tests\nimport \"time\"\nfunc x() { time.Sleep(1) }\n")), 0},
		{"another Sleep", parse(t, "sync/x_test.go", []byte("package sync_test\nfunc x(c clock) { c.Sleep(1) }\n")), 0},
		{"package name", source{file: "sync/x.go", pkg: "helpers"}, 1},
		{"directory name", source{file: "internal/misc/x.go", pkg: "misc"}, 1},
	}
	for _, test := range tests {
		if got := unstyled([]source{test.file}); len(got) != test.want {
			t.Errorf("%s: %d complaints %q, want %d", test.name, len(got), got, test.want)
		}
	}
}
