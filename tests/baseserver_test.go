package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// baseServer offers the first part of the protocol and nothing else: no epoch,
// no per-key preconditions, no selection of keys, no events. It checks no keys,
// so that it can be hostile as well.
type baseServer struct {
	t    *testing.T
	url  string
	ours bool // pretends to be one of ours, so that a client asks for single keys

	mu        sync.Mutex
	entries   map[string]string // guarded by mu
	sums      map[string]string // claimed instead of the true ones; guarded by mu
	deleted   map[string]uint64 // guarded by mu
	version   uint64            // 0 = never written; guarded by mu
	puts      int               // guarded by mu
	stale     int               // 412s; guarded by mu
	token     string            // the only one that counts, "" for any; guarded by mu
	refused   int               // 401s; guarded by mu
	elsewhere []string          // requests that a base server does not know; guarded by mu
}

func newBaseServer(t *testing.T) *baseServer {
	t.Helper()
	b := &baseServer{t: t, entries: make(map[string]string), sums: make(map[string]string), deleted: make(map[string]uint64)}
	s := httptest.NewServer(b)
	b.url = s.URL
	t.Cleanup(s.Close)
	return b
}

func (b *baseServer) checksum() string {
	var all strings.Builder
	for _, key := range slices.Sorted(maps.Keys(b.entries)) {
		fmt.Fprintf(&all, "%q %s\n", key, api.SumString(b.entries[key]))
	}
	fmt.Fprintf(&all, "%d", len(b.deleted))
	return api.SumString(all.String()).String()
}

func (b *baseServer) entryChecksums() map[string]string {
	sums := make(map[string]string)
	for key, text := range b.entries {
		sums[key] = api.SumString(text).String()
		if claimed := b.sums[key]; claimed != "" {
			sums[key] = claimed
		}
	}
	return sums
}

// ServeHTTP implements [http.Handler].
func (b *baseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ours {
		w.Header().Set(api.HeaderProtocol, api.Protocol)
	}
	if r.URL.Path != api.PathTeamMemory || r.URL.Query().Get("repo") == "" {
		b.elsewhere = append(b.elsewhere, r.Method+" "+r.URL.Path)
		b.refuse(w, http.StatusNotFound, "not_found")
		return
	}
	if got := r.Header.Get("Authorization"); got == "" || b.token != "" && got != "Bearer "+b.token {
		b.refused++
		b.refuse(w, http.StatusUnauthorized, "signed_out")
		return
	}
	switch r.Method {
	case http.MethodGet:
		b.get(w, r)
	case http.MethodPut:
		b.put(w, r)
	default:
		b.refuse(w, http.StatusMethodNotAllowed, "bad_request")
	}
}

func (b *baseServer) refuse(w http.ResponseWriter, status int, code string) {
	b.send(w, status, map[string]any{"error": map[string]any{"type": "error", "message": code, "details": map[string]any{"error_code": code}}})
}

func (b *baseServer) send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		b.t.Logf("answering: %v", err)
	}
}

func (b *baseServer) get(w http.ResponseWriter, r *http.Request) {
	if b.version == 0 {
		b.refuse(w, http.StatusNotFound, "not_found")
		return
	}
	w.Header().Set("ETag", `"`+b.checksum()+`"`)
	if r.URL.Query().Get("view") == "hashes" {
		answer := map[string]any{"version": b.version, "checksum": b.checksum(), "entryChecksums": b.entryChecksums()}
		if len(b.deleted) > 0 {
			answer["deletedEntries"] = b.deleted
		}
		b.send(w, http.StatusOK, answer)
		return
	}
	if r.Header.Get("If-None-Match") == `"`+b.checksum()+`"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	entries := maps.Clone(b.entries)
	if asked := r.URL.Query()["keys"]; b.ours && len(asked) > 0 {
		maps.DeleteFunc(entries, func(key, _ string) bool {
			// A hostile server sends more than was asked for.
			return !slices.Contains(asked, key) && !strings.Contains(key, "..") && !strings.HasPrefix(key, "/")
		})
	}
	content := map[string]any{"entries": entries, "entryChecksums": b.entryChecksums()}
	if len(b.deleted) > 0 {
		content["deletedEntries"] = b.deleted
	}
	b.send(w, http.StatusOK, map[string]any{
		"organizationId": "org", "repo": r.URL.Query().Get("repo"), "version": b.version,
		"lastModified": time.Now().UTC().Format(time.RFC3339), "checksum": b.checksum(), "content": content,
	})
}

func (b *baseServer) put(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Entries map[string]string `json:"entries"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		b.refuse(w, http.StatusBadRequest, "bad_request")
		return
	}
	if match := r.Header.Get("If-Match"); match != "" && match != `"`+b.checksum()+`"` {
		b.stale++
		b.refuse(w, http.StatusPreconditionFailed, "precondition_failed")
		return
	}
	maps.Copy(b.entries, body.Entries)
	b.version++
	b.puts++
	b.send(w, http.StatusOK, map[string]any{"checksum": b.checksum(), "lastModified": time.Now().UTC().Format(time.RFC3339), "version": b.version})
}

// has returns the server's entries.
func (b *baseServer) has() tree {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.entries)
}

// set changes the server past its own checks.
func (b *baseServer) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
	b.version++
}

// TestBaseServer speaks to a server that knows only the first part of the
// protocol.
func TestBaseServer(t *testing.T) {
	t.Parallel()
	server := newBaseServer(t)
	a, b := newFastMachine(t, "ada"), newFastMachine(t, "ben")
	for _, m := range []*machine{a, b} {
		m.config("debounce = \"100ms\"\npoll = \"1s\"\n")
		m.enroll(server.url, "any", team)
	}
	b.sync(0) // nothing is there yet
	want := tree{"one.md": "one\n", "dir/two.md": "two\n", "empty.md": "", "ünï.md": "ü\n"}
	for i := range 30 {
		want[fmt.Sprintf("many/%02d.md", i)] = sized(20_000 + i)
	}
	for key, text := range want {
		a.write(key, text)
	}
	if r := a.sync(0); r.Sent != len(want) || r.State != "in-sync" {
		t.Fatalf("sent %d, %s, want %d, in-sync", r.Sent, r.State, len(want))
	}
	sameTree(t, "the server", want, server.has())
	if r := b.sync(0); r.Received != len(want) {
		t.Errorf("received %d, want %d", r.Received, len(want))
	}
	sameTree(t, "the other machine", want, treeOf(t, b.team))

	t.Run("edit", func(t *testing.T) {
		b.write("one.md", "one, edited\n")
		b.sync(0)
		a.sync(0)
		if got, _ := a.read("one.md"); got != "one, edited\n" {
			t.Errorf("arrived as %q", got)
		}
	})
	t.Run("delete is undone", func(t *testing.T) {
		remove(t, a.team+"/empty.md")
		if r := a.sync(0); r.Restored != 1 {
			t.Errorf("restored %d, want 1", r.Restored)
		}
	})
	t.Run("conflict", func(t *testing.T) {
		a.write("one.md", "ada\n")
		b.write("one.md", "ben\n")
		b.write("bens.md", "goes on\n")
		a.sync(0)
		if r := b.sync(3); len(r.Conflicts) != 1 || r.Sent != 1 {
			t.Errorf("conflicts %+v and %d sent, want one and 1", r.Conflicts, r.Sent)
		}
		if got, _ := b.read("one.md"); got != "ada\n" {
			t.Errorf("in place is %q", got)
		}
		if got := b.savedCopies()["one.md"]; !slices.Equal(got, []string{"ben\n"}) {
			t.Errorf("saved: %q", got)
		}
	})
	t.Run("daemons", func(t *testing.T) {
		a.daemon()
		b.daemon()
		for i := range 6 {
			a.write(fmt.Sprintf("live/a-%d.md", i), fmt.Sprintf("a %d\n", i))
			b.write(fmt.Sprintf("live/b-%d.md", i), fmt.Sprintf("b %d\n", i))
			time.Sleep(150 * time.Millisecond)
		}
		await(t, 30*time.Second, "both and the server to agree", func() bool {
			all := server.has()
			return len(all.differences(treeOf(t, a.team))) == 0 && len(all.differences(treeOf(t, b.team))) == 0 && len(all) == len(want)+1+12
		})
	})
	server.mu.Lock()
	defer server.mu.Unlock()
	t.Logf("%d PUTs accepted, %d lost a race", server.puts, server.stale)
	for _, request := range server.elsewhere {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("asked of a base server: %s", request)
		}
	}
}
