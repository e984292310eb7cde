package scanner_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

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
	})
}
