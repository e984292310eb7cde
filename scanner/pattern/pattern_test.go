package pattern_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner/pattern"
)

func parse(t *testing.T, expression string) pattern.Pattern {
	t.Helper()
	p, err := pattern.Parse(expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return p
}

func TestBounds(t *testing.T) {
	tests := []struct {
		expression  string
		least, most int
	}{
		{"", 0, 0},
		{"abc", 3, 3},
		{"日", 3, 3},
		{"(?i)task", 4, 4},
		{"[a-z]{2,5}", 2, 5},
		{`\bx?[0-9]+$`, 1, pattern.Unbounded},
		{"(?:ab|cde|f)", 1, 3},
		{"(?:ab|c*)", 0, pattern.Unbounded},
		{"(a{2}){3}", 6, 6},
		{".", 1, 4},
		{"[^a]", 1, 4},
		{"(?i)[a-z]", 1, 1},
		{"(?:){0,}", 0, 0},
	}
	for _, tt := range tests {
		if least, most := parse(t, tt.expression).Bounds(); least != tt.least || most != tt.most {
			t.Errorf("%q: %d to %d bytes, want %d to %d", tt.expression, least, most, tt.least, tt.most)
		}
	}
	if _, err := pattern.Parse("(a"); err == nil {
		t.Error("an expression that is none was read")
	}
}

func TestSolid(t *testing.T) {
	for expression, want := range map[string]bool{
		"gh_[a-z]{3}": true, `[\w.-]+`: true, "a b": false, `\s`: false, ".": false, "[^a-z]": false,
		`[^\s]`: true, `a\nb`: false, `(?:a|[\t])`: false,
	} {
		if got := parse(t, expression).Solid(); got != want {
			t.Errorf("%q: solid %t, want %t", expression, got, want)
		}
	}
}

func TestClass(t *testing.T) {
	for expression, want := range map[string]string{
		"abc":         `\x61-\x63`,
		"(?i)a":       `\x41\x61`,
		"[a-f0-9]-":   `\x2d\x30-\x39\x61-\x66`,
		"sk(?:1|2)_+": `\x31-\x32\x5f\x6b\x73`,
	} {
		if got := parse(t, expression).Characters().Class(); got != want {
			t.Errorf("%q: %s, want %s", expression, got, want)
		}
	}
}

func TestMarks(t *testing.T) {
	for expression, want := range map[string]string{
		"a://[^@]+@b": "/:@", "(?:a@b|c@)d=": "=@", "(?:a@b|c)": "", "(?:=)?x": "", "(?:=){2}x": "=", "[@]x": "@", "[@=]x": "", `a\.b|c`: "", ".": "",
	} {
		if got := parse(t, expression).Marks(); got != want {
			t.Errorf("%q: %q, want %q", expression, got, want)
		}
	}
}

func TestGroup(t *testing.T) {
	p := parse(t, "(a)(?:b)((?P<n>c{3})d)")
	for n, want := range map[int]int{1: 1, 2: 4, 3: 3} {
		group, ok := p.Group(n)
		if least, _ := group.Bounds(); !ok || least != want {
			t.Errorf("group %d has %d bytes (found: %t), want %d", n, least, ok, want)
		}
	}
	if _, ok := p.Group(4); ok {
		t.Error("there is a fourth group")
	}
}

func TestBegins(t *testing.T) {
	tests := []struct{ expression, want string }{
		{"AKIA[A-Z]{3}", "akia"},
		{"(?i)(?:Sk|rk)_(?:test|live)_x", "rk_live_x sk_test_x rk_test_x sk_live_x"},
		{"[Ss]umo", "sumo"},
		{"linked[_-]?in", "linkedin linked_in linked-in"},
		{"a{3}b", "aaab"},
		{"(ab)+c", "ab"},
		{"[a-z]x", ""},
		{"(?:ab|.)", "ab "},
		{`\bx`, "x"},
		{"x*y", ""},
	}
	for _, tt := range tests {
		got, want := parse(t, tt.expression).Begins(), strings.Split(tt.want, " ")
		slices.Sort(want)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q begins with %q, want %q", tt.expression, got, want)
		}
	}
}

func TestOffset(t *testing.T) {
	tests := []struct {
		expression, keyword string
		offset              int
		ok                  bool
	}{
		{"key_[a-z]{3}", "key_", 0, true},
		{"(key_[a-z]{3})", "key_", 0, true},
		{"[a-z]{3}Q~x", "q~", 3, true},
		{"(?i)[a-z]{14}[.]atlas", "atlas", 15, true},
		{"[a-z]{3,4}Q~", "q~", 0, false},
		{"(?:ab|cd)_x", "ab_", 0, false},
		{"x|y", "x", 0, false},
	}
	for _, tt := range tests {
		if offset, ok := parse(t, tt.expression).Offset([]string{tt.keyword}); offset != tt.offset || ok != tt.ok {
			t.Errorf("%q in %q: %d, %t, want %d, %t", tt.keyword, tt.expression, offset, ok, tt.offset, tt.ok)
		}
	}
}

func TestHolds(t *testing.T) {
	tests := []struct {
		expression string
		keywords   []string
		want       bool
	}{
		{"a*KEY", []string{"key"}, true},
		{"(?:key)?", []string{"key"}, false},
		{"(?:key){1,}", []string{"key"}, true},
		{"(?:key){0,3}", []string{"key"}, false},
		{"k(?:ey|it)s", []string{"key"}, false},
		{"k(?:ey|it)s", []string{"key", "kit"}, true},
		{".+(?:a|b)_live_", []string{"a_live_", "b_live"}, true},
		{"[a-z]+", []string{"a"}, false},
		{"hooks.slack", []string{"hooks.slack"}, false},
	}
	for _, tt := range tests {
		if got := parse(t, tt.expression).Holds(tt.keywords); got != tt.want {
			t.Errorf("%q holds one of %q: %t, want %t", tt.expression, tt.keywords, got, tt.want)
		}
	}
}
