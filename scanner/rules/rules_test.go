package rules_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/teammem/teammemd/scanner/rules"
	"github.com/teammem/teammemd/scanner/samples"
)

// unbounded are the rules whose pattern may repeat without end: they are run
// over the whole text.
var unbounded = map[string]bool{"tm-private-key": true, "tm-putty-key": true, "tm-ssh2-key": true}

func TestRulesAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rules.Ours() {
		t.Run(r.ID, func(t *testing.T) {
			if seen[r.ID] {
				t.Error("the id is taken")
			}
			seen[r.ID] = true
			if !regexp.MustCompile(`^tm-[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(r.ID) {
				t.Error("not an id of ours")
			}
			switch r.Tier {
			case rules.Block1, rules.Block2, rules.Block3, rules.Warn:
			default:
				t.Errorf("tier %q", r.Tier)
			}
			if r.Title == "" || strings.HasSuffix(r.Title, ".") {
				t.Errorf("title %q", r.Title)
			}
			checkReason(t, r.Reason)
			if r.Alphabet != "" && regexp.MustCompile(r.Pattern).NumSubexp() != 0 {
				t.Error("a whole secret with a capturing group")
			}
			for _, f := range r.Filters {
				if f.Name == "" || f.Keep == nil {
					t.Error("a filter without a name or a judgement")
				}
			}
		})
	}
}

// checkReason wants one sentence.
func checkReason(t *testing.T, reason string) {
	t.Helper()
	if !strings.HasSuffix(reason, ".") || strings.Contains(reason, ". ") || !unicode.IsUpper([]rune(reason + " ")[0]) {
		t.Errorf("reason %q is not one sentence", reason)
	}
}

func TestRulesAreBounded(t *testing.T) {
	for _, r := range rules.Ours() {
		if !unbounded[r.ID] && endless(parse(t, r)) {
			t.Errorf("%s: the pattern repeats without end", r.ID)
		}
	}
}

// endless reports whether a pattern can match a text of any length.
func endless(re *syntax.Regexp) bool {
	if re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat && re.Max < 0 {
		return true
	}
	return slices.ContainsFunc(re.Sub, endless)
}

func parse(t *testing.T, r rules.Rule) *syntax.Regexp {
	t.Helper()
	re, err := syntax.Parse(r.Pattern, syntax.Perl)
	if err != nil {
		t.Fatalf("%s: %v", r.ID, err)
	}
	return re
}

func TestEveryMatchHoldsAKeyword(t *testing.T) {
	for _, r := range rules.Ours() {
		if len(r.Keywords) == 0 {
			t.Errorf("%s: no keyword", r.ID)
		}
		for _, keyword := range r.Keywords {
			if keyword != strings.ToLower(keyword) || len(keyword) < 2 {
				t.Errorf("%s: keyword %q is not in lower case, or is too short", r.ID, keyword)
			}
		}
		for _, form := range forms(parse(t, r)) {
			if !containsAny(strings.ToLower(form), r.Keywords) {
				t.Errorf("%s: a match of the form %q holds no keyword", r.ID, form)
			}
		}
	}
}

func containsAny(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// gap stands for anything in a form.
const gap = "\x00"

// maxForms bounds what one node may spread into: beyond it, it is a gap.
const maxForms = 400

// forms returns what matches of a pattern look like: their fixed text, and a
// gap for what is not fixed. Every match has one of them.
func forms(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCharClass:
		return class(re.Rune)
	case syntax.OpCapture:
		return forms(re.Sub[0])
	case syntax.OpQuest:
		return append(forms(re.Sub[0]), "")
	case syntax.OpPlus:
		return joined(forms(re.Sub[0]), []string{gap})
	case syntax.OpRepeat:
		if re.Min > 0 {
			return joined(forms(re.Sub[0]), []string{gap})
		}
		return []string{gap}
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range re.Sub {
			all = joined(all, forms(sub))
		}
		return all
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			all = append(all, forms(sub)...)
		}
		return all
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpEmptyMatch:
		return []string{""}
	default:
		return []string{gap}
	}
}

// class returns the characters of a small class, a gap for another.
func class(ranges []rune) []string {
	var all []string
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if len(all) == 10 {
				return []string{gap}
			}
			all = append(all, string(r))
		}
	}
	return all
}

func joined(left, right []string) []string {
	if len(left)*len(right) > maxForms {
		right = []string{gap}
	}
	all := make([]string, 0, len(left)*len(right))
	for _, l := range left {
		for _, r := range right {
			all = append(all, l+r)
		}
	}
	return all
}

func TestHitsAndMisses(t *testing.T) {
	for _, r := range rules.Ours() {
		t.Run(r.ID, func(t *testing.T) {
			pattern, after := regexp.MustCompile(r.Pattern), regexp.MustCompile(`^[\x00`+r.Alphabet+`]`)
			for seed := range uint64(20) {
				s := samples.NewSource(seed, r.ID)
				if r.Hits == nil || r.Misses == nil {
					t.Fatal("no samples")
				}
				hits, misses := r.Hits(s), r.Misses(s)
				if len(hits) < 2 || len(misses) < 1 {
					t.Fatalf("%d hits and %d misses", len(hits), len(misses))
				}
				for i, hit := range hits {
					if !found(r, pattern, after, hit) {
						t.Errorf("seed %d: hit %d is not found", seed, i)
					}
				}
				for i, miss := range misses {
					if found(r, pattern, after, miss) {
						t.Errorf("seed %d: miss %d is found", seed, i)
					}
				}
			}
		})
	}
}

// found is a second reading of [rules.Rule]: it runs the pattern over the whole
// text, and knows nothing of keywords and windows.
func found(r rules.Rule, pattern, after *regexp.Regexp, text string) bool {
	for _, at := range pattern.FindAllStringSubmatchIndex(text, -1) {
		m := rules.Match{Text: text, Start: at[0], End: at[1], SecretStart: at[0], SecretEnd: at[1]}
		group := r.Group
		for i := 1; group == 0 && i < len(at)/2; i++ {
			if at[2*i] >= 0 {
				group = i
			}
		}
		m.SecretStart, m.SecretEnd = at[2*group], at[2*group+1]
		if r.Alphabet != "" && !whole(m, after) || bits(m.Secret()) <= r.Entropy && r.Entropy > 0 {
			continue
		}
		kept := true
		for _, f := range r.Filters {
			kept = kept && f.Keep(m)
		}
		if kept {
			return true
		}
	}
	return false
}

// whole reports whether a secret is no part of a longer run.
func whole(m rules.Match, after *regexp.Regexp) bool {
	before, _ := utf8.DecodeLastRuneInString(m.Text[:m.SecretStart])
	if m.SecretStart > 0 && (unicode.IsLetter(before) || unicode.IsDigit(before)) {
		return false
	}
	for rest := m.Text[m.SecretEnd:]; after.MatchString(rest); {
		r, size := utf8.DecodeRuneInString(rest)
		if rest = rest[size:]; unicode.IsLetter(r) || unicode.IsDigit(r) {
			return false
		}
	}
	return true
}

// bits returns the entropy of text, in bits per byte.
func bits(text string) float64 {
	count := map[byte]float64{}
	for i := range len(text) {
		count[text[i]]++
	}
	sum := 0.0
	for _, n := range count {
		sum -= n / float64(len(text)) * math.Log2(n/float64(len(text)))
	}
	return sum
}

func ExampleOurs() {
	s := samples.NewSource(1, "example")
	for _, r := range rules.Ours() {
		if r.ID == "tm-groq-api-key" {
			fmt.Println(r.Title, len(r.Hits(s)[0]))
		}
	}
	// Output: Groq API key 56
}

// TestVendorsAreSorted reads the sources: the lists of vendors are long, and a
// rule is looked for by its id.
func TestVendorsAreSorted(t *testing.T) {
	files, err := filepath.Glob("vendors_*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	id := regexp.MustCompile(`\bID:\s+"(tm-[a-z0-9-]+)"`)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		last := ""
		for _, found := range id.FindAllStringSubmatch(string(source), -1) {
			if found[1] <= last {
				t.Errorf("%s: %s stands after %s", file, found[1], last)
			}
			last = found[1]
		}
		if last == "" {
			t.Errorf("%s: no rule", file)
		}
	}
}
