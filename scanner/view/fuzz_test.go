package view_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/teammem/teammemd/scanner/samples"
	"github.com/teammem/teammemd/scanner/view"
)

func FuzzNormalise(f *testing.F) {
	for _, test := range distortions {
		f.Add("a "+test.text, test.text+" b")
	}
	for _, piece := range pieces {
		f.Add(piece, piece+piece)
	}
	word := samples.NewSource(1, "fuzz").Text(samples.Alnum, 24)
	f.Fuzz(func(t *testing.T, before, after string) {
		raw := before + " " + word + " " + after
		normal, ok := view.Normalise(view.Of(raw))
		if !strings.Contains(normal.String(), word) {
			t.Fatalf("the word is lost: %q of %q", normal, raw)
		}
		if !ok && normal.String() != raw {
			t.Fatalf("it differs and says it does not: %q of %q", normal, raw)
		}
		for _, text := range view.Variants(view.Of(raw)) {
			checkView(t, raw, text)
			if utf8.ValidString(raw) && !utf8.ValidString(text.String()) {
				t.Fatalf("no UTF-8: %q of %q", text, raw)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, piece := range pieces {
		f.Add(piece)
		f.Add("%41" + piece + piece + "\\u0041")
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, text := range views(raw) {
			checkView(t, raw, text)
		}
	})
}
