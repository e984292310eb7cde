package search_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/search"
)

// checkFound holds an answer against what every answer promises.
func checkFound(t *testing.T, found search.Found, most int) {
	t.Helper()
	if len(found.Results) > found.Total || len(found.Results) > most {
		t.Fatalf("%d results of %d, at most %d", len(found.Results), found.Total, most)
	}
	for i, r := range found.Results {
		if i > 0 && (found.Results[i-1].Score < r.Score || found.Results[i-1].Score == r.Score && found.Results[i-1].Key.Compare(r.Key) >= 0) {
			t.Fatalf("result %d is out of order", i)
		}
		if !utf8.ValidString(r.Text) || strings.ContainsAny(r.Text, "\n\r\t\x00\x1b") {
			t.Fatalf("a snippet is not plain: %q", r.Text)
		}
		end := 0
		for _, m := range r.Marks {
			if m[0] < end || m[1] <= m[0] || m[1] > utf8.RuneCountInString(r.Text) {
				t.Fatalf("marks %v of %q", r.Marks, r.Text)
			}
			end = m[1]
		}
		if r.Score < 0 || r.Score != r.Score || r.Line < 0 {
			t.Fatalf("score %v, line %d", r.Score, r.Line)
		}
	}
}

// FuzzQuery: no query makes anything panic, and every one that is taken is
// answered, the same each time.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		"deploy", `"blue green" -x`, "key:ops/** deploy", `-"a b`, `"`, "-", "--", "*", "**", "-*", "key:", "-key:*", `key:"a b" x`, "日本語*", "a* -a*", "“x” „y‟",
		"MaxEntryBytes*", "a_b-c", "!!!", "\x00", "\xff\xfe", strings.Repeat("a ", 40), strings.Repeat("日", 200), "key:" + strings.Repeat("*", 100), "ｶﾞ", "e\u0301*", "\u0301",
	} {
		f.Add(q)
	}
	x := build(f, corpus())
	f.Fuzz(func(t *testing.T, text string) {
		q, err := search.Parse(text)
		if err != nil {
			if !errors.Is(err, api.ErrBadRequest) || strings.Contains(err.Error(), text) && len(text) > 12 {
				t.Fatalf("Parse(%q) = %v", text, err)
			}
			return
		}
		found := x.Find(q, search.Page{Limit: 20})
		checkFound(t, found, 20)
		again := x.Find(q, search.Page{Limit: 20})
		if found.Total != again.Total || found.Match != again.Match {
			t.Fatalf("%q is answered in two ways", text)
		}
	})
}

// FuzzText: no text makes anything panic, and what is in it is found.
func FuzzText(f *testing.F) {
	for _, text := range []string{
		"plain words", "---\nname: x\ndescription: >-\n  folded\n  more\n---\n# T\n", "---\n", "---", "---\n---", "#", "# ", "##x", "日本語ﾃﾞｰﾀ", "aB", "ABc", "É́COLE",
		"\x00\xff\xfe", strings.Repeat("aB", 200), strings.Repeat("a-", 50), "\u0301\u0301", "ﾞ", "İIıi", "ǅǅ", "\r\r\n", "a_b_c-d", "ﷺ", "e\u0301\u0302\u0303",
	} {
		f.Add("a/b.md", text, "plain")
	}
	f.Fuzz(func(t *testing.T, name, text, word string) {
		if again := search.Fold(search.Fold(word)); again != search.Fold(word) {
			t.Fatalf("%q folds to %q, that to %q", word, search.Fold(word), again)
		}
		key, err := api.ParseKey(name)
		if err != nil {
			return
		}
		e := entries{key.String(): text, "other.md": "other"}
		for _, most := range []int{api.MaxEntryBytes, 7} {
			x := (*search.Index)(nil).Next(e.items(t), e.contents(), most)
			for _, asked := range []string{word, text, `"` + text + `"`, "key:" + name} {
				if q, err := search.Parse(asked); err == nil {
					checkFound(t, x.Find(q, search.Page{Limit: 5}), 5)
				}
			}
			// A text without quotation marks is found by itself.
			if most < len(text) || strings.ContainsAny(text, "\"“”„‟＂") {
				continue
			}
			if q, err := search.Parse(`"` + text + `"`); err == nil && name != "other.md" && x.Find(q, search.Page{Limit: 5}).Total == 0 {
				t.Fatalf("%q is not found by itself", text)
			}
		}
	})
}
