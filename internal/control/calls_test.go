package control_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSocketCannotAllow: whoever reaches the socket, agents included, finds no
// call there that lets a finding pass. That takes a person at a terminal.
func TestSocketCannotAllow(t *testing.T) {
	source, err := os.ReadFile("server.go")
	if err != nil {
		t.Fatal(err)
	}
	calls := regexp.MustCompile(`mux\.HandleFunc\("(\w+) "\+(\w+)`).FindAllStringSubmatch(string(source), -1)
	if len(calls) < 4 {
		t.Fatalf("%d calls were found", len(calls))
	}
	known := map[string]bool{"pathAlive": true, "pathStatus": true, "pathStream": true, "pathSync": true, "pathReload": true, "pathStop": true}
	for _, call := range calls {
		if !known[call[2]] || strings.Contains(strings.ToLower(call[2]), "allow") {
			t.Errorf("%s %s is a call that this test does not know: may it let a finding pass?", call[1], call[2])
		}
	}
}
