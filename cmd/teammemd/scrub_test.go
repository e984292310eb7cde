package main

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/samples"
)

// TestScrubEveryFamily scrubs a line of every kind of secret: nothing of the value
// is left, the rest stays, and the file may then travel.
func TestScrubEveryFamily(t *testing.T) {
	sc := scanner.New(scanner.Options{})
	for _, family := range samples.Families() {
		t.Run(family.Rule, func(t *testing.T) {
			value := family.Sample()
			text := "before\n" + value + "\nafter\n"
			clean, _, rules, left, err := scrubbed(t.Context(), sc, text, 2)
			if err != nil || len(left) > 0 || len(rules) == 0 {
				t.Fatalf("rules %v, left %v, %v", rules, left, err)
			}
			if findings, err := sc.Scan(t.Context(), "", clean); err != nil || len(findings) != 0 {
				t.Fatalf("%d findings are left, %v", len(findings), err)
			}
			if clean == text || strings.Contains(clean, value) {
				t.Error("the value is still there")
			}
			if !strings.HasPrefix(clean, "before\n") || !strings.HasSuffix(clean, "\nafter\n") {
				t.Error("more than the value is gone")
			}
		})
	}
}

func TestScrubLine(t *testing.T) {
	sc := scanner.New(scanner.Options{})
	pat, stripe := sample(t, "github-pat"), sample(t, "stripe-access-token")
	tests := []struct {
		name, text string
		line       int
		want       string
		rules      []string
	}{
		{"nothing", "a\nb\n", 1, "a\nb\n", nil},
		{"another line", "a\n" + pat + "\n", 1, "a\n" + pat + "\n", nil},
		{"one", "x " + pat + " y\n", 1, "x <github-pat removed> y\n", []string{"github-pat"}},
		{"two", pat + " and " + stripe + " too\n", 1, "<github-pat removed> and <stripe-access-token removed> too\n", []string{"github-pat", "stripe-access-token"}},
		{"twice the same", pat + " " + pat + "\n", 1, "<github-pat removed> <github-pat removed>\n", []string{"github-pat"}},
		{"unicode and CRLF before it", "ä\r\n→ " + pat + "\r\nz", 2, "ä\r\n→ <github-pat removed>\r\nz", []string{"github-pat"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := sc.Scan(t.Context(), "", tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got, rules := scrubLine(tt.text, tt.line, findings)
			if got != tt.want {
				t.Errorf("not the text that was wanted, rules %v", rules)
			}
			if diff := cmp.Diff(tt.rules, rules); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestScrubFollowsLinks: the file behind a link loses the value, not the link.
func TestScrubFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	value := sample(t, "github-pat")
	file := write(t, dir, "real.md", value+"\n")
	link := filepath.Join(dir, "link.md")
	if err := os.Symlink(file, link); err != nil {
		t.Skipf("SKIP: this system makes no links here: %v", err)
	}
	out, talk, code := inProcess(t, map[string]string{"HOME": dir}, "scrub", link+":1")
	if code != api.ExitOK {
		t.Fatalf("exit %d, %s%s", code, out, talk)
	}
	text, err := os.ReadFile(file)
	if err != nil || string(text) != "<github-pat removed>\n" {
		t.Errorf("%v", err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v", err)
	}
}

// TestScrubReachesTheWhole: a key over many lines goes whichever of them is named,
// a value found by decoding in its encoded form, and one whose neighbour hid it.
func TestScrubReachesTheWhole(t *testing.T) {
	sc := scanner.New(scanner.Options{})
	pem, pat := sample(t, "private-key"), sample(t, "github-pat")
	encoded := base64.StdEncoding.EncodeToString([]byte(pat))
	for _, tt := range []struct {
		name, text string
		line       int
		gone       string
	}{
		{"a key by its first line", "a\n" + pem + "\nz\n", 2, pem},
		{"a key by its last line", "a\n" + pem + "\nz\n", 2 + strings.Count(pem, "\n"), pem},
		{"a key by a line within", "a\n" + pem + "\nz\n", 4, pem},
		{"base64", "a\n" + encoded + "\nz\n", 2, encoded},
		{"base64 twice", "a\n" + base64.StdEncoding.EncodeToString([]byte(encoded)) + "\nz\n", 2, base64.StdEncoding.EncodeToString([]byte(encoded))},
		{"one beside another", "a\n" + pat + encoded + " " + pat + "\nz\n", 2, pat},
	} {
		clean, line, rules, left, err := scrubbed(t.Context(), sc, tt.text, tt.line)
		if err != nil || line != 2 || len(rules) == 0 || len(left) > 0 {
			t.Errorf("%s: line %d, rules %v, left %v, %v", tt.name, line, rules, left, err)
		}
		for _, piece := range traces(tt.gone) {
			if strings.Contains(clean, piece) {
				t.Errorf("%s: a piece is left", tt.name)
			}
		}
		if !strings.HasPrefix(clean, "a\n") || !strings.HasSuffix(clean, "\nz\n") {
			t.Errorf("%s: more than the value is gone", tt.name)
		}
		if findings, err := sc.Scan(t.Context(), "", clean); err != nil || len(findings) > 0 {
			t.Errorf("%s: %d findings are left, %v", tt.name, len(findings), err)
		}
	}
}

// TestScrubLeavesFilesAlone: what may not be written to, and what has other names
// under which the value would stay.
func TestScrubLeavesFilesAlone(t *testing.T) {
	dir := t.TempDir()
	text := sample(t, "github-pat") + "\n"
	readOnly := write(t, dir, "readonly.md", text)
	if err := os.Chmod(readOnly, 0o400); err != nil {
		t.Fatal(err)
	}
	files := []string{readOnly}
	if linked := write(t, dir, "linked.md", text); os.Link(linked, linked+".too") == nil && runtime.GOOS != "windows" {
		files = append(files, linked)
	}
	for _, file := range files {
		_, talk, code := inProcess(t, map[string]string{"HOME": dir}, "scrub", file+":1")
		if code != api.ExitUsage || !strings.Contains(talk, "hint: ") {
			t.Errorf("%s: exit %d, %q", filepath.Base(file), code, talk)
		}
		if now, err := os.ReadFile(file); err != nil || string(now) != text {
			t.Errorf("%s was changed: %v", filepath.Base(file), err)
		}
	}
}

// TestExchangeTextPutsBack: what was saved at the very moment stays, and nothing
// else is left in the directory.
func TestExchangeTextPutsBack(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "a.md", "newer")
	err := exchangeText(file, "older", "scrubbed", 0o644)
	if errors.Is(err, atomicfile.ErrNoExchange) {
		t.Skipf("SKIP: %v", err)
	}
	if !errors.Is(err, errChanged) {
		t.Errorf("error %v", err)
	}
	if text, _ := os.ReadFile(file); string(text) != "newer" {
		t.Errorf("%q", text)
	}
	if err := exchangeText(file, "newer", "scrubbed", 0o640); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(file); string(text) != "scrubbed" {
		t.Errorf("%q", text)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

func TestReplaceTextKeepsWhatWasWrittenMeanwhile(t *testing.T) {
	file := write(t, t.TempDir(), "a.md", "newer")
	if err := replaceText(file, "older", "scrubbed"); err == nil {
		t.Error("replaced")
	}
	if text, _ := os.ReadFile(file); string(text) != "newer" {
		t.Errorf("%q", text)
	}
}

// TestNamesAreMasked: a secret in a file's name is shown by no verb, whatever else
// is wrong with the file.
func TestNamesAreMasked(t *testing.T) {
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	team := filepath.Join(home, "team")
	value := sample(t, "github-pat")
	data := t.TempDir()
	env["TEAMMEMD_TOKEN"] = token(t, data, api.Writer, "*")
	server := startServer(t, "--data", data)
	if out, talk, code := inProcess(t, env, "init", home, "--server", server.url, "--repo", "a/b", "--team-dir", team); code != 0 {
		t.Fatalf("exit %d, %s%s", code, out, talk)
	}
	for _, text := range []string{"clean\n", "a\x00b", "\xff\xfe"} {
		file := write(t, team, value+".md", text)
		for _, tt := range []struct {
			args string
			code int
		}{
			{"scan " + team, api.ExitHeld},
			{"scan --json " + file, api.ExitHeld},
			{"sync " + team, api.ExitHeld},
			{"status --json", api.ExitOK},
			{"status -v", api.ExitOK},
			{"explain " + file, api.ExitHeld},
			{"explain --json " + file, api.ExitHeld},
		} {
			out, talk, code := inProcess(t, env, strings.Fields(tt.args)...)
			if code != tt.code {
				t.Errorf("%s: exit %d, want %d", strings.ReplaceAll(tt.args, value, "VALUE"), code, tt.code)
			}
			if strings.Contains(out+talk, value) {
				t.Errorf("%s shows the value", strings.ReplaceAll(tt.args, value, "VALUE"))
			}
			if !strings.Contains(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(out), "<github-pat>.md") {
				t.Errorf("%s does not name the file", strings.ReplaceAll(tt.args, value, "VALUE"))
			}
		}
	}
}
