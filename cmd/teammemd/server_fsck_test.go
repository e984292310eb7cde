package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
)

// TestFsckFindsDamage changes one content behind the server's back.
func TestFsckFindsDamage(t *testing.T) {
	data := t.TempDir()
	secret := token(t, data, api.Writer, "acme/*")
	p := startServer(t, "--data", data)
	p.ask(http.MethodPut, memoryPath("acme/api"), secret, entry(t, "a.md", "words of an entry"))
	p.ask(http.MethodPut, memoryPath("acme/web"), secret, entry(t, "b.md", "other words"))
	conn, err := sqlite.OpenConn(filepath.Join(data, databaseFile), sqlite.OpenReadWrite|sqlite.OpenWAL)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(conn, "UPDATE bodies SET content = 'changed words' WHERE octet_length(content) = 17", nil); err != nil {
		t.Fatal(err)
	}
	if conn.Changes() != 1 {
		t.Fatalf("%d contents were changed", conn.Changes())
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	out, talk, code := run(t, "server", "fsck", "--data", data)
	if code != api.ExitFailure || !strings.HasPrefix(out, "acme/api: ") || strings.Contains(out, "acme/web") || strings.Contains(out+talk, "words") {
		t.Errorf("exit %d: %q, %q", code, out, talk)
	}
	if want := strings.Count(out, "\n"); !strings.Contains(talk, " problems; ") || want < 1 {
		t.Errorf("%d lines, and %q", want, talk)
	}
	out, _, code = run(t, "server", "fsck", "--data", data, "--json")
	var answer struct {
		Sound    bool         `json:"sound"`
		Problems []problemRow `json:"problems"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != api.ExitFailure || answer.Sound || len(answer.Problems) == 0 || answer.Problems[0].Repo != "acme/api" {
		t.Errorf("exit %d: %v in %s", code, err, out)
	}
	p.stop()
}
