package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/scanner/samples"
)

// shape is the fields that a JSON object promises, and of what type: "s" text,
// "n" number, "b" true or false, "t" a time, "a" a list, "o" an object, "?" before
// it = may be absent or null.
type shape map[string]string

// checkShape names every promised field that is absent or of another type.
func checkShape(object map[string]any, want shape) []string {
	var faults []string
	for _, field := range slices.Sorted(maps.Keys(want)) {
		kind, optional := strings.CutPrefix(want[field], "?")
		value, there := object[field]
		if optional && (!there || value == nil) {
			continue
		}
		if !there {
			faults = append(faults, fmt.Sprintf("%q is absent", field))
			continue
		}
		fits := false
		switch v := value.(type) {
		case string:
			_, err := time.Parse(time.RFC3339, v)
			fits = kind == "s" || kind == "t" && err == nil
		case float64:
			fits = kind == "n"
		case bool:
			fits = kind == "b"
		case []any:
			fits = kind == "a"
		case map[string]any:
			fits = kind == "o"
		}
		if !fits {
			faults = append(faults, fmt.Sprintf("%q is %v", field, value))
		}
	}
	return faults
}

var (
	rootShape = shape{
		"repo": "s", "root": "s", "state": "s", "sent": "n", "received": "n", "unchanged": "n", "restored": "n",
		"pending": "n", "held": "a", "conflicts": "a", "version": "n", "epoch": "s", "duration_ms": "n",
	}
	heldShape     = shape{"key": "s", "line": "n", "column": "n", "rule": "s", "tier": "s", "reason": "s", "fix": "s"}
	conflictShape = shape{"id": "s", "key": "s", "saved_at": "t"}
	copyShape     = shape{"id": "s", "repo": "s", "key": "s", "saved_at": "t", "bytes": "n", "read": "b"}
	statusShape   = shape{"state": "s", "identity": "s", "server": "s", "roots": "a", "allowed": "a"}
	scanShape     = shape{"files": "n", "findings": "a", "refused": "a"}
	findingShape  = shape{"id": "s", "file": "s", "line": "n", "column": "n", "length": "n", "rule": "s", "tier": "s"}
	tokenShape    = shape{"id": "s", "name": "s", "repo": "s", "role": "s", "expires_at": "?t", "token": "s"}
)

// object reads the one JSON object that a command printed, with schema 1.
func object(t *testing.T, o outcome, want shape) map[string]any {
	t.Helper()
	var found map[string]any
	if err := json.Unmarshal([]byte(o.stdout), &found); err != nil {
		t.Errorf("%q prints no single JSON object: %v\n%s%s", o.args, err, shorten(o.stdout), o.stderr)
		return map[string]any{}
	}
	if strings.Count(strings.TrimSpace(o.stdout), "\n") > 0 {
		t.Errorf("%q prints its object on several lines", o.args)
	}
	if found["schema"] != 1.0 {
		t.Errorf("%q: schema is %v, want 1", o.args, found["schema"])
	}
	for _, fault := range checkShape(found, want) {
		t.Errorf("%q: %s: %s", o.args, fault, shorten(o.stdout))
	}
	return found
}

// each checks every object of a list, and that there is one at all.
func each(t *testing.T, what string, list any, want shape) {
	t.Helper()
	all, _ := list.([]any)
	if len(all) == 0 {
		t.Errorf("%s: there is none to look at", what)
	}
	for _, one := range all {
		fields, _ := one.(map[string]any)
		for _, fault := range checkShape(fields, want) {
			t.Errorf("%s: %s: %v", what, fault, fields)
		}
	}
}

// TestJSON runs every verb with --json, with something to tell.
func TestJSON(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a, b := p.a, p.b
	family, _ := samples.Find("github-pat")
	a.write("note.md", "one\n")
	a.write("other.md", "other\n")
	p.meet(t)
	a.write("note.md", "two\n")
	a.sync(0)
	b.write("note.md", "another two\n")
	b.write("held.md", "it is "+family.Sample()+" for now\n")
	b.write("bad\x01.md", "bad\n")

	sync := object(t, b.want(3, "sync", "--json"), rootShape)
	each(t, "held of sync", sync["held"], heldShape)
	each(t, "conflicts of sync", sync["conflicts"], conflictShape)
	for _, flags := range [][]string{{"--dry-run"}, {"--pull"}, {"--push"}} {
		object(t, b.want(3, append([]string{"sync", "--json"}, flags...)...), rootShape)
	}
	statusOf := func(what string) {
		status := object(t, b.ok("status", "--json"), statusShape)
		each(t, "roots of status, "+what, status["roots"], rootShape)
		each(t, "roots of status, "+what, status["roots"], shape{"last_push": "?t", "last_pull": "?t", "next_retry": "?t", "watch": "s"})
		root, _ := status["roots"].([]any)[0].(map[string]any)
		each(t, "held of status, "+what, root["held"], heldShape)
		each(t, "conflicts of status, "+what, root["conflicts"], conflictShape)
	}
	statusOf("alone")
	scan := object(t, b.want(3, "scan", "--json", b.team), scanShape)
	each(t, "findings", scan["findings"], findingShape)
	put(t, filepath.Join(b.home, "binary.md"), "a\x00b")
	refused := object(t, b.want(3, "scan", "--json", filepath.Join(b.home, "binary.md")), scanShape)
	each(t, "refused", refused["refused"], shape{"file": "s", "reason": "s"})
	object(t, a.ok("scan", "--json", a.team), scanShape)
	object(t, a.ok("allow", "list", "--json"), shape{"allowed": "a", "team": "a"})

	object(t, b.want(3, "explain", "--json", filepath.Join(b.team, "held.md")), shape{"key": "s", "state": "s", "held": "o"})
	object(t, b.ok("explain", "--json", filepath.Join(b.team, "note.md")), shape{"key": "s", "state": "s"})
	object(t, b.ok("explain", "--json", filepath.Join(b.team, "absent.md")), shape{"key": "s", "state": "s"})
	list := object(t, b.ok("conflicts", "list", "--json"), shape{"conflicts": "a"})
	each(t, "conflicts", list["conflicts"], copyShape)
	id, _ := list["conflicts"].([]any)[0].(map[string]any)["id"].(string)
	object(t, b.ok("conflicts", "show", "--json", id), shape{"id": "s", "key": "s", "content": "s"})
	object(t, b.ok("conflicts", "diff", "--json", id), shape{"id": "s", "repo": "s", "key": "s", "diff": "s"})
	merge := shape{"id": "s", "repo": "s", "key": "s", "clean": "b", "changed": "b", "base_known": "b"}
	object(t, b.want(3, "conflicts", "merge", "--json", id), merge)
	object(t, b.ok("conflicts", "restore", "--json", id), shape{"id": "s", "key": "s"})
	object(t, b.ok("conflicts", "merge", "--json", id), merge)
	object(t, b.ok("conflicts", "drop", "--json", id), shape{"id": "s"})
	object(t, a.ok("conflicts", "list", "--json"), shape{"conflicts": "a"})
	object(t, b.ok("scrub", "--json", filepath.Join(b.team, "held.md")+":1"), shape{"file": "s", "line": "n", "rules": "a"})
	search := object(t, a.ok("search", "--json", "two"), shape{"repo": "s", "from": "s", "version": "n", "match": "s", "total": "n", "searched": "n", "results": "a"})
	each(t, "results", search["results"], shape{"key": "s", "line": "n", "snippet": "s", "marks": "a", "score": "n", "modified": "t"})
	history := object(t, a.ok("history", "--json", "note.md"), shape{"repo": "s", "key": "s", "versions": "a"})
	each(t, "versions", history["versions"], shape{"version": "n", "checksum": "s", "at": "t", "bytes": "n", "actor": "o", "op": "s"})
	object(t, a.want(77, "restore", "--json", "note.md@1"), shape{"error": "o"})
	put(t, filepath.Join(a.home, "token"), p.server.token("m", team, "maintainer"))
	object(t, a.ok("restore", "--json", "note.md@1"), shape{"repo": "s", "key": "s", "version": "n"})
	object(t, a.want(1, "forget", "--json", "never.md"), shape{"error": "o"})
	object(t, a.ok("forget", "--json", "--no-sync", "other.md"), shape{"repo": "s", "key": "s", "version": "n", "already": "b", "undo": "s"})
	object(t, a.ok("restore", "--json", "other.md@1"), shape{"repo": "s", "key": "s", "version": "n"})
	object(t, a.ok("resume", "--json"), shape{"resumed": "a"})
	paused := object(t, a.ok("pause", "--json", "--for", "1h"), shape{"paused": "a"})
	each(t, "what was paused", paused["paused"], shape{"repo": "s", "root": "s", "until": "t"})
	standing := object(t, a.ok("status", "--json"), statusShape)
	each(t, "roots that are paused", standing["roots"], shape{"paused_since": "t", "paused_until": "t"})
	resumed := object(t, a.ok("resume", "--json"), shape{"resumed": "a"})
	each(t, "what was resumed", resumed["resumed"], shape{"repo": "s", "root": "s"})
	object(t, a.ok("logs", "--json"), shape{"log": "s", "lines": "a"})
	object(t, a.ok("config", "check", "--json"), shape{})
	object(t, a.ok("config", "show", "--json"), shape{"settings": "a"})
	object(t, a.ok("version", "--json"), shape{"version": "s"})
	object(t, a.ok("init", "--json", "--server", p.server.url, "--repo", team, "--team-dir", a.team, "--yes"), shape{"repo": "s", "root": "s", "server": "s"})

	data := []string{"--data", p.server.data, "--json"}
	token := object(t, a.ok(append([]string{"server", "token", "create", "--name", "n", "--repo", "x/*", "--role", "reader", "--expires", "90d"}, data...)...), tokenShape)
	if token["expires_at"] == nil {
		t.Error("a token that expires has no expires_at")
	}
	object(t, a.ok(append([]string{"server", "token", "create", "--name", "m", "--repo", "x/*", "--role", "reader"}, data...)...), tokenShape)
	tokens := object(t, a.ok(append([]string{"server", "token", "list"}, data...)...), shape{"tokens": "a"})
	each(t, "tokens", tokens["tokens"], shape{"id": "s", "name": "s", "repo": "s", "role": "s", "expires_at": "?t"})
	if text := fmt.Sprint(tokens); strings.Contains(text, fmt.Sprint(token["token"])) {
		t.Error("the list shows a token")
	}
	object(t, a.ok(append([]string{"server", "token", "revoke", fmt.Sprint(token["id"])}, data...)...), shape{})
	object(t, a.ok("server", "healthcheck", "--json", "--listen", strings.TrimPrefix(p.server.url, "http://"), "--data", p.server.data), shape{})

	b.run("sync") // whatever was restored is settled
	a.run("sync")
	b.write("held.md", "it is "+family.Sample()+" for now\n")
	b.write("note.md", "a third\n")
	a.write("note.md", "a fourth\n")
	a.sync(0)
	b.daemon()
	await(t, time.Minute, "the daemon to have something to tell", func() bool {
		r := b.status()
		_, held := r.heldFor("held.md")
		return held && len(r.Conflicts) > 0
	})
	statusOf("from the daemon")
	object(t, b.want(3, "sync", "--json"), rootShape)
}

// TestJSONOfUp looks at what up, join, daemons and servers print.
func TestJSONOfUp(t *testing.T) {
	t.Parallel()
	ada, ben := newFastMachine(t, "ada"), newFastMachine(t, "ben")
	dir := ada.checkout("api", "git@github.com:acme/api.git")
	put(t, filepath.Join(ada.claudeTeam(dir), "note.md"), "text\n")
	t.Cleanup(ada.endDetached)
	up := object(t, ada.runIn(dir, "up", "--detach", "--json", "--listen", "127.0.0.1:0"), rootShape)
	url, code := invited(t, fmt.Sprint(up["join"]))
	join := object(t, ben.runIn(ben.checkout("api", "git@github.com:acme/api.git"), "join", url, "--code", code, "--json"), rootShape)
	if join["received"] != 1.0 {
		t.Errorf("join received %v, want 1", join["received"])
	}
	server := ben.start("server", "--json", "--listen", "127.0.0.1:0", "--data", filepath.Join(ben.home, "data"))
	line := server.awaitLine("{")
	object(t, outcome{args: []string{"server"}, stdout: "{" + line + "\n"}, shape{"listening": "s"})
}

// TestExitCodes makes several conditions hold at once: 78 before 2 before 4
// before 77 before 75 before 1 before 3 before 0.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	m := p.a
	family, _ := samples.Find("npm-access-token")
	heldText := "it is " + family.Sample() + " for now\n"
	tokenFile := filepath.Join(m.home, "token")
	good, wrong := textOf(t, tokenFile), "tm_"+strings.Repeat("B", 43)
	reader := p.server.token("reader", team, "reader")

	m.write("fine.md", "fine\n")
	m.ok("sync")
	m.ok("status", "--check")
	m.write("held.md", heldText)
	m.want(3, "sync")
	m.ok("status")
	m.want(3, "status", "--check")
	m.write("pending.md", "pending\n")
	put(t, tokenFile, reader)
	m.want(77, "sync") // before 3
	put(t, tokenFile, wrong)
	m.want(4, "sync") // before 3; and a reader's 77 is not asked for
	put(t, tokenFile, good)
	p.server.stop()
	m.want(75, "sync") // before 3
	m.want(75, "status", "--check")
	m.ok("status")
	p.server.again()
	m.config("speed = 9\n")
	m.want(78, "sync")
	m.want(78, "init", "--server", "ftp://no-server") // before 2
}

// TestExitCodesOfRoots syncs several roots in one command: the worst code counts.
func TestExitCodesOfRoots(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	m := newFastMachine(t, "ada")
	gone := newCompanion(t)
	family, _ := samples.Find("npm-access-token")
	root := func(name, url, token string) string {
		file, dir := filepath.Join(m.home, name+".token"), filepath.Join(m.home, name)
		put(t, file, token)
		put(t, filepath.Join(dir, "note.md"), name+"\n")
		m.ok("init", "--server", url, "--token-file", file, "--repo", "acme/"+name, "--team-dir", dir, "--yes")
		return dir
	}
	good := server.token("w", "acme/*", "writer")
	fine := root("fine", server.url, good)
	m.ok("sync")
	held := root("held", server.url, good)
	put(t, filepath.Join(held, "held.md"), "it is "+family.Sample()+" for now\n")
	m.want(3, "sync")
	offline := root("offline", gone.url, gone.token("w", "acme/*", "writer"))
	gone.stop()
	m.want(75, "sync")
	root("reader", server.url, server.token("r", "acme/*", "reader"))
	m.want(77, "sync")
	root("wrong", server.url, "tm_"+strings.Repeat("C", 43))
	o := m.want(4, "sync", "--json")
	all := object(t, o, shape{"roots": "a"})
	each(t, "roots", all["roots"], rootShape)
	if roots, _ := all["roots"].([]any); len(roots) != 5 {
		t.Errorf("%d roots, want all 5: one that fails hinders no other", len(roots))
	}
	m.want(4, "status", "--check")
	m.ok("sync", fine)
	m.want(3, "sync", held)
	m.want(75, "sync", offline)
	full, _ := server.get(good, "acme/held")
	if full.Content.Entries["note.md"] != "held\n" {
		t.Error("the file beside a held one did not go up")
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	good := map[string]any{"s": "x", "n": 1.0, "b": true, "t": "2026-01-02T03:04:05Z", "a": []any{}, "o": map[string]any{}}
	all := shape{"s": "s", "n": "n", "b": "b", "t": "t", "a": "a", "o": "o", "absent": "?s"}
	if faults := checkShape(good, all); len(faults) > 0 {
		t.Errorf("good: %q", faults)
	}
	for field := range good {
		bad := maps.Clone(good)
		bad[field] = nil
		if len(checkShape(bad, all)) != 1 {
			t.Errorf("null as %s is not seen", field)
		}
		delete(bad, field)
		if len(checkShape(bad, all)) != 1 {
			t.Errorf("absent %s is not seen", field)
		}
	}
}
