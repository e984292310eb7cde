package main

import (
	"fmt"
	"regexp"
	"strings"
)

// end is how a run of a guard ended.
type end string

const (
	passed  end = "passed"
	bitten  end = "bitten"  // a test failed by an assertion
	died    end = "died"    // a panic, the time limit, a signal: no assertion
	skipped end = "skipped" // a test passed by not running
	empty   end = "empty"   // no test has that name
)

// verdict is what the output of a test binary tells.
type verdict struct {
	end    end
	test   string // the first that failed or was skipped
	seed   string // of the simulation, where the failure names one
	output string
}

var (
	failLine = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	skipLine = regexp.MustCompile(`(?m)^\s*--- SKIP: (\S+)`)
	seedWord = regexp.MustCompile(`\bseed (\d+)`)
	deadly   = regexp.MustCompile(`(?m)^(panic: |fatal error: |signal: |\*\*\* Test killed)`)
)

// judge reads what a test binary printed with -test.v; ok says that its exit code
// was 0.
func judge(output string, ok bool) verdict {
	v := verdict{output: output}
	fail, skip := failLine.FindStringSubmatch(output), skipLine.FindStringSubmatch(output)
	switch {
	case strings.Contains(output, "testing: warning: no tests to run"):
		v.end = empty
	case ok && skip != nil:
		v.end, v.test = skipped, skip[1]
	case ok:
		v.end = passed
	case fail == nil || deadly.MatchString(output):
		v.end = died
	default:
		v.end, v.test = bitten, fail[1]
		if seed := seedWord.FindStringSubmatch(output); seed != nil {
			v.seed = seed[1]
		}
	}
	return v
}

// String is the verdict in a few words.
func (v verdict) String() string {
	switch v.end {
	case bitten:
		if v.seed != "" {
			return fmt.Sprintf("%s, seed %s", v.test, v.seed)
		}
		return v.test
	case skipped:
		return fmt.Sprintf("%s was skipped", v.test)
	case died:
		return "it died without an assertion"
	case empty:
		return "no test of that name"
	case passed:
	}
	return "every test passed"
}
