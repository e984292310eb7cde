package view_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/scanner/samples"
	"github.com/teammem/teammemd/scanner/view"
)

// pieces are what messy texts consist of.
var pieces = []string{
	"word", "Word2", " ", "\n", "\r\n", "\t", "é", "中", "\u200b", "\u00ad", "\ufeff", "\x1b[31m", "\x1b", "\x1b[", "\x01",
	"\\", "\\n", "\\_", "\\\n", "&", "amp;", "&lowbar;", "&#95;", "&#x5F;", "&shy;", "<", "<b>", "</b>", "<br>", "<wbr/>",
	"<span a=b>", "<!--", "-->", "*", "**", "_", "__", "`", "~~", "\"", "'", " + ", ".", "> ", "# ", "| ", "- ", "//", "=",
	"=\n", "＿", "ａ", "\u2011", "\u00a0", "𝚐", "%", "%5F", "%2B", "\\u005f", "\\x5f", "\\u{5f}", "\\137", "0x",
	"dGhlIHF1aWNrIGJyb3duIGZveA==", "746865207175696368206272", "aB3dE5gH7", "\xff", "\xe2\x80",
}

// messy draws a text of pieces, some of which are random.
func messy() *rapid.Generator[string] {
	piece := rapid.OneOf(rapid.SampledFrom(pieces), rapid.SampledFrom(pieces), rapid.StringN(0, 4, 8))
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "pieces"), "")
	})
}

// views returns every view of raw, two layers of decoding deep.
func views(raw string) []view.Text {
	made := append([]view.Text{view.Of(raw)}, view.Variants(view.Of(raw))...)
	for range 2 {
		for _, text := range made {
			if decoded, ok := view.Decode(text); ok {
				made = append(made, decoded)
			}
		}
	}
	return made
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkView checks what holds for every view of raw.
func checkView(t failer, raw string, text view.Text) {
	t.Helper()
	s := text.String()
	if len(s) > 2*len(raw) {
		t.Fatalf("%d bytes of %d: %q of %q", len(s), len(raw), s, raw)
	}
	lastFrom, lastTo := 0, 0
	for i := range len(s) {
		from, to := text.Origin(i, i+1)
		if from < lastFrom || to < lastTo || from >= to || to > len(raw) {
			t.Fatalf("byte %d of %q is from %d-%d, that before %d-%d, of %q", i, s, from, to, lastFrom, lastTo, raw)
		}
		if all, end := text.Origin(0, i+1); end != to || all > from {
			t.Fatalf("bytes 0-%d of %q are from %d-%d, of %q", i+1, s, all, end, raw)
		}
		lastFrom, lastTo = from, to
	}
	for _, at := range []int{-1, 0, len(s) / 2, len(s), len(s) + 1} {
		if from, to := text.Origin(at, at); from != to || from < 0 || to > len(raw) {
			t.Fatalf("the empty span %d of %q is from %d-%d of %q", at, s, from, to, raw)
		}
	}
	checkTouched(t, text)
}

// checkTouched checks that the stretches of a text are those that Touched tells,
// and that all else is as in the parent.
func checkTouched(t failer, text view.Text) {
	t.Helper()
	s := text.String()
	in := make([]bool, len(s))
	last := -1
	for start, end, ok := text.NextTouched(0); ok; start, end, ok = text.NextTouched(end) {
		if start <= last || end <= start || end > len(s) {
			t.Fatalf("a stretch %d-%d after %d of %q", start, end, last, s)
		}
		for i := start; i < end; i++ {
			in[i] = true
		}
		last = end
	}
	parent, made := text.Parent()
	before := -1
	for i := range in {
		if text.Touched(i, i+1) != in[i] {
			t.Fatalf("byte %d of %q is in a stretch: %t", i, s, in[i])
		}
		if in[i] || !made {
			before = -1
			continue
		}
		from, to := text.Source(i)
		if parent.String()[from:to] != s[i:i+1] || before >= 0 && from != before {
			t.Fatalf("byte %d of %q is not touched and differs from %q", i, s, parent.String())
		}
		before = to
	}
}

func TestEveryViewKnowsItsWayBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := messy().Draw(t, "raw")
		for _, text := range views(raw) {
			checkView(t, raw, text)
		}
	})
}

func TestVariantsOfUTF8AreUTF8(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := strings.ToValidUTF8(messy().Draw(t, "raw"), "?")
		for _, text := range view.Variants(view.Of(raw)) {
			if !utf8.ValidString(text.String()) {
				t.Fatalf("%q of %q", text, raw)
			}
		}
	})
}

func TestWordsOfLettersAreKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := samples.NewSource(rapid.Uint64().Draw(t, "seed"), "kept").Text(samples.Alnum, 24)
		raw := messy().Draw(t, "before") + " " + word + " " + messy().Draw(t, "after")
		text, _ := view.Normalise(view.Of(raw))
		if !strings.Contains(text.String(), word) {
			t.Fatalf("%q of %q", text, raw)
		}
	})
}

// sentence draws prose without marks.
func sentence() *rapid.Generator[string] { return rapid.StringMatching(`([a-z]{1,9} ){0,12}`) }

func TestTokensThatAreBrokenAreWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := samples.NewSource(rapid.Uint64().Draw(t, "seed"), "whole")
		token := "zz" + "q_" + s.Text(samples.Alnum, rapid.IntRange(20, 60).Draw(t, "length"))
		at := rapid.IntRange(6, len(token)-1).Draw(t, "break")
		test := rapid.SampledFrom(distortions).Draw(t, "distortion")
		replacer := strings.NewReplacer("H", token[:at], "T", token[at:])
		written := replacer.Replace(test.text)
		before := sentence().Draw(t, "before")
		raw := before + "\n\n" + written + "\n\n" + sentence().Draw(t, "after")
		from := len(before) + 2 + strings.Index(test.text, "H")
		to := len(before) + 2 + len(replacer.Replace(test.text[:strings.LastIndex(test.text, "T")+1]))
		got := spans(view.Variants(view.Of(raw)), token)
		if want := fmt.Sprint(from, "-", to); len(got) == 0 || got[0] != want {
			t.Fatalf("%s: at %v, want %s of %q: %q", test.name, got, want, raw, view.Variants(view.Of(raw)))
		}
	})
}
