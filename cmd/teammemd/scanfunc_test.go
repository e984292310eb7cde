package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/samples"
)

func sample(t *testing.T, rule string) string {
	t.Helper()
	f, ok := samples.Find(rule)
	if !ok {
		t.Fatalf("there is no family %s", rule)
	}
	return f.Sample()
}

func TestScanFuncFindings(t *testing.T) {
	scan := scanFunc(scanner.New(scanner.Options{}))
	value := sample(t, "github-pat")
	tests := []struct {
		name      string
		key, text string
		want      []api.Finding // without reasons
	}{
		{"clean", "a.md", "text\n", nil},
		{"in the text", "a.md", "text\n  " + value + "\n", []api.Finding{{Key: "a.md", Line: 2, Column: 3, Rule: "github-pat", Tier: "block1"}}},
		{"in the name", "x/" + value + ".md", "text\n", []api.Finding{{Key: "x/<github-pat>.md", Column: 3, Rule: "github-pat", Tier: "block1"}}},
		{"no name", "", value, []api.Finding{{Line: 1, Column: 1, Rule: "github-pat", Tier: "block1"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := scan(t.Context(), tt.key, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if got[i].Reason == "" || strings.Contains(got[i].Reason, value) {
					t.Errorf("reason %q", got[i].Reason)
				}
				got[i].Reason = ""
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestScanFuncRefusals(t *testing.T) {
	scan := scanFunc(scanner.New(scanner.Options{MaxBytes: 10}))
	for _, tt := range []struct {
		text string
		want api.Reason
	}{
		{"a\x00b", api.HeldNotText},
		{"\xff", api.HeldNotText},
		{strings.Repeat("x", 11), api.HeldTooLarge},
	} {
		_, err := scan(t.Context(), "a.md", tt.text)
		var held *api.HeldError
		if !errors.As(err, &held) || held.Reason != tt.want || held.Detail == "" {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := scan(ended, "a.md", "text")
	var held *api.HeldError
	if !errors.Is(err, api.ErrUnavailable) || errors.As(err, &held) {
		t.Errorf("a scan that was cancelled: %v, want %v", err, api.ErrUnavailable)
	}
}
