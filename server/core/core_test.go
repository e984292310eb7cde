package core_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func repoOf(t fataler, s string) api.Repo {
	t.Helper()
	r, err := api.ParseRepo(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func clean(context.Context, string, string) ([]api.Finding, error) { return nil, nil }

func newCore(tb testing.TB, o core.Options) *core.Core {
	tb.Helper()
	if o.Store == nil {
		o.Store = sqlitetest.Serve(tb, tb.TempDir())
	}
	if o.Scan == nil {
		o.Scan = clean
	}
	c, err := core.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

type entries = map[string]string

func put(t fataler, c *core.Core, repo api.Repo, e entries) core.Pushed {
	t.Helper()
	pushed, err := c.Push(context.Background(), core.Push{Repo: repo, Role: api.Maintainer, Request: api.PushRequest{Entries: e}})
	if err != nil {
		t.Fatal(err)
	}
	return pushed
}

func fullAnswer(t fataler, c *core.Core, view *core.View, sel core.Selection) api.FullAnswer {
	t.Helper()
	var buf bytes.Buffer
	if err := c.WriteFull(context.Background(), &buf, view, sel); err != nil {
		t.Fatal(err)
	}
	var full api.FullAnswer
	if err := json.Unmarshal(buf.Bytes(), &full); err != nil {
		t.Fatalf("%v: %s", err, buf.Bytes())
	}
	return full
}

func TestNewRefuses(t *testing.T) {
	if _, err := core.New(core.Options{Scan: clean}); !errors.Is(err, api.ErrConfig) {
		t.Errorf("without a store: %v", err)
	}
	if _, err := core.New(core.Options{Store: sqlitetest.Serve(t, t.TempDir())}); !errors.Is(err, api.ErrConfig) {
		t.Errorf("without a scanner: %v", err)
	}
}

func TestPushNeedsAWriter(t *testing.T) {
	c := newCore(t, core.Options{})
	for role, want := range map[api.Role]error{api.NoRole: api.ErrNotFound, api.Reader: api.ErrForbidden, api.Writer: nil} {
		_, err := c.Push(t.Context(), core.Push{Repo: repoOf(t, "a/b"), Role: role})
		if !errors.Is(err, want) {
			t.Errorf("push by %v = %v, want %v", role, err, want)
		}
	}
}

// What is written out is JSON whatever the texts are, and the same as a
// marshaller would make.
func TestFullAnswerOfOddTexts(t *testing.T) {
	c := newCore(t, core.Options{})
	odd := entries{
		`q"uote/back.md`: "\"\\/\b\f\n\r\t\x01\x1f\x7f", "html<>&.md": "<script>&amp;</script>\u2028\u2029", "ünï/日本/🙂.md": "🙂\ufffd\u0000"[:7], "empty": "",
		"large": strings.Repeat("x\n", 100_000), "large2": strings.Repeat("é", 120_000),
	}
	for i := range 10 {
		odd[fmt.Sprintf("big/%d", i)] = strings.Repeat(strconv.Itoa(i), 240_000) // more than one chunk
	}
	pushed := put(t, c, repoOf(t, "a/b"), odd)
	full := fullAnswer(t, c, pushed.View, core.Selection{})
	if diff := cmp.Diff(odd, full.Content.Entries); diff != "" {
		t.Errorf("entries (-sent +got):\n%.2000s", diff)
	}
	for key, content := range odd {
		if got := full.Content.EntryChecksums[key]; got != api.SumString(content).String() {
			t.Errorf("checksum of %q = %s", key, got)
		}
		if at := full.Content.EntryModified[key]; !at.Equal(pushed.LastModified) {
			t.Errorf("%q was modified at %v, the repo at %v", key, at, pushed.LastModified)
		}
	}
}

func TestHashesAreRenderedOnce(t *testing.T) {
	c := newCore(t, core.Options{})
	put(t, c, repoOf(t, "a/b"), entries{"k": "1"})
	view := func() *core.View {
		v, err := c.View(t.Context(), repoOf(t, "a/b"))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := view().Hashes(false)
	if again := view().Hashes(false); &again[0] != &first[0] {
		t.Error("the same state was rendered twice")
	}
	put(t, c, repoOf(t, "a/b"), entries{"k": "2"})
	if again := view().Hashes(false); bytes.Equal(again, first) {
		t.Error("a change does not show")
	}
}

func TestViewsAreBounded(t *testing.T) {
	c := newCore(t, core.Options{CacheBytes: 4 << 10})
	var first []*core.View
	for round := range 2 {
		for i := range 8 {
			repo := repoOf(t, fmt.Sprintf("a/%d", i))
			if round == 0 {
				put(t, c, repo, entries{"k": strings.Repeat("x", i)})
			}
			v, err := c.View(t.Context(), repo)
			if err != nil {
				t.Fatal(err)
			}
			v.Hashes(true)
			if round == 0 {
				first = append(first, v)
			} else if v == first[i] && i < 4 {
				t.Errorf("the view of repo %d is still kept", i)
			}
		}
	}
}

// A content that was found clean is not scanned again under the same rules, and
// is under others.
func TestVerdictsAreRemembered(t *testing.T) {
	var scans atomic.Int32
	var rules atomic.Pointer[string]
	one, two := "one", "two"
	rules.Store(&one)
	c := newCore(t, core.Options{
		Rules: func() string { return *rules.Load() },
		Scan: func(_ context.Context, key, content string) ([]api.Finding, error) {
			scans.Add(1)
			if strings.Contains(content, "MARK") {
				return []api.Finding{{Key: key, Line: 1, Rule: "mark", Tier: "block1"}}, nil
			}
			return nil, nil
		},
	})
	repo := repoOf(t, "a/b")
	push := func(want int32, e entries) {
		t.Helper()
		scans.Store(0)
		_, _ = c.Push(t.Context(), core.Push{Repo: repo, Role: api.Writer, Request: api.PushRequest{Entries: e}})
		if got := scans.Load(); got != want {
			t.Errorf("push of %v made %d scans, want %d", e, got, want)
		}
	}
	push(2, entries{"a": "1", "b": "2"})
	push(0, entries{"a": "1", "b": "2"})
	push(1, entries{"a": "2"}) // the same content under another key: the key counts
	push(1, entries{"a": "MARK"})
	push(1, entries{"a": "MARK"})
	rules.Store(&two)
	push(2, entries{"a": "1", "b": "2"})
}

// The body of a push is scanned before the repo is locked: a slow scan holds no
// other writer up.
func TestScanHoldsNoLock(t *testing.T) {
	scanning, goOn := make(chan struct{}), make(chan struct{})
	c := newCore(t, core.Options{Scan: func(_ context.Context, _, content string) ([]api.Finding, error) {
		if content == "slow" {
			close(scanning)
			<-goOn
		}
		return nil, nil
	}})
	repo := repoOf(t, "a/b")
	put(t, c, repo, entries{"seen": "1"})
	var slow sync.WaitGroup
	slow.Go(func() { put(t, c, repo, entries{"k": "slow"}) })
	<-scanning
	// A content that is known needs no slot to scan in either.
	if got := put(t, c, repo, entries{"seen": "1"}).Version; got != 1 {
		t.Errorf("version %d, want 1", got)
	}
	close(goOn)
	slow.Wait()
}

func TestRestoreRacesWithWriters(t *testing.T) {
	c := newCore(t, core.Options{})
	repo := repoOf(t, "a/b")
	put(t, c, repo, entries{"k": "first"})
	k, err := api.ParseKey("k")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 10 {
				put(t, c, repo, entries{"k": fmt.Sprint(i, j)})
			}
		})
	}
	all.Go(func() {
		for range 10 {
			_, err := c.Restore(context.Background(), core.Push{Repo: repo, Role: api.Maintainer}, k, 1)
			if err != nil && !errors.Is(err, api.ErrConflict) {
				t.Errorf("restore: %v", err)
			}
		}
	})
	all.Wait()
	history, err := c.History(t.Context(), repo, k, 0)
	if err != nil {
		t.Fatal(err)
	}
	current := 0
	for i, v := range history.Versions {
		if v.Current {
			current++
		}
		if want := uint64(len(history.Versions) - i); v.Version != want {
			t.Fatalf("row %d is version %d, want %d", i, v.Version, want)
		}
	}
	if current != 1 {
		t.Errorf("%d versions are current", current)
	}
}

func TestRestoreIsScanned(t *testing.T) {
	strict := false
	c := newCore(t, core.Options{
		Rules: func() string { return strconv.FormatBool(strict) },
		Scan: func(_ context.Context, key, content string) ([]api.Finding, error) {
			if strict && content == "1" {
				return []api.Finding{{Key: key, Line: 1, Rule: "new", Tier: "block1"}}, nil
			}
			return nil, nil
		},
	})
	repo := repoOf(t, "a/b")
	put(t, c, repo, entries{"k": "1"})
	put(t, c, repo, entries{"k": "2"})
	strict = true
	k, err := api.ParseKey("k")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Restore(t.Context(), core.Push{Repo: repo, Role: api.Maintainer}, k, 1); !errors.Is(err, api.ErrSecretFound) {
		t.Errorf("restoring what the rules now refuse = %v, want secret found", err)
	}
}

// fullStore is a store whose disk has no room for a write.
type fullStore struct{ store.Store }

func (fullStore) Update(_ context.Context, repo api.Repo, _ func(store.Tx) (store.Change, error)) (*store.Head, error) {
	return nil, fmt.Errorf("writing to %q: %w: no space left in file 7", repo, store.ErrFull)
}

// TestFullDisk: a writer hears one line that says why, and nothing of the inside.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	c := newCore(t, core.Options{Store: fullStore{sqlitetest.Serve(t, t.TempDir())}})
	_, err := c.Push(t.Context(), core.Push{Repo: repoOf(t, "a/b"), Role: api.Writer, Request: api.PushRequest{Entries: entries{"a.md": "text"}}})
	status, body := api.Wire(err)
	const want = "server unavailable: the disk of its database is full; nothing was written, try again when its operator made room"
	if status != http.StatusServiceUnavailable || body.Error.Message != want {
		t.Errorf("%d %q, want 503 %q", status, body.Error.Message, want)
	}
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("what is logged is %v", err)
	}
}
