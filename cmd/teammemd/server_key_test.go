package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
)

// keyed is a server's directory with a configuration that names a key file.
type keyed struct {
	t                  *testing.T
	data, keys, config string
}

func newKeyed(t *testing.T) keyed {
	t.Helper()
	dir := t.TempDir()
	k := keyed{t, filepath.Join(dir, "data"), filepath.Join(dir, "keys"), filepath.Join(dir, "server.toml")}
	if err := os.WriteFile(k.config, []byte("data = '"+k.data+"'\nencryption_key_file = '"+k.keys+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// server runs a verb of the server that must end with a code. What it said is in
// one piece.
func (k keyed) server(code int, args ...string) string {
	k.t.Helper()
	out, talk, got := run(k.t, append([]string{"server"}, args...)...)
	if got != code {
		k.t.Fatalf("%v: exit code %d, want %d: %s%s", args, got, code, out, talk)
	}
	return out + talk
}

func (k keyed) with(args ...string) []string { return append(args, "--config", k.config) }

func wantIn(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s does not say %q: %s", what, part, text)
		}
	}
}

// TestEncryption follows a server that begins to encrypt, changes its keys, loses
// them, is backed up and restored.
func TestEncryption(t *testing.T) {
	k := newKeyed(t)
	secret := token(t, k.data, api.Writer, "acme/*")
	const early, late = "words from before encryption", "words from after it"
	p := startServer(t, "--data", k.data)
	if got := p.ask(http.MethodPut, memoryPath("acme/api"), secret, entry(t, "a.md", early)); got.status != http.StatusOK {
		t.Fatal(got.body)
	}
	p.stop()

	wantIn(t, "no key file", k.server(api.ExitConfig, k.with("--listen", "127.0.0.1:0")...), "encryption_key_file", "server key new")
	wantIn(t, "a new key file", k.server(0, "key", "new", k.keys), "is the first of")
	wantIn(t, "a second", k.server(api.ExitUsage, "key", "new", k.keys), "never written over")
	p = startServer(t, k.with()...)
	if got := p.ask(http.MethodPut, memoryPath("acme/api"), secret, entry(t, "b.md", late)); got.status != http.StatusOK {
		t.Fatal(got.body)
	}
	if holds(files(t, k.data), late) || !holds(files(t, k.data), early) {
		t.Error("what was written before is not plain, or what was written after is")
	}
	k.server(api.ExitTempFail, k.with("key", "rotate", "--contents")...)
	wantIn(t, "fsck", k.server(0, k.with("fsck")...), "contents: 1 encrypted, 1 plain", "sound")
	p.stop()
	wantIn(t, "rotate", k.server(0, k.with("key", "rotate")...), "0 wrapped again", "1 contents are plain")
	wantIn(t, "rotate --contents", k.server(0, k.with("key", "rotate", "--contents")...), "contents: 2 encrypted now; in all 2 encrypted, 0 plain")
	if holds(files(t, k.data), early) || holds(files(t, k.data), late) {
		t.Error("a text is in the data directory")
	}
	old, err := os.ReadFile(k.keys)
	if err != nil {
		t.Fatal(err)
	}
	k.server(0, "key", "new", "--add", k.keys)
	var rotated struct {
		Wrapped, Contents int
		Key               string
	}
	if err := json.Unmarshal([]byte(k.server(0, k.with("key", "rotate", "--json")...)), &rotated); err != nil || rotated.Wrapped != 1 || rotated.Contents != 0 {
		t.Errorf("%+v, %v", rotated, err)
	}

	k.refused(string(old), "lacks a key", rotated.Key)
	k.reads(secret, early, late)
	k.keepsNothing(rotated.Key)
	k.moves(secret, early, late)
}

// refused gives the server a key file with this text, and none.
func (k keyed) refused(text string, parts ...string) {
	k.t.Helper()
	right, err := os.ReadFile(k.keys)
	if err != nil {
		k.t.Fatal(err)
	}
	set := func(text string, mode os.FileMode) {
		k.t.Helper()
		if err := os.Remove(k.keys); err != nil {
			k.t.Fatal(err)
		}
		if err := os.WriteFile(k.keys, []byte(text), mode); err != nil {
			k.t.Fatal(err)
		}
	}
	set(text, 0o600)
	for _, args := range [][]string{{"--listen", "127.0.0.1:0"}, {"fsck"}, {"export", filepath.Join(k.t.TempDir(), "out")}, {"key", "rotate"}} {
		told := k.server(api.ExitConfig, k.with(args...)...)
		wantIn(k.t, "an old key file", told, parts...)
		if lines := strings.Count(told, "\n"); lines > 2 { // the line and its hint
			k.t.Errorf("%d lines: %s", lines, told)
		}
	}
	wantIn(k.t, "no key file", k.server(api.ExitConfig, "--data", k.data, "--listen", "127.0.0.1:0"), "no key file is named")
	k.server(0, "token", "list", "--data", k.data)
	set(string(right), 0o644)
	wantIn(k.t, "an open key file", k.server(api.ExitConfig, k.with("--listen", "127.0.0.1:0")...), "chmod 600")
	set(string(right), 0o600)
}

// reads starts the server and asks it for texts, as they are and by search.
func (k keyed) reads(secret string, texts ...string) {
	k.t.Helper()
	p := startServer(k.t, k.with("-v")...)
	got := p.ask(http.MethodGet, memoryPath("acme/api"), secret, "")
	wantIn(k.t, "the server", got.body, texts...)
	wantIn(k.t, "search", p.ask(http.MethodGet, api.PathSearch+"?repo=acme/api&q=before", secret, "").body, `"a.md"`)
	wantIn(k.t, "ready", p.ask(http.MethodGet, api.PathReady, "", "").body, "ready")
	p.stop()
	key, err := os.ReadFile(k.keys)
	if err != nil {
		k.t.Fatal(err)
	}
	for field := range strings.FieldsSeq(string(key)) {
		if len(field) > 40 && strings.Contains(p.log.String(), field[:20]) {
			k.t.Error("the log holds a key")
		}
	}
}

// keepsNothing backs up and restores.
func (k keyed) keepsNothing(master string) {
	k.t.Helper()
	backup := filepath.Join(k.t.TempDir(), "monday")
	k.server(0, k.with("backup", backup)...)
	if holds(files(k.t, filepath.Dir(backup)), "words from") {
		k.t.Error("a text is in the backup")
	}
	wantIn(k.t, "restore without the key file", k.server(api.ExitConfig, "restore", backup, "--data", k.data), "no key file", master)
	wantIn(k.t, "restore", k.server(0, k.with("restore", backup)...), "restored")
	wantIn(k.t, "fsck", k.server(0, k.with("fsck")...), "contents: 2 encrypted, 0 plain")
}

// moves exports, which has texts.
func (k keyed) moves(secret string, texts ...string) {
	k.t.Helper()
	tar := filepath.Join(k.t.TempDir(), "all.tar")
	k.server(0, k.with("export", tar, "--format", "tar")...)
	text, err := os.ReadFile(tar)
	if err != nil {
		k.t.Fatal(err)
	}
	wantIn(k.t, "the export", string(text), texts...)
	k.reads(secret, texts...)
}
