package scanner_test

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/samples"
)

func TestCommentsDoNotAllow(t *testing.T) {
	for _, family := range samples.Families() {
		value := family.Sample()
		for _, text := range []string{
			value + " # gitleaks:allow\n",
			"# gitleaks:allow\n" + value + "\n",
			"<!-- gitleaks:allow -->\n" + value + " <!-- betterleaks:allow nosemgrep pragma: allowlist secret -->\n",
		} {
			if _, ok := byRule(scan(t, "a.md", text), family.Rule); !ok {
				t.Errorf("%s: a comment let it pass", family.Rule)
			}
		}
	}
}

func TestNamesDoNotAllow(t *testing.T) {
	names := []string{
		"go.mod", "go.sum", "vendor/github.com/x/y.go", "vendor/modules.txt", "node_modules/x/index.js", "shot.png",
		"font.woff2", "report.pdf", "yarn.lock", "package-lock.json", "poetry.lock", "gitleaks.toml", ".gitleaks.toml",
		".gitleaksignore", "@octokit/auth-token/README.md", "recipe.bb", "jquery.min.js", "venv/lib/x.py", "a.tf",
		"",
	}
	for _, family := range samples.Families() {
		for _, name := range names {
			if _, ok := byRule(scan(t, name, "the value: "+family.Sample()+"\n"), family.Rule); !ok {
				t.Errorf("%s: not found in %q", family.Rule, name)
			}
		}
	}
}

func TestWordsDoNotAllow(t *testing.T) {
	tests := []struct{ rule, text string }{
		{"github-pat", "gh" + "p_false" + sample(t, "github-pat")[9:]},
		{"stripe-access-token", "sk" + "_live_" + sample(t, "stripe-access-token")[8:20] + "null"},
		{"npm-access-token", "np" + "m_" + sample(t, "npm-access-token")[4:36] + "null"},
		{"slack-bot-token", sample(t, "slack-bot-token") + "false"},
		{"gitlab-pat", "gl" + "pat-true" + sample(t, "gitlab-pat")[10:]},
	}
	for _, tt := range tests {
		if _, ok := byRule(scan(t, "a.md", tt.text+"\n"), tt.rule); !ok {
			t.Errorf("%s: a common word let it pass", tt.rule)
		}
	}
}

func TestIgnoreFilesDoNotAllow(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	ignored := "a.md:github-pat:1\n:github-pat:1\n:github-pat:0\n"
	configured := "title = \"none\"\n[allowlist]\nregexes = ['''.*''']\n"
	for name, text := range map[string]string{".gitleaksignore": ignored, ".gitleaks.toml": configured} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GITLEAKS_CONFIG", filepath.Join(folder, ".gitleaks.toml"))
	t.Setenv("GITLEAKS_CONFIG_TOML", configured)
	if err := scanner.Load(); err != nil { // as a fresh process would, here
		t.Fatal(err)
	}
	if _, ok := byRule(scan(t, "a.md", sample(t, "github-pat")+"\n"), "github-pat"); !ok {
		t.Error("a file or a variable let it pass")
	}
}

func TestEncodedSecretsAreFound(t *testing.T) {
	percent := func(value string) string {
		var encoded strings.Builder
		for i := range len(value) {
			encoded.WriteString("%" + hex.EncodeToString([]byte{value[i]}))
		}
		return encoded.String()
	}
	encodings := []struct {
		name   string
		encode func(string) string
	}{
		{"base64", func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) }},
		{"base64 for URLs", func(v string) string { return base64.RawURLEncoding.EncodeToString([]byte(v)) }},
		{"hex", func(v string) string { return hex.EncodeToString([]byte(v)) }},
		{"percent", percent},
		{"base64 twice", func(v string) string {
			return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(v))))
		}},
		{"hex in base64", func(v string) string {
			return base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString([]byte(v))))
		}},
	}
	for _, family := range samples.Families() {
		for _, e := range encodings {
			before := "# 設定\n\nthe value is "
			encoded := e.encode(family.Sample())
			text := before + encoded + "\nend\n"
			finding, ok := byRule(scan(t, "a.md", text), family.Rule)
			if !ok {
				t.Errorf("%s in %s: not found", family.Rule, e.name)
				continue
			}
			start, end := finding.Span()
			if finding.Line != 3 || start < len(before) || end > len(before)+len(encoded)+1 {
				t.Errorf("%s in %s: line %d, bytes %d to %d; it is on line 3, %d to %d",
					family.Rule, e.name, finding.Line, start, end, len(before), len(before)+len(encoded))
			}
		}
	}
}
