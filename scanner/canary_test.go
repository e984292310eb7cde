package scanner_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/scanner"
)

func TestCanaryFindsEveryFamily(t *testing.T) {
	if err := scanner.New(scanner.Options{}).Canary(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRuleSetNamesWhatIsLoaded(t *testing.T) {
	first := scanner.New(scanner.Options{}).RuleSet()
	if !regexp.MustCompile(`^3-[0-9a-f]{12}$`).MatchString(first) {
		t.Errorf("RuleSet() = %q", first)
	}
	second, err := scanner.LoadedVersion()
	if err != nil || first != second {
		t.Errorf("loaded again: %q, %v, want %q", second, err, first)
	}
}

// childStarts makes this test binary time its own first scan.
const childStarts = "TEAMMEMD_TEST_CHILD_STARTS"

// BenchmarkFirstScan measures, in fresh processes, what the first scan costs
// over a later one: rules, canary and the text itself.
func BenchmarkFirstScan(b *testing.B) {
	if os.Getenv(childStarts) != "" {
		timeFirstScan(b)
		return
	}
	var took, heap, rest float64
	runs := 0
	for b.Loop() {
		child := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkFirstScan$", "-test.benchtime=1x")
		child.Env = append(os.Environ(), childStarts+"=1")
		output, err := child.CombinedOutput()
		if err != nil {
			b.Fatalf("the child failed: %v", err)
		}
		line := regexp.MustCompile(`first=(\S+) canary=(\S+) heap=(\S+)`).FindStringSubmatch(string(output))
		if line == nil {
			b.Fatal("the child printed no figures")
		}
		var first, canary, size float64
		if _, err := fmt.Sscan(strings.Join(line[1:], " "), &first, &canary, &size); err != nil {
			b.Fatal(err)
		}
		took, rest, heap, runs = took+first, rest+canary, heap+size, runs+1
	}
	b.ReportMetric(took/float64(runs), "ms/first-scan")
	b.ReportMetric(rest/float64(runs), "ms/canary")
	b.ReportMetric(heap/float64(runs), "MB-heap")
	b.ReportMetric(0, "ns/op")
}

func timeFirstScan(b *testing.B) {
	b.Helper()
	text := "the value: " + sample(b, "github-pat") + "\n"
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := scanner.New(scanner.Options{})
	start := time.Now()
	if findings, err := s.Scan(b.Context(), "a.md", text); err != nil || len(findings) != 1 {
		b.Fatalf("%d findings, %v", len(findings), err)
	}
	first := time.Since(start)
	start = time.Now()
	if err := s.Canary(b.Context()); err != nil {
		b.Fatal(err)
	}
	canary := time.Since(start)
	runtime.GC()
	runtime.ReadMemStats(&after)
	fmt.Fprintf(os.Stderr, "first=%.2f canary=%.2f heap=%.2f\n", ms(first), ms(canary), (float64(after.HeapAlloc)-float64(before.HeapAlloc))/1e6)
	runtime.KeepAlive(s)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
