package match_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/scanner/match"
	"github.com/teammem/teammemd/scanner/rules"
)

// toys has one rule for each way in which a rule is searched for.
var toys = []rules.Rule{
	{ID: "at its beginning", Keywords: []string{"tok_"}, Pattern: `tok_[a-c0-9]{4}`, Alphabet: "a-z0-9_"},
	{ID: "at a distance", Keywords: []string{"~q"}, Pattern: `[ab]{3}~Q[ab]{2}`},
	{ID: "in a window", Keywords: []string{"mid"}, Pattern: `[ab]{1,4}mid[ab]{1,4}`, Alphabet: "ab"},
	{ID: "without a bound", Keywords: []string{"long-"}, Pattern: `long-[ab]{3,}`},
	{ID: "inside, without a bound", Keywords: []string{"-in-"}, Pattern: `[ab]+-in-[ab]+`},
	{ID: "far from its keyword", Keywords: []string{"vendor"}, Pattern: `[0-9]{3}\|[ab]{3}`},
	{ID: "over lines", Keywords: []string{"begin"}, Pattern: `begin(?s:.){0,20}?end`},
	{ID: "beside a label", Keywords: []string{"acme"}, Pattern: `(?i)(?:acme)(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}([a-c]{4})` + rules.Terminator("a-c")},
}

func find(tb rapid.TB, m *match.Matcher, text string) []match.Hit {
	tb.Helper()
	hits, done, err := m.Find(match.Request{Text: text})
	if err != nil || !done {
		tb.Fatalf("done: %t, %v", done, err)
	}
	return hits
}

func TestFind(t *testing.T) {
	tests := []struct{ rule, text, want string }{
		{"at its beginning", "x tok_ab12.", "tok_ab12"},
		{"at its beginning", "TOK_ab12", ""},
		{"at its beginning", "xtok_ab12", ""},
		{"at its beginning", "_tok_ab12_ **", "tok_ab12"},
		{"at its beginning", "tok_ab123", ""},
		{"at its beginning", "tok_ab12.z", ""},
		{"at its beginning", "tok_ab12。", "tok_ab12"},
		{"at its beginning", "tok_tok_ab12", "tok_ab12"},
		{"at its beginning", "tok_ab12 tok_cc00", "tok_ab12 tok_cc00"},
		{"at a distance", "aba~Qab", "aba~Qab"},
		{"at a distance", "ba~Qab", ""},
		{"at a distance", "~Qab", ""},
		{"in a window", "abmidb", "abmidb"},
		{"in a window", "xabmidb", ""},
		{"in a window", "(amidb)", "amidb"},
		{"without a bound", "long-" + strings.Repeat("ab", 3000), "long-" + strings.Repeat("ab", 2045) + "a"},
		{"inside, without a bound", "c ab-in-ba d", "ab-in-ba"},
		{"far from its keyword", "123|abb and vendor", "123|abb"},
		{"far from its keyword", "123|abb", ""},
		{"over lines", "x begin\n1\nend y", "begin\n1\nend"},
		{"beside a label", "ACME_KEY = \"abca\"", "abca"},
		{"beside a label", "acme: abca", "abca"},
		{"beside a label", "acme abca", ""},
		{"beside a label", "acme,abcab", ""},
	}
	m := match.New(toys)
	for _, tt := range tests {
		var got []string
		for _, hit := range find(t, m, tt.text) {
			if m.Rule(hit.Rule).ID == tt.rule {
				got = append(got, tt.text[hit.Start:hit.End])
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s in %.40q: %.80q, want %.80q", tt.rule, tt.text, got, tt.want)
		}
	}
}

func TestJudgement(t *testing.T) {
	m := match.New([]rules.Rule{
		{ID: "entropy", Keywords: []string{"e-"}, Pattern: `e-([a-d]{4})`, Entropy: 1.5},
		{ID: "filtered", Keywords: []string{"f-"}, Pattern: `f-[a-d]{4}`, Filters: []rules.Filter{{Name: "a", Keep: func(m rules.Match) bool {
			return strings.HasSuffix(m.Line(), "!") && m.Secret() == m.Whole() && m.Secret() != "f-aaaa"
		}}}},
		{ID: "second group", Keywords: []string{"g-"}, Pattern: `g-(a+)(b+)`, Group: 2},
	})
	for text, want := range map[string]string{
		"e-abcd": "abcd", "e-aaab": "", "f-aaab": "", "f-aaab !": "f-aaab", "f-aaaa !": "", "g-aabb": "bb",
	} {
		var got []string
		for _, hit := range find(t, m, text) {
			got = append(got, text[hit.Start:hit.End])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestAgreesWithItsExpressions compares the search with the expressions alone,
// each over the whole text.
func TestAgreesWithItsExpressions(t *testing.T) {
	m := match.New(toys)
	words := []string{
		"tok_", "TOK_", "a", "b", "c", "0", "ab", "~Q", "~q", "mid", "long-", "-in-", "vendor", "123|", "begin", "end", "acme", "tok_ab12", "aba~Qab", "abmidb", "long-aba", "a-in-b", "123|abc", "acme=abca",
		" = ", ": ", "\"", "\n", " ", ".", "_", "日", ",", "begi",
	}
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 40).Draw(t, "words"), "")
		hits := find(t, m, text)
		found += len(hits)
		for i, toy := range toys {
			var got [][]int
			for _, hit := range hits {
				if hit.Rule == i {
					got = append(got, []int{hit.Start, hit.End})
				}
			}
			if want := naive(toy, text); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s in %q: %v, want %v", toy.ID, text, got, want)
			}
		}
	})
	if found == 0 {
		t.Error("nothing was ever found")
	}
}

// naive tries an expression at every place of a text.
func naive(r rules.Rule, text string) (out [][]int) {
	if !slices.ContainsFunc(r.Keywords, func(k string) bool { return strings.Contains(strings.ToLower(text), k) }) {
		return nil
	}
	expression := `^(?s:.{%d})(?:` + r.Pattern + ")"
	if r.Alphabet != "" {
		expression = `^(?s:.{%d})(` + r.Pattern + ")" + rules.Terminator(r.Alphabet)
	}
	for at := 0; at < len(text); at++ {
		before := []rune(text[:at])
		if !strings.HasPrefix(text[at:], string([]rune(text[at:])[:1])) {
			continue
		}
		loc := regexp.MustCompile(fmt.Sprintf(expression, len(before))).FindStringSubmatchIndex(text)
		if loc == nil || r.Alphabet != "" && at > 0 && regexp.MustCompile(`[a-zA-Z0-9]$`).MatchString(text[:at]) {
			continue
		}
		start, end := at, loc[1]
		if len(loc) > 2 {
			start, end = loc[2], loc[3]
		}
		out = append(out, []int{start, end})
		at = max(at, end-1)
	}
	return out
}

// parts is a text of which only some parts are to be searched.
type parts [][2]int

func (p parts) NextTouched(from int) (start, end int, ok bool) {
	for _, part := range p {
		if part[1] > from {
			return part[0], part[1], true
		}
	}
	return 0, 0, false
}

func (p parts) Touched(start, end int) bool {
	return slices.ContainsFunc(p, func(part [2]int) bool { return part[0] < end && start < part[1] })
}

func TestWithin(t *testing.T) {
	m := match.New(toys)
	text := "tok_ab12 " + strings.Repeat("x ", 10_000) + "tok_ab34 " + strings.Repeat("x ", 10_000) + "tok_ab00"
	second := strings.Index(text, "tok_ab34")
	hits, done, err := m.Find(match.Request{Text: text, Within: parts{{3, 4}, {second + 5, second + 6}, {len(text) - 20, len(text) - 15}}})
	if err != nil || !done || len(hits) != 2 || hits[0].Start != 0 || hits[1].Start != second {
		t.Errorf("%v, %t, %v; want the first two", hits, done, err)
	}
}

func TestStop(t *testing.T) {
	m := match.New(toys)
	text := strings.Repeat("tok_ab1 tok_ab12 begin vendor long-ab ", 20_000)
	asked := 0
	_, done, err := m.Find(match.Request{Text: text, Stop: func() bool { asked++; return asked == 3 }})
	if err != nil || done || asked != 3 {
		t.Errorf("done: %t after %d questions, %v; want it stopped at the third", done, asked, err)
	}
}

// TestStopInsideAStretch stops a text that is read in one go, because its
// keywords are many.
func TestStopInsideAStretch(t *testing.T) {
	asked := 0
	_, done, err := match.New(toys).Find(match.Request{
		Text: strings.Repeat("tok_ab1 ", 3000), Stop: func() bool { asked++; return asked == 3 },
	})
	if err != nil || done || asked != 3 {
		t.Errorf("done: %t after %d questions, %v; want it stopped at the third", done, asked, err)
	}
}

func TestBadRuleIsAnError(t *testing.T) {
	m := match.New([]rules.Rule{{ID: "broken", Keywords: []string{"x"}, Pattern: "("}})
	if err := m.Compile(); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("Compile: %v", err)
	}
	if _, done, err := m.Find(match.Request{Text: "x"}); err == nil || done {
		t.Errorf("Find: done %t, %v", done, err)
	}
}

func TestAutomatonHasItsRoom(t *testing.T) {
	for _, set := range [][]rules.Rule{toys, rules.All()} {
		if room, states := match.New(set).Reserved(); room != states || states < 10 {
			t.Errorf("room for %d states, %d are there", room, states)
		}
	}
}

func TestHitsAreSteady(t *testing.T) {
	m := match.New(rules.All())
	if err := m.Compile(); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("acme = 'abca' begin 1 end tok_ab12 abmidb ", 50)
	first := find(t, match.New(toys), text)
	if len(first) == 0 || !slices.IsSortedFunc(first, func(a, b match.Hit) int { return a.Start - b.Start }) {
		t.Fatalf("%d hits, not sorted by place", len(first))
	}
	for range 3 {
		if again := find(t, match.New(toys), text); !slices.Equal(first, again) {
			t.Fatal("the same text gave other hits")
		}
	}
}
