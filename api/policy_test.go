package api_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

func TestPolicyCovers(t *testing.T) {
	for _, tt := range []struct {
		keys, key string
		want      bool
	}{
		{"", "a.md", true},
		{"**", "a/b/c.md", true},
		{"a.md", "a.md", true},
		{"a.md", "b/a.md", false},
		{"*.md", "a.md", true},
		{"*.md", "b/a.md", false},
		{"docs/*", "docs/a.md", true},
		{"docs/*", "docs/b/a.md", false},
		{"docs/**", "docs/a.md", true},
		{"docs/**", "docs/b/c/a.md", true},
		{"docs/**", "docs", false},
		{"docs/**", "docs-evil/a.md", false},
		{"d?cs/**", "dXcs/a.md", true},
		{"*/samples/**", "x/samples/y/z.md", true},
		{"*/samples/**", "samples/z.md", false},
		{"[a-c].md", "b.md", true},
		{"[a", "[a", false}, // malformed: covers nothing
	} {
		e := api.PolicyEntry{Rule: "r", Keys: tt.keys}
		if got := e.Covers("r", tt.key); got != tt.want {
			t.Errorf("%q covers %q: %v, want %v", tt.keys, tt.key, got, tt.want)
		}
		if e.Covers("another", tt.key) {
			t.Errorf("%q covers another rule", tt.keys)
		}
	}
}

func TestPolicyInForce(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		entry api.PolicyEntry
		want  bool
	}{
		"without an end":    {api.PolicyEntry{}, true},
		"before its expiry": {api.PolicyEntry{ExpiresAt: now.Add(1)}, true},
		"at its expiry":     {api.PolicyEntry{ExpiresAt: now}, false},
		"ended":             {api.PolicyEntry{EndedAt: now.Add(-1)}, false},
	} {
		if got := tt.entry.InForce(now); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestParseKeyPattern(t *testing.T) {
	for _, bad := range []string{"[a", "a\\", strings.Repeat("a", 2000)} {
		if err := api.ParseKeyPattern(bad); !errors.Is(err, api.ErrBadRequest) {
			t.Errorf("%.10q: %v", bad, err)
		}
	}
	for _, good := range []string{"", "**", "docs/**", "*.md", "a/[b-d]?.md"} {
		if err := api.ParseKeyPattern(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

func TestKnownReason(t *testing.T) {
	for _, reason := range append([]string{api.AllowedByTeam}, api.AllowReasons...) {
		if got := api.KnownReason(reason); got != reason {
			t.Errorf("%q became %q", reason, got)
		}
	}
	if got := api.KnownReason("free text"); got != api.AllowedOtherwise {
		t.Errorf("free text became %q", got)
	}
}
