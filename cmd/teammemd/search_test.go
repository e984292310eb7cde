package main

import (
	"testing"

	"github.com/teammem/teammemd/api"
)

// TestShownSnippet shows what an honest and a hostile server may send.
func TestShownSnippet(t *testing.T) {
	t.Parallel()
	plain, terminal := shownSnippet{}, shownSnippet{bold: true, columns: 30}
	tests := []struct {
		name    string
		show    shownSnippet
		snippet string
		marks   [][2]int
		want    string
	}{
		{"plain", plain, "the canary step", [][2]int{{4, 10}}, "the canary step"},
		{"bold", terminal, "the canary step", [][2]int{{4, 10}}, "the \x1b[1mcanary\x1b[22m step"},
		{"bold to the end", terminal, "the canary", [][2]int{{4, 10}}, "the \x1b[1mcanary\x1b[22m"},
		{"two", terminal, "a b", [][2]int{{0, 1}, {2, 3}}, "\x1b[1ma\x1b[22m \x1b[1mb\x1b[22m"},
		{"characters", terminal, "日本語の検索", [][2]int{{4, 6}}, "日本語の\x1b[1m検索\x1b[22m"},
		{"cut, by columns", terminal, "日本語日本語日本語日本語日本語日本語", nil, "日本語日本語日本語日本語日本語"},
		{"cut inside a mark", terminal, "0123456789012345678901234567890123", [][2]int{{25, 34}}, "0123456789012345678901234\x1b[1m56789\x1b[22m"},
		{"not cut", plain, "0123456789012345678901234567890123", nil, "0123456789012345678901234567890123"},
		{"control characters", terminal, "a\x1b[2Jb\r\n\u202ec\u009bd", [][2]int{{0, 1}}, "\x1b[1ma\x1b[22m[2Jbcd"},
		{"marks out of range", terminal, "ab", [][2]int{{-5, -1}, {9, 3}, {1, 99}}, "ab"},
		{"marks out of order", terminal, "abc", [][2]int{{2, 3}, {0, 1}}, "ab\x1b[1mc\x1b[22m"},
	}
	for _, tt := range tests {
		if got := tt.show.text(api.SearchResult{Snippet: tt.snippet, Marks: tt.marks}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
