package main

import (
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner/samples"
)

// traces are the pieces of a planted value that must appear nowhere.
func traces(sample string) []string {
	var pieces []string
	for line := range strings.SplitSeq(sample, "\n") {
		if len(line) >= 12 && !strings.HasPrefix(line, "-----") {
			pieces = append(pieces, line, line[len(line)/4:len(line)*3/4])
		}
	}
	return pieces
}

// mustNotHold fails the test where text has a piece of a planted value.
func mustNotHold(t *testing.T, where, text string, f samples.Family) {
	t.Helper()
	for _, piece := range traces(f.Sample()) {
		if strings.Contains(text, piece) {
			t.Errorf("%s holds the value of %s", where, f.Rule)
			return
		}
	}
}

// files returns what lies in a directory, by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() { // the door of a running server is a socket
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestEveryFamilyIsRefused sends one sample of each family past the client's
// scanner, as plainly as anyone could.
func TestEveryFamilyIsRefused(t *testing.T) {
	data := t.TempDir()
	secret := token(t, data, api.Writer, "acme/*")
	p := startServer(t, "--data", data, "-v")
	const marker = "a marker that may be stored"
	if got := p.ask(http.MethodPut, memoryPath("acme/api"), secret, entry(t, "marker.md", marker)); got.status != http.StatusOK {
		t.Fatalf("%d: %s", got.status, got.body)
	}
	var answers strings.Builder
	for _, f := range samples.Families() {
		got := refuse(t, p, secret, f)
		answers.WriteString(got.body)
		mustNotHold(t, "an answer", got.body, f)
	}
	whole := p.ask(http.MethodGet, memoryPath("acme/api"), secret, "")
	var full api.FullAnswer
	whole.decode(t, &full)
	if len(full.Content.Entries) != 1 || full.Version != 1 {
		t.Errorf("%d entries at version %d: a refused write has changed something", len(full.Content.Entries), full.Version)
	}
	running := files(t, data)
	p.stop()
	ended := files(t, data)
	if !holds(running, marker) || !holds(ended, marker) {
		t.Error("the marker is not in the data directory, so that looking there proves nothing")
	}
	for _, f := range samples.Families() {
		for path, text := range running {
			mustNotHold(t, path, text, f)
		}
		for path, text := range ended {
			mustNotHold(t, path, text, f)
		}
		mustNotHold(t, "the log", p.log.String(), f)
		mustNotHold(t, "some answer", answers.String()+whole.body, f)
	}
	if !strings.Contains(p.log.String(), api.PathTeamMemory) {
		t.Error("requests are not in the log, so that looking there proves nothing")
	}
}

func holds(files map[string]string, text string) bool {
	for _, content := range files {
		if strings.Contains(content, text) {
			return true
		}
	}
	return false
}

// refuse sends a sample beside a clean entry, claims that a person allowed it,
// and expects the refusal to name it.
func refuse(t *testing.T, p *process, secret string, f samples.Family) answer {
	t.Helper()
	got := p.ask(http.MethodPut, memoryPath("acme/api"), secret, pushBody(t, api.PushRequest{
		Entries: map[string]string{
			"notes/" + f.Rule + ".md": "# Notes\n\n" + f.Sample() + "\nthe end\n",
			"clean.md":                "nothing to see\n",
		},
		Allowed: []api.Allowed{{Key: "notes/" + f.Rule + ".md", Rule: f.Rule, Reason: "false positive"}},
	}))
	var refusal api.ErrorBody
	got.decode(t, &refusal)
	details := refusal.Error.Details
	if got.status != http.StatusUnprocessableEntity || details.ErrorCode != "secret_found" {
		t.Errorf("%s: %d %s", f.Rule, got.status, details.ErrorCode)
	}
	named := false
	for _, finding := range details.Findings {
		if finding.Key != "notes/"+f.Rule+".md" {
			t.Errorf("%s: a finding in %q", f.Rule, finding.Key)
		}
		named = named || finding.Rule == f.Rule && finding.Line == 3 && finding.Column > 0 && finding.Reason != ""
	}
	if !named {
		t.Errorf("%s: not named with its line: %+v", f.Rule, details.Findings)
	}
	return got
}

// TestSecretsBesideTheText plants a value everywhere else where a client can
// put text: keys, the actor, the device that joins, and the request line.
func TestSecretsBesideTheText(t *testing.T) {
	data := t.TempDir()
	secret := token(t, data, api.Maintainer, "acme/*")
	p := startServer(t, "--data", data, "-v")
	f, ok := samples.Find("github-pat")
	if !ok {
		t.Fatal("there is no such family")
	}
	value := f.Sample()
	// A refused key comes back to its sender, who must know what to leave out;
	// it goes nowhere else.
	got := p.ask(http.MethodPut, memoryPath("acme/api"), secret, entry(t, "notes/"+value+".md", "text\n"))
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `"rule":"`+f.Rule) {
		t.Errorf("a key: %d", got.status)
	}
	got = p.ask(http.MethodPut, memoryPath("acme/api"), secret, entry(t, "a.md", "text\n"),
		api.HeaderActorPerson, value, api.HeaderActorDevice, value, api.HeaderActorAgent, value, api.HeaderActorSession, value)
	if got.status != http.StatusOK {
		t.Errorf("an actor: %d %s", got.status, got.body)
	}
	got = p.ask(http.MethodGet, api.PathHistory+"?repo=acme%2Fapi&key=a.md", secret, "")
	if got.status != http.StatusOK || !strings.Contains(got.body, `"put"`) {
		t.Errorf("history: %d %s", got.status, got.body)
	}
	mustNotHold(t, "the history", got.body, f)

	var code api.JoinCodeAnswer
	p.ask(http.MethodPost, api.PathJoinCodes, secret, `{"repo":"acme/api"}`).decode(t, &code)
	got = p.ask(http.MethodPost, api.PathJoin, "", `{"code":"`+code.Code+`","device":"`+value+`"}`)
	if got.status != http.StatusOK {
		t.Errorf("a device: %d %s", got.status, got.body)
	}
	for _, path := range []string{"/" + value, memoryPath("acme/"+value) + "&view=" + value, "/?token=" + url.QueryEscape(value)} {
		got = p.ask(http.MethodGet, path, value, "")
		mustNotHold(t, "the answer to a request line", got.body, f)
	}
	out, talk, _ := run(t, "server", "token", "list", "--data", data, "--json")
	if !strings.Contains(out, "withheld") {
		t.Errorf("the device is not among the tokens: %s", out)
	}
	mustNotHold(t, "the list of tokens", out+talk, f)
	p.stop()
	for path, text := range files(t, data) {
		mustNotHold(t, path, text, f)
	}
	mustNotHold(t, "the log", p.log.String(), f)
	if strings.Contains(p.log.String(), secret) || holds(files(t, data), secret) {
		t.Error("a token is kept in the clear")
	}
}
