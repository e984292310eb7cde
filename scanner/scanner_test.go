package scanner_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/samples"
)

// sample returns the planted value of a rule.
func sample(tb testing.TB, rule string) string {
	tb.Helper()
	family, ok := samples.Find(rule)
	if !ok {
		tb.Fatalf("no family %q", rule)
	}
	return family.Sample()
}

// shared serves the tests that need no scanner of their own. Its deadline is for
// machines that do ten things at once.
var shared = scanner.New(scanner.Options{Deadline: time.Minute})

// scan fails the test on an error.
func scan(tb testing.TB, name, text string) []scanner.Finding {
	tb.Helper()
	findings, err := shared.Scan(tb.Context(), name, text)
	if err != nil {
		tb.Fatalf("Scan: %v", err)
	}
	return findings
}

// byRule returns the first finding of a rule.
func byRule(findings []scanner.Finding, rule string) (scanner.Finding, bool) {
	for _, finding := range findings {
		if finding.Rule == rule {
			return finding, true
		}
	}
	return scanner.Finding{}, false
}

func TestEveryFamilyIsFound(t *testing.T) {
	contexts := []struct{ name, before, after string }{
		{"bare line", "", ""},
		{"line among lines", "# Deploy\n\nuse\n", "\nthen go on\n"},
		{"key and value", "credential = \"", "\"\n"},
		{"yaml", "credential: ", "\n"},
		{"fenced code", "Run this:\n\n```sh\nexport CREDENTIAL='", "'\n```\n"},
		{"inline code", "Use `", "` for the deploy.\n"},
		{"table cell", "| key | value |\n|---|---|\n| deploy | ", " |\n"},
		{"CRLF", "# Deploy\r\n\r\n", "\r\nthen go on\r\n"},
		{"frontmatter", "---\nname: deploy\ncredential: ", "\n---\ntext\n"},
	}
	for _, family := range samples.Families() {
		value := family.Sample()
		for _, c := range contexts {
			if c.name == "CRLF" {
				value = strings.ReplaceAll(value, "\n", "\r\n")
			}
			text := c.before + value + c.after
			finding, ok := byRule(scan(t, "notes/deploy.md", text), family.Rule)
			if !ok {
				t.Errorf("%s, %s: not found", family.Rule, c.name)
				continue
			}
			start, end := finding.Span()
			if got := text[start:end]; got != value {
				t.Errorf("%s, %s: the span is %d bytes at %d, want %d at %d", family.Rule, c.name, end-start, start, len(value), len(c.before))
			}
			if want := 1 + strings.Count(c.before, "\n"); finding.Line != want {
				t.Errorf("%s, %s: line %d, want %d", family.Rule, c.name, finding.Line, want)
			}
			if want := len(c.before) - strings.LastIndexByte(c.before, '\n'); finding.Column != want {
				t.Errorf("%s, %s: column %d, want %d", family.Rule, c.name, finding.Column, want)
			}
			if !finding.Tier.Holds() || finding.Reason == "" || finding.InName {
				t.Errorf("%s, %s: %+v", family.Rule, c.name, finding)
			}
		}
	}
}

func TestLinesAndColumnsCountBytes(t *testing.T) {
	value := sample(t, "stripe-access-token")
	tests := []struct {
		name, before string
		line, column int
	}{
		{"first byte", "", 1, 1},
		{"second line", "one\n", 2, 1},
		{"after an empty first line", "\n", 2, 1},
		{"many empty lines", "\n\n\n\n", 5, 1},
		{"after a tab", "one\n\t", 2, 2},
		{"after CJK", "一行目\n鍵は ", 2, 8},
		{"after emoji", "🔑 ", 1, 6},
		{"after combining marks", "e\u0301 ", 1, 5},
		{"after CRLF", "one\r\ntwo\r\nthe key ", 3, 9},
		{"after a lone CR", "one\rtwo ", 1, 9},
		{"after a BOM", "\ufeffkey ", 1, 8},
	}
	for _, tt := range tests {
		for _, after := range []string{"", "\n", "\r\nend", " 終\n"} {
			finding, ok := byRule(scan(t, "a.md", tt.before+value+after), "stripe-access-token")
			if !ok {
				t.Errorf("%s, then %q: not found", tt.name, after)
				continue
			}
			if finding.Line != tt.line || finding.Column != tt.column || finding.Length != len(value) {
				t.Errorf("%s, then %q: %d:%d+%d, want %d:%d+%d", tt.name, after,
					finding.Line, finding.Column, finding.Length, tt.line, tt.column, len(value))
			}
		}
	}
}

func TestFindingsAreSortedAndSteady(t *testing.T) {
	var text strings.Builder
	families := samples.Families()
	for i := range families { // last rule first, two to a line
		text.WriteString(families[len(families)-1-i].Sample())
		text.WriteString([]string{"\n", " "}[i%2])
	}
	first := scan(t, "a.md", text.String())
	if len(first) < len(families) {
		t.Fatalf("%d findings of %d samples", len(first), len(families))
	}
	for i := 1; i < len(first); i++ {
		a, b := first[i-1], first[i]
		if a.Line > b.Line || a.Line == b.Line && (a.Column > b.Column || a.Column == b.Column && a.Rule >= b.Rule) {
			t.Errorf("%s at %d:%d stands before %s at %d:%d", a.Rule, a.Line, a.Column, b.Rule, b.Line, b.Column)
		}
	}
	for range 5 {
		if diff := cmp.Diff(first, scan(t, "a.md", text.String()), cmpopts.EquateComparable(scanner.Finding{})); diff != "" {
			t.Fatalf("the same text gave other findings:\n%s", diff)
		}
	}
}

func TestScanIsSafeForConcurrentUse(t *testing.T) {
	s := scanner.New(scanner.Options{})
	rules := []string{"github-pat", "private-key", "slack-bot-token", "gcp-api-key"}
	var group sync.WaitGroup
	for _, rule := range rules {
		text := sample(t, rule) + "\n"
		for range 4 {
			group.Go(func() {
				findings, err := s.Scan(t.Context(), "a.md", text)
				if _, ok := byRule(findings, rule); err != nil || !ok {
					t.Errorf("%s: %d findings, %v", rule, len(findings), err)
				}
			})
		}
	}
	group.Wait()
}

func TestTiers(t *testing.T) {
	assigned := "api_" + "key = \"" + strings.TrimPrefix(sample(t, "twilio-api-key"), "SK") + "x\"\n"
	token := strings.Join([]string{"eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiI3NzAxMjM5ODgwMSJ9", sample(t, "github-pat")[4:]}, ".")
	tests := []struct {
		rule, text string
		want       scanner.Tier
	}{
		{"github-pat", sample(t, "github-pat"), scanner.Block1},
		{"private-key", sample(t, "private-key"), scanner.Block2},
		{"jwt", "the cookie was " + token, scanner.Block2},
		{"tm-labelled-token", assigned, scanner.Block3},
		{"tm-password-hash", "$2" + "b$12$" + strings.Repeat("aB3", 17) + "xy", scanner.Warn},
	}
	for _, tt := range tests {
		finding, ok := byRule(scan(t, "a.md", tt.text), tt.rule)
		if !ok || finding.Tier != tt.want {
			t.Errorf("%s: tier %q (found: %t), want %q", tt.rule, finding.Tier, ok, tt.want)
		}
	}
	for tier, want := range map[scanner.Tier]bool{scanner.Block1: true, scanner.Block2: true, scanner.Block3: true, scanner.Warn: false, "": true, "new": true} {
		if got := tier.Holds(); got != want {
			t.Errorf("%q holds: %t, want %t", tier, got, want)
		}
	}
}

func TestCleanTextIsClean(t *testing.T) {
	texts := []string{
		"",
		"\n",
		"# Deploy\n\nThe key is kept in the vault under `deploy/stripe`. Rotate it every month.\n",
		"---\nname: build\ntype: project\n---\n\nRun `make test`; the password prompt comes from sudo.\n",
		"鍵は金庫にある。\n",
	}
	for _, text := range texts {
		if findings := scan(t, "notes/clean.md", text); findings != nil {
			t.Errorf("%q: %v", text, findings)
		}
	}
}
