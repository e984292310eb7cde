package search_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/search"
)

// pieces are what texts of the properties are made of: words, names and
// characters of several scripts, and what stands between them.
var pieces = []string{
	"deploy", "the", "GitHub", "parseHTTPRequest", "max_entry_bytes", "read-only", "v1.2.3", "server/core.New", "Größe", "ÉCOLE", "Łódź",
	"развёртывание", "日本語", "検索する", "データ", "ﾃﾞｰﾀ", "部署手册", "猫", "빌드", "데이터베이스", "İstanbul", "e\u0301te\u0301", "x", "42", "aBcDeF", "مُلاحَظة",
	"https://example.com/a?b=c", "ＷＩＤＥ", "ǅ", "ﬁne", "a-b-c-d-e-f-g-h-i-j", strings.Repeat("long", 40),
}

var gaps = []string{" ", " ", " ", "\n", ", ", ". ", " - ", "\t", "。", "、", "", "\r\n\r\n", " (", "/", "_", "🙂", "\u200b", "\""}

// textOf makes a text, and reports where its pieces begin and end.
func drawText(t *rapid.T, label string, most int) string {
	var b strings.Builder
	for range rapid.IntRange(0, most).Draw(t, label) {
		b.WriteString(rapid.SampledFrom(pieces).Draw(t, "piece"))
		b.WriteString(rapid.SampledFrom(gaps).Draw(t, "gap"))
	}
	return b.String()
}

func drawEntries(t *rapid.T, label string) entries {
	e := entries{}
	for range rapid.IntRange(0, 40).Draw(t, label) {
		key := fmt.Sprintf("%s/%d.md", rapid.SampledFrom([]string{"a", "b", "ops", "日本"}).Draw(t, "dir"), rapid.IntRange(0, 300).Draw(t, "number"))
		e[key] = drawText(t, "pieces", 12)
	}
	return e
}

// TestPhraseIsFound: every entry that has words verbatim is found by the phrase of
// them, in whatever case.
func TestPhraseIsFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		e := drawEntries(rt, "entries")
		words := rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 5).Draw(rt, "words")
		between := rapid.SampledFrom([]string{" ", "\n", ", ", "\t"}).Draw(rt, "between")
		phrase := strings.Join(words, between)
		holder := fmt.Sprintf("ops/%d.md", rapid.IntRange(0, 300).Draw(rt, "holder"))
		e[holder] = drawText(rt, "before", 8) + " " + phrase + " " + drawText(rt, "after", 8)
		asked := phrase
		switch rapid.IntRange(0, 2).Draw(rt, "case") {
		case 1:
			asked = strings.ToLower(phrase)
		case 2:
			asked = strings.ToUpper(strings.ReplaceAll(phrase, "ǅ", ""))
			if strings.Contains(phrase, "ǅ") {
				asked = phrase
			}
		}
		x := build(t, e)
		got := find(t, x, `"`+asked+`"`)
		if !slices.Contains(keys(got), holder) {
			rt.Fatalf("%q is not found by %q: %q", e[holder], asked, keys(got))
		}
		for key, content := range e {
			if strings.Contains(" "+content+" ", " "+phrase+" ") && !slices.Contains(keys(got), key) {
				rt.Fatalf("%q is not found by %q", content, asked)
			}
		}
		if got := find(t, x, "-"+`"`+asked+`" key:**`); slices.Contains(keys(got), holder) {
			rt.Fatalf("%q is found by -%q", e[holder], asked)
		}
	})
}

// TestWordsAreFound: a name is found by itself, also in the middle of a text.
func TestWordsAreFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.SampledFrom(pieces).Draw(rt, "word")
		e := entries{"x.md": drawText(rt, "before", 8) + " " + word + " " + drawText(rt, "after", 8)}
		x := build(t, e)
		for _, q := range []string{word, strings.ToLower(word), word + "*", "nothingofthis " + word} {
			if got := find(t, x, q); got.Total != 1 {
				rt.Fatalf("%q is not found by %q", e["x.md"], q)
			} else if len(got.Results[0].Marks) == 0 {
				rt.Fatalf("the snippet %q of %q has no marks", got.Results[0].Text, q)
			}
		}
	})
}

var queries = []string{
	"deploy", "the deploy", `"the github"`, "max_entry_bytes", "parse*", "日本語", "猫", "データ -deploy", "key:ops/**", "deploy key:*.md -key:1*", "grosse ecole", "p* d*", "检索 the",
}

// TestIncrementalIsWhole changes entries step by step, and compares each index
// with one that is made at once.
func TestIncrementalIsWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		e := drawEntries(rt, "entries")
		for i := range rapid.SampledFrom([]int{0, 0, 0, 250, 400}).Draw(rt, "more") {
			e[fmt.Sprintf("more/%04d.md", i*7)] = pieces[i%len(pieces)] + " the " + pieces[i*3%len(pieces)]
		}
		modified := day
		x := build(t, e)
		most := api.MaxEntryBytes
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			modified = modified.Add(time.Hour)
			changed := drawEntries(rt, "changed")
			maps.Copy(e, changed)
			for _, key := range slices.Sorted(maps.Keys(e)) {
				if rapid.IntRange(0, 9).Draw(rt, "removed") == 0 {
					delete(e, key)
				}
			}
			if rapid.IntRange(0, 9).Draw(rt, "cut") == 0 {
				most = rapid.IntRange(0, 200).Draw(rt, "most")
			}
			items := e.items(t)
			for i := range items {
				if _, is := changed[items[i].Key.String()]; is {
					items[i].Modified = modified
				}
			}
			contents := map[api.Checksum]string{}
			for _, item := range x.Lacks(items, most) {
				contents[item.Sum] = e[item.Key.String()]
			}
			x = x.Next(items, contents, most)
			whole := (*search.Index)(nil).Next(items, e.contents(), most)
			if x.Len() != len(e) || whole.Len() != len(e) {
				rt.Fatalf("%d and %d entries, want %d", x.Len(), whole.Len(), len(e))
			}
			for _, q := range queries {
				if diff := cmp.Diff(find(t, whole, q), find(t, x, q), cmp.Comparer(func(a, b api.Key) bool { return a == b })); diff != "" {
					rt.Fatalf("%s (-whole +incremental):\n%s", q, diff)
				}
			}
		}
	})
}
