package scanner_test

import (
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/samples"
)

func TestSecretsInNames(t *testing.T) {
	frames := []struct{ before, after string }{
		{"", ""},
		{"", ".md"},
		{"notes/", ".md"},
		{"notes/", "/deploy.md"},
		{"鍵/my key ", ".md"},
	}
	for _, family := range samples.Families() {
		value := family.Sample()
		if strings.ContainsAny(value, "\n/") {
			continue // no name can hold it
		}
		for _, frame := range frames {
			name := frame.before + value + frame.after
			findings := scan(t, name, "# Deploy\n")
			finding, ok := byRule(findings, family.Rule)
			if !ok {
				t.Errorf("%s in a name %q...%q: not found", family.Rule, frame.before, frame.after)
				continue
			}
			start, end := finding.Span()
			if !finding.InName || finding.Line != 0 || finding.Column != len(frame.before)+1 || start != len(frame.before) {
				t.Errorf("%s in a name %q...%q: %+v", family.Rule, frame.before, frame.after, finding)
			}
			if end > len(name) || end < len(frame.before)+len(value) {
				t.Errorf("%s in a name %q...%q: ends at %d, want %d", family.Rule, frame.before, frame.after, end, len(frame.before)+len(value))
			}
			if masked := scanner.MaskName(name, findings); strings.Contains(masked, value[8:]) || !strings.Contains(masked, family.Rule) {
				t.Errorf("%s: masked name has %d bytes and shows the value or hides the rule", family.Rule, len(masked))
			}
		}
	}
}

func TestFindingsInNameAndText(t *testing.T) {
	name, text := sample(t, "github-pat")+".md", "the key\n"+sample(t, "gcp-api-key")+"\n"
	findings := scan(t, name, text)
	if len(findings) != 2 || !findings[0].InName || findings[0].Rule != "github-pat" || findings[1].InName || findings[1].Line != 2 {
		t.Errorf("got %+v", findings)
	}
}

func TestMaskNameKeepsCleanNames(t *testing.T) {
	for _, name := range []string{"", "a.md", "鍵/notes.md", "a/b/c"} {
		inText := scan(t, name, sample(t, "github-pat"))
		if got := scanner.MaskName(name, inText); got != name {
			t.Errorf("MaskName(%q) = %q", name, got)
		}
	}
}
