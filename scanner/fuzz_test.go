package scanner_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/samples"
)

func FuzzScan(f *testing.F) {
	for _, family := range samples.Families() {
		f.Add("notes/"+family.Rule+".md", "# 鍵\r\n\tvalue: "+family.Sample()+"\n\n%20end")
	}
	f.Add("", "")
	f.Add("a/../b//.", "\n\n\r\n")
	s := scanner.New(scanner.Options{})
	f.Fuzz(func(t *testing.T, name, text string) {
		findings, err := s.Scan(t.Context(), name, text)
		if refusal := (*scanner.Refusal)(nil); errors.As(err, &refusal) {
			if refusal.Reason == scanner.Unreadable {
				t.Fatalf("%d bytes: %s", len(text), refusal.Detail)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, finding := range findings {
			start, end := finding.Span()
			where := text
			if finding.InName {
				where = name
			}
			if start < 0 || end <= start || end > len(where) {
				t.Fatalf("%s: bytes %d to %d of %d", finding.Rule, start, end, len(where))
			}
			line, column := 0, start+1
			if !finding.InName {
				line = 1 + strings.Count(text[:start], "\n")
				column = start - strings.LastIndexByte(text[:start], '\n')
			}
			if finding.Line != line || finding.Column != column || finding.Length != end-start {
				t.Fatalf("%s: %d:%d+%d, want %d:%d+%d", finding.Rule, finding.Line, finding.Column, finding.Length, line, column, end-start)
			}
		}
		again, err := s.Scan(t.Context(), name, text)
		if err != nil || !slices.Equal(findings, again) {
			t.Fatalf("the second scan differs: %d and %d findings, %v", len(findings), len(again), err)
		}
		scanner.MaskName(name, findings)
		mustFind(t, s, text)
	})
}

// mustFind plants a token on a line of its own and wants it found, whatever
// stands around it.
func mustFind(t *testing.T, s *scanner.Scanner, text string) {
	t.Helper()
	value := sample(t, "github-pat")
	at := len(text) / 2
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	before := text[:at] + "\n"
	planted := before + value + "\n" + text[at:]
	if len(planted) > scanner.DefaultMaxBytes {
		return
	}
	findings, err := s.Scan(t.Context(), "", planted)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(findings, func(f scanner.Finding) bool {
		start, end := f.Span()
		return f.Rule == "github-pat" && start == len(before) && end == start+len(value)
	}) {
		t.Fatalf("the planted token in a text of %d bytes is not found", len(planted))
	}
}
