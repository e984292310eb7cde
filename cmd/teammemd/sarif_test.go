package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
)

// TestSARIF: every member that the standard requires, a rule for each result, and
// nothing of any text.
func TestSARIF(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"HOME": dir}
	pat, stripe := sample(t, "github-pat"), sample(t, "stripe-access-token")
	guess, _ := guessed(t, 1)
	files := []string{
		write(t, dir, "a.md", "# Ä\n\ntökén "+pat+" and "+stripe+"\n"),
		write(t, dir, "b c.md", guess+"\n"),
		write(t, dir, pat+".md", "its name\n"),
		write(t, dir, "binary.md", "a\x00b"),
	}
	out, _, code := inProcess(t, env, append([]string{"scan", "--sarif"}, files...)...)
	if code != api.ExitHeld {
		t.Fatalf("exit %d", code)
	}
	for _, piece := range []string{pat, stripe, "tökén", "its name"} {
		if strings.Contains(out, piece) {
			t.Errorf("a piece of a text is in the log")
		}
	}
	var log map[string]any
	if err := json.Unmarshal([]byte(out), &log); err != nil {
		t.Fatal(err)
	}
	at := func(path string) any {
		t.Helper()
		var now any = log
		for step := range strings.SplitSeq(path, ".") {
			switch v := now.(type) {
			case map[string]any:
				now = v[step]
			case []any:
				var i int
				if _, err := fmt.Sscan(step, &i); err != nil || i >= len(v) {
					t.Errorf("%s: no %q", path, step)
					return nil
				}
				now = v[i]
			}
		}
		if now == nil {
			t.Errorf("%s is missing", path)
		}
		return now
	}
	for path, want := range map[string]any{
		"version": "2.1.0", "runs.0.tool.driver.name": "teammemd", "runs.0.columnKind": "unicodeCodePoints",
		"runs.0.invocations.0.executionSuccessful":                false,
		"runs.0.invocations.0.toolExecutionNotifications.0.level": "error",
	} {
		if got := at(path); got != want {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
	at("$schema")
	at("runs.0.tool.driver.version")
	at("runs.0.tool.driver.properties.ruleSet")
	results, _ := at("runs.0.results").([]any)
	if len(results) != 4 {
		t.Fatalf("%d results, want 4", len(results))
	}
	levels := map[string]string{"block1": "error", "block2": "error", "block3": "warning", "warn": "note"}
	for i := range results {
		result := fmt.Sprintf("runs.0.results.%d", i)
		rule := fmt.Sprintf("runs.0.tool.driver.rules.%v", at(result+".ruleIndex"))
		if at(rule+".id") != at(result+".ruleId") || at(rule+".defaultConfiguration.level") != at(result+".level") {
			t.Errorf("%s is not of its rule", result)
		}
		if tier, _ := at(rule + ".properties.tier").(string); levels[tier] != at(result+".level") {
			t.Errorf("%s: tier %s has level %v", result, tier, at(result+".level"))
		}
		if id, _ := at(result + ".fingerprints.teammemd/v1").(string); len(id) != 10 {
			t.Errorf("%s: fingerprint %q", result, id)
		}
		title, _ := at(rule + ".shortDescription.text").(string)
		if reason := at(rule + ".fullDescription.text"); title == "" || title == reason || reason != at(result+".message.text") {
			t.Errorf("%s: title %q", result, title)
		}
		uri, _ := at(result + ".locations.0.physicalLocation.artifactLocation.uri").(string)
		if !strings.HasPrefix(uri, "file:///") || strings.ContainsAny(uri, " <>") {
			t.Errorf("%s: URI %q", result, uri)
		}
	}
	if uri := at("runs.0.results.0.locations.0.physicalLocation.artifactLocation.uri"); !strings.HasSuffix(uri.(string), filepath.Base(files[0])) {
		t.Errorf("URI %v", uri)
	}
	// Columns count characters from 1; the end is the one behind the value.
	region := "runs.0.results.0.locations.0.physicalLocation.region."
	for member, want := range map[string]int{"startLine": 3, "startColumn": 7, "endLine": 3, "endColumn": 7 + len(pat)} {
		if got := at(region + member); got != float64(want) {
			t.Errorf("%s = %v, want %d", member, got, want)
		}
	}
}
