package match_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/scanner/match"
	"github.com/teammem/teammemd/scanner/rules"
	"github.com/teammem/teammemd/scanner/samples"
)

// TestGatesLoseNothing compares the search with one that looks at every place of
// a keyword: over the samples of all rules, in pieces of notes, and mutated.
func TestGatesLoseNothing(t *testing.T) {
	gated, open := match.New(rules.All()), match.New(rules.All())
	if err := open.Ungate(); err != nil {
		t.Fatal(err)
	}
	sieves, words, err := gated.Gate()
	if err != nil || sieves < 300 || words < 20 {
		t.Fatalf("%d rules with a sieve, %d that ask for words, %v", sieves, words, err)
	}
	seeds := seedsOf()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			text := drawNote(t, seeds)
			want := find(t, open, text)
			found += len(want)
			if got := find(t, gated, text); !slices.Equal(got, want) {
				t.Fatalf("%q: %v, without gates %v", text, named(gated, text, got), named(open, text, want))
			}
		}
	})
	if found == 0 {
		t.Error("nothing was ever found")
	}
}

// seedsOf returns the samples of the rules of which a filter asks for words, and of
// some others, hits and misses.
func seedsOf() (seeds []string) {
	source := samples.NewSource(7, "gates")
	for i, r := range rules.All() {
		asks := slices.ContainsFunc(r.Filters, func(f rules.Filter) bool { return f.Needs != rules.AnyWord })
		if !asks && i%5 > 0 {
			continue
		}
		for _, made := range []func(*samples.Source) []string{r.Hits, r.Misses} {
			if made != nil {
				seeds = append(seeds, made(source)...)
			}
		}
	}
	return seeds
}

// drawNote puts samples together with what stands around values in notes, and
// spoils some characters.
func drawNote(t *rapid.T, seeds []string) string {
	pieces := []string{
		" ", "\n", "\r\n", "\n\n", "\"", "'", "`", "**", "_", "<b>", "</b>", ">", "|", "(", ")", ": ", "=", " is ", " ist ", "。", "：", "「", "“", "…", "é", "\u00a0",
		"password", "token", "API key", "Passwort", "пароль", "密码", "of the host", "in Release-Notes_12.4b",
	}
	labels := []string{"password", "token", "the API key", "Passwort", "пароль", "密码", "pw", "secret", "clé API", "the password of the host", "the API key of the host"}
	joints := []string{": ", "=", " is ", " ist ", "：", ":\n", " = \"", " `", " “", ": **", "は", " | ", "? ada: "}
	values := []string{"x7!Kq" + "92L", "A1b2C3d4" + "E5f6G7h8", "Tulip-bcdf" + "g!482", "correct-horse-battery-9", "hunter2", "release-notes", "8f14e45f" + "ceea167a5a36dedd4bea2543"}
	labelled := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom(labels).Draw(t, "label") + rapid.SampledFrom(joints).Draw(t, "joint") + rapid.SampledFrom(values).Draw(t, "value") + rapid.SampledFrom(pieces).Draw(t, "end")
	})
	text := []rune(strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(seeds), labelled, rapid.SampledFrom(pieces)), 1, 8).Draw(t, "pieces"), ""))
	for range rapid.IntRange(0, 3).Draw(t, "mutations") {
		if len(text) == 0 {
			break
		}
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		switch rapid.IntRange(0, 2).Draw(t, "way") {
		case 0:
			text = slices.Delete(text, at, at+1)
		case 1:
			text = slices.Insert(text, at, []rune(rapid.SampledFrom(pieces).Draw(t, "inserted"))...)
		case 2:
			text[at] = rapid.SampledFrom([]rune("aZ9-_./ \n\"'`|<>é日")).Draw(t, "put")
		}
	}
	return string(text)
}

func named(m *match.Matcher, text string, hits []match.Hit) (names []string) {
	for _, hit := range hits {
		names = append(names, m.Rule(hit.Rule).ID+" "+text[hit.Start:hit.End])
	}
	return names
}
