package tests

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner/samples"
	"github.com/teammem/teammemd/tests/chaos"
)

// planted is one family's sample in a file of its own.
type planted struct {
	rule  string
	key   string
	line  int
	value string
	text  string
}

// plantAll makes one file for each family. Each carries a comment that older
// tools take for a permission.
func plantAll(t *testing.T, seed uint64) []planted {
	t.Helper()
	families := samples.Families()
	if len(families) != 36 {
		t.Fatalf("%d families, want 36", len(families))
	}
	var all []planted
	for i, family := range families {
		value := family.SampleFrom(seed)
		above := 2 + i%5
		text := strings.Repeat("Plain words about the release.\n", above) +
			"the value is " + value + " # gitleaks:allow\nand more words after it <!-- gitleaks:allow -->\n"
		if family.Rule == "private-key" {
			text = strings.Repeat("Plain words about the release.\n", above) + value + "\n# gitleaks:allow\n"
		}
		all = append(all, planted{family.Rule, fmt.Sprintf("notes/%02d-%s.md", i, family.Rule), above + 1, value, text})
	}
	return all
}

// needles are the forms of a planted value that must be found nowhere: its
// lines, their base64 wherever it may begin, their hexadecimal and percent forms.
func needles(value string) map[string][]byte {
	forms := make(map[string][]byte)
	for i, line := range strings.Split(value, "\n") {
		if strings.HasPrefix(line, "-----") {
			continue // the armour is no secret
		}
		forms[fmt.Sprintf("line %d", i+1)] = []byte(line)
		for style, digits := range map[string]string{"small": "%02x", "capital": "%02X"} {
			var hexed, percent strings.Builder
			for _, b := range []byte(line) {
				fmt.Fprintf(&hexed, digits, b)
				fmt.Fprintf(&percent, "%%"+digits, b)
			}
			forms[fmt.Sprintf("%s hex of line %d", style, i+1)] = []byte(hexed.String())
			forms[fmt.Sprintf("%s percent of line %d", style, i+1)] = []byte(percent.String())
		}
		for shift := range 3 {
			padded := append(make([]byte, shift), line...)
			coded := []byte(base64.StdEncoding.EncodeToString(padded))
			// The first and the last group depend on what stands beside the value.
			if inner := coded[4 : len(coded)-4]; len(inner) >= 16 {
				forms[fmt.Sprintf("base64 of line %d, shifted by %d", i+1, shift)] = inner
				forms[fmt.Sprintf("base64 for addresses of line %d, shifted by %d", i+1, shift)] = bytes.ReplaceAll(bytes.ReplaceAll(inner, []byte("+"), []byte("-")), []byte("/"), []byte("_"))
			}
		}
	}
	return forms
}

// searched are the places in which values are looked for.
type searched map[string][]byte

// addFiles adds every file below dir except those below skip.
func (s searched) addFiles(t *testing.T, dir, skip string) {
	t.Helper()
	before := len(s)
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == skip {
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(name)
		s[name] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(s) == before {
		t.Fatalf("nothing to search in %s", dir)
	}
}

func (s searched) mustLack(t *testing.T, all []planted) {
	t.Helper()
	total := 0
	for _, text := range s {
		total += len(text)
	}
	for _, p := range all {
		for form, needle := range needles(p.value) {
			for where, text := range s {
				if bytes.Contains(text, needle) {
					t.Errorf("%s: %s of the planted %s is there", where, form, p.rule)
				}
			}
		}
	}
	t.Logf("searched %d bytes in %d places", total, len(s))
}

// TestSecretsStayHere plants one sample of every family on a client, with the
// program's logs at their most talkative, and finds none of them anywhere else.
func TestSecretsStayHere(t *testing.T) {
	t.Parallel()
	server := newCompanion(t, "-v")
	proxy := chaos.Start(t, chaos.Options{Target: server.url})
	a, b := newFastMachine(t, "ada"), newFastMachine(t, "ben")
	allow := filepath.Join(a.home, "allow.toml")
	put(t, allow, "[allowlist]\npaths = ['''.*''']\nregexes = ['''.*''']\n")
	a.extra = []string{"GITLEAKS_CONFIG=" + allow, "GITLEAKS_CONFIG_TOML=[allowlist]\npaths = ['''.*''']", "TEAMMEMD_LOG=debug"}
	token := server.token("both", team, "writer")
	a.enroll(proxy.URL(), token, team)
	b.enroll(server.url, token, team)

	all := plantAll(t, 7)
	clean := tree{"MEMORY.md": "# Index\n", "notes/clean.md": "nothing to hide\n", "z/last.md": "goes on\n"}
	var ignore strings.Builder
	for _, p := range all {
		a.write(p.key, p.text)
		for _, name := range []string{p.key, filepath.Join(a.team, p.key), filepath.Base(p.key), ""} {
			fmt.Fprintf(&ignore, "%s:%s:%d\n", name, p.rule, p.line)
		}
	}
	for _, dir := range []string{a.team, a.work(), a.home, server.work(), server.data} {
		put(t, filepath.Join(dir, ".gitleaksignore"), ignore.String())
		put(t, filepath.Join(dir, ".gitleaks.toml"), "[allowlist]\npaths = ['''.*''']\n")
	}
	for key, text := range clean {
		a.write(key, text)
	}

	r := a.sync(3)
	if r.Sent != len(clean) || len(r.Held) != len(all) {
		t.Errorf("%d sent and %d held, want %d and %d", r.Sent, len(r.Held), len(clean), len(all))
	}
	shown := a.want(3, "sync", "-v").stdout
	for _, p := range all {
		h, ok := r.heldFor(p.key)
		if !ok || h.Reason != "secret" || h.Rule != p.rule || h.Line != p.line || h.Column < 1 || !strings.HasPrefix(h.Tier, "block") || h.Fix == "" {
			t.Errorf("%s: held as %+v, want rule and line %d", p.key, h, p.line)
		}
		if want := fmt.Sprintf("held  %s:%d  %s  ->  teammemd scrub %s:%d", p.key, p.line, p.rule, p.key, p.line); !strings.Contains(shown, want) {
			t.Errorf("the text of sync has no line %q", want)
		}
	}
	scanAll(t, a, all)
	talk(t, a, all)

	b.sync(0)
	sameTree(t, "what arrives at the other machine", clean, treeOf(t, b.team))

	places := searched{"the wire": proxy.Wire(), "what the client printed": a.spoken(), "what the server printed": server.spoken(), "what the other printed": b.spoken()}
	places.addFiles(t, a.home, a.team)
	places.addFiles(t, b.home, "")
	places.addFiles(t, server.data, "")
	places.mustLack(t, all)
	scrubAll(t, a, all)
}

// scanAll looks at the files by `scan`: the same findings, and exit code 3.
func scanAll(t *testing.T, m *machine, all []planted) {
	t.Helper()
	type found struct {
		ID, File, Rule, Tier string
		Line, Column, Length int
	}
	scan := decode[struct {
		Schema   int
		Files    int
		Findings []found
		Refused  []json.RawMessage
	}](t, m.want(3, "scan", "--json", m.team).stdout)
	for _, p := range all {
		i := slices.IndexFunc(scan.Findings, func(f found) bool { return f.File == filepath.Join(m.team, p.key) && f.Rule == p.rule })
		if i < 0 {
			t.Errorf("scan does not find %s", p.rule)
			continue
		}
		if f := scan.Findings[i]; f.Line != p.line || f.Column < 1 || f.Length < 1 || len(f.ID) != 10 {
			t.Errorf("scan: %+v, want line %d, column, length and an id of 10 digits", f, p.line)
		}
	}
}

// talk makes the client say all it can about what is held.
func talk(t *testing.T, m *machine, all []planted) {
	t.Helper()
	m.ok("status", "-v")
	m.ok("status", "--json")
	m.want(3, "status", "--check")
	m.want(3, "scan", "-v", m.team)
	for _, p := range all[:6] {
		o := m.want(3, "explain", filepath.Join(m.team, p.key))
		if !strings.Contains(o.stdout, p.rule) {
			t.Errorf("explain %s does not name the rule: %q", p.key, o.stdout)
		}
	}
	daemon := m.daemon("-v")
	m.write("later/again.md", all[0].text)
	await(t, time.Minute, "the daemon to hold the new file", func() bool {
		_, held := m.status().heldFor("later/again.md")
		return held
	})
	m.want(3, "sync", "-v")
	if code := daemon.stop(); code != 0 {
		t.Errorf("the daemon ended with %d", code)
	}
	remove(t, filepath.Join(m.team, "later", "again.md"))
}

// scrubAll takes the values out; then everything travels.
func scrubAll(t *testing.T, m *machine, all []planted) {
	t.Helper()
	for _, p := range all {
		o := m.ok("scrub", fmt.Sprintf("%s:%d", filepath.Join(m.team, p.key), p.line))
		if strings.Contains(o.stdout+o.stderr, p.value) {
			t.Errorf("scrub shows the value of %s", p.rule)
		}
		text, _ := m.read(p.key)
		for form, needle := range needles(p.value) {
			if bytes.Contains([]byte(text), needle) {
				t.Errorf("%s of %s is still in the file", form, p.rule)
			}
		}
	}
	if r := m.sync(0); r.Sent != len(all) {
		t.Errorf("%d sent after scrubbing, want %d: %+v", r.Sent, len(all), r.Held)
	}
}

// TestSecretInName plants values in the names of files: those are held, and the
// name is not shown.
func TestSecretInName(t *testing.T) {
	t.Parallel()
	server := newCompanion(t, "-v")
	proxy := chaos.Start(t, chaos.Options{Target: server.url})
	a := newFastMachine(t, "ada")
	a.enroll(proxy.URL(), server.token("ada", team, "writer"), team)
	var all []planted
	for _, rule := range []string{"github-pat", "stripe-access-token", "npm-access-token"} {
		family, ok := samples.Find(rule)
		if !ok {
			t.Fatalf("there is no family %s", rule)
		}
		p := planted{rule: rule, value: family.SampleFrom(9)}
		a.write("names/"+p.value+".md", "the name says it all\n")
		all = append(all, p)
	}
	a.write("clean.md", "goes on\n")
	if r := a.sync(3, "-v"); r.Sent != 1 || len(r.Held) != len(all) {
		t.Errorf("%d sent and %d held, want 1 and %d", r.Sent, len(r.Held), len(all))
	}
	a.ok("status", "-v")
	a.want(3, "scan", a.team)
	daemon := a.daemon("-v")
	a.want(3, "sync")
	daemon.stop()
	places := searched{"the wire": proxy.Wire(), "what the client printed": a.spoken(), "what the server printed": server.spoken()}
	places.addFiles(t, a.home, a.team)
	places.addFiles(t, server.data, "")
	places.mustLack(t, all)
}

// TestServerStopsSecrets goes past the client's scanner: the server refuses each
// family by itself, stores nothing of it and says nothing of it.
func TestServerStopsSecrets(t *testing.T) {
	t.Parallel()
	server := newCompanion(t, "-v")
	token := server.token("raw", "acme/*", "maintainer")
	all := plantAll(t, 11)
	answers := searched{}

	together := map[string]string{"clean.md": "nothing to hide\n"}
	for _, p := range all {
		together[p.key] = p.text
	}
	refused := server.push(token, team, together)
	answers["the answer to all"] = refused.body
	findings := refusedFor(t, refused)
	for _, p := range all {
		if !slices.ContainsFunc(findings, func(f api.Finding) bool {
			return f.Key == p.key && f.Rule == p.rule && f.Line == p.line && f.Reason != ""
		}) {
			t.Errorf("%s at line %d of %s is not among the findings", p.rule, p.line, p.key)
		}
	}
	if slices.ContainsFunc(findings, func(f api.Finding) bool { return f.Key == "clean.md" }) {
		t.Error("the clean entry is among the findings")
	}
	if _, there := server.get(token, team); there {
		t.Error("something of the refused PUT was applied")
	}
	for _, p := range all {
		one := server.push(token, team, map[string]string{p.key: p.text})
		answers["the answer to "+p.rule] = one.body
		found := refusedFor(t, one)
		if !slices.ContainsFunc(found, func(f api.Finding) bool { return f.Key == p.key && f.Rule == p.rule && f.Line == p.line }) {
			t.Errorf("%s alone: %+v", p.rule, found)
		}
	}
	if ok := server.push(token, team, map[string]string{"clean.md": "nothing to hide\n"}); ok.status != http.StatusOK {
		t.Errorf("the clean entry alone: status %d, %s", ok.status, ok.body)
	}
	full, _ := server.get(token, team)
	sameTree(t, "the server's entries", tree{"clean.md": "nothing to hide\n"}, full.Content.Entries)

	answers["what the server printed"] = server.spoken()
	answers.addFiles(t, server.home, "")
	answers.mustLack(t, all)
	if code := server.stop(); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
	after := searched{"what the server printed": server.spoken()}
	after.addFiles(t, server.home, "")
	after.mustLack(t, all)
}

// TestServerStopsSecretsInNames sends values as keys.
func TestServerStopsSecretsInNames(t *testing.T) {
	t.Parallel()
	server := newCompanion(t, "-v")
	token := server.token("raw", "acme/*", "maintainer")
	all := plantAll(t, 13)
	answers := searched{}
	for _, p := range all {
		if strings.Contains(p.value, "\n") {
			continue // no key has a line break
		}
		named := server.push(token, team, map[string]string{"names/" + p.value + ".md": "text\n"})
		answers["the answer to a name like "+p.rule] = named.body
		if named.status != http.StatusUnprocessableEntity {
			t.Errorf("a name with the value of %s: status %d, want 422", p.rule, named.status)
		}
	}
	if full, there := server.get(token, team); there {
		t.Errorf("%d of the names were stored", len(full.Content.Entries))
		return
	}
	server.stop()
	answers["what the server printed"] = server.spoken()
	answers.addFiles(t, server.home, "")
	answers.mustLack(t, all)
}

// refusedFor reads a 422 for secrets.
func refusedFor(t *testing.T, a answer) []api.Finding {
	t.Helper()
	if a.status != http.StatusUnprocessableEntity {
		t.Fatalf("status %d, want 422: %s", a.status, shorten(string(a.body)))
	}
	body := decode[api.ErrorBody](t, string(a.body))
	if body.Error.Details.ErrorCode != "secret_found" {
		t.Errorf("error_code %q, want secret_found", body.Error.Details.ErrorCode)
	}
	return body.Error.Details.Findings
}

// TestNeedles proves that the search would find a value.
func TestNeedles(t *testing.T) {
	t.Parallel()
	value := strings.Repeat("Ab3", 12)
	forms := needles(value)
	if len(forms) != 11 {
		t.Fatalf("%d forms, want 11", len(forms))
	}
	for _, text := range []string{
		"x" + value + "y", base64.StdEncoding.EncodeToString([]byte("12" + value + "3")),
		base64.StdEncoding.EncodeToString([]byte("1" + value)), base64.StdEncoding.EncodeToString([]byte(value)),
		"x" + hex.EncodeToString([]byte(value)), "x" + strings.ToUpper(hex.EncodeToString([]byte(value))), "a=" + percentOf(value), strings.ToLower(percentOf(value)),
		base64.RawURLEncoding.EncodeToString([]byte("??>" + value)),
	} {
		found := false
		for _, needle := range forms {
			found = found || bytes.Contains([]byte(text), needle)
		}
		if !found {
			t.Errorf("not found in %q", text)
		}
	}
}
