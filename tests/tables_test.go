package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
)

// rowed reports whether the document has a table row that begins with cell.
func rowed(document, cell string) bool { return strings.Contains(document, "\n| "+cell+" |") }

// TestReasonsAreExplained finds every reason why a file is held in the README.
func TestReasonsAreExplained(t *testing.T) {
	t.Parallel()
	reasons := regexp.MustCompile(`Held\w+\s+Reason = "([^"]+)"`).FindAllStringSubmatch(read(t, "api", "reason.go"), -1)
	if len(reasons) < 10 {
		t.Fatalf("found %d reasons in api/reason.go", len(reasons))
	}
	readme := read(t, "README.md")
	for _, reason := range reasons {
		if !rowed(readme, "`"+reason[1]+"`") {
			t.Errorf("README.md does not explain %q", reason[1])
		}
	}
}

// TestExitCodesAreExplained finds every exit code in docs/operate.md.
func TestExitCodesAreExplained(t *testing.T) {
	t.Parallel()
	operate := read(t, "docs", "operate.md")
	for _, row := range append(api.Errors, api.ErrorRow{Exit: api.ExitOK}) {
		if !rowed(operate, strconv.Itoa(row.Exit)) {
			t.Errorf("docs/operate.md does not explain exit code %d (%v)", row.Exit, row.Err)
		}
	}
}

// TestLinksLeadSomewhere follows every link from a document to a file of ours.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	followed := 0
	for name, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			followed++
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if followed == 0 {
		t.Error("no document has a link")
	}
}
