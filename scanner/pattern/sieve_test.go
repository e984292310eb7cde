package pattern_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/scanner/pattern"
)

func sieveOf(tb testing.TB, source string) *pattern.Sieve {
	tb.Helper()
	parsed, err := pattern.Parse(source)
	if err != nil {
		tb.Fatal(err)
	}
	sieve, err := parsed.Sieve()
	if err != nil {
		tb.Fatal(err)
	}
	return sieve
}

func TestSieve(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		passes        bool
	}{
		{`key=([a-z]{3,9})`, "key=abc", true},
		{`key=([a-z]{3,9})`, "key=ab", false},
		{`key=([a-z]{3,9})`, "kez=abc", false},
		{`key=([a-z]{3,9})`, "", false},
		{`(?i:key)=x`, "KEY=x", true},
		{`(?i:key)=x`, "\u212aey=x", true},
		{`(?i:key)=X`, "key=x", false},
		{`é[a-c]`, "éa", true},
		{`é[a-c]`, "éd", false},
		{`é[a-c]`, "e", false},
		{`[は是]x`, "是x", true},
		{`[は是]x`, "日x", false},
		{`\p{Han}x`, "日x", true},
		{`(?i:пароль)=[^\p{Han}]`, "ПАРОЛЬ=a", true},
		{`(?i:пароль)=[^\p{Han}]`, "пароль=日", false},
		{`a(?:[^a]|$)`, "a", true},
		{`a(?:[^a]|$)`, "aa", false},
		{`a(?:[^a]|$)b`, "a", false},
		{`(?s:a.b)`, "a\nb", true},
		{`a.b`, "a\nb", false},
		{`a.b`, "a\xffb", true},
		{`a[^\n]{0,80}?z`, "a" + strings.Repeat(".", 300), false},
		{`a[^\n]{0,80}?z`, "a\nz", false},
		{`\Aa\b`, "a", true},
		{`a[^\n]{0,80}?z`, "a" + strings.Repeat(".", 80) + "z", true},
		{`a[^\n]{0,80}?z`, "a" + strings.Repeat(".", 81) + "z", false},
		{`a[^\n]{0,80}?z{2,9}`, "a" + strings.Repeat("é", 80) + "zz", true},
		{`a[^\n]{0,80}?z{2,9}`, "a" + strings.Repeat("é", 81) + "zz", false},
		{`a[^\n]{0,8}?(?:z{2,9}|$)`, "a12345678", true},
		{`[ab]{40}`, strings.Repeat("ab", 20), true},
		{`[ab]{40}c`, strings.Repeat("ab", 20) + "c", true},
		{`[ab]{40}c`, strings.Repeat("ab", 20) + "d", false},
	} {
		if got := sieveOf(t, tt.pattern).Passes(tt.text); got != tt.passes {
			t.Errorf("%s: %q passes: %t, want %t", tt.pattern, tt.text, got, tt.passes)
		}
	}
}

func TestSieveAnywhere(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		passes        bool
	}{
		{`key=[ab]`, "the key=b.", true},
		{`key=[ab]`, "kkey=kekey=a", true},
		{`key=[ab]`, "the key = b", false},
		{`^key`, "key", true},
		{`^key`, "a key", false},
		{`(?:^|\n)key`, "a\nkey", true},
		{`key$`, "a key", true},
		{`key$`, "a key.", false},
		{`\bé`, "é", true},
	} {
		parsed, err := pattern.Parse(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		sieve, err := parsed.SieveAnywhere()
		if err != nil {
			t.Fatal(err)
		}
		if got := sieve.Passes(tt.text); got != tt.passes {
			t.Errorf("%s: %q passes: %t, want %t", tt.pattern, tt.text, got, tt.passes)
		}
	}
}

// TestSieveLosesNothing compares sieves with the expressions that they stand
// before, several texts at once on one sieve.
func TestSieveLosesNothing(t *testing.T) {
	sources := []struct{ pattern, matches, not string }{
		{
			`(?i:key|token|clé)["']{0,4}(?:(?:[ \t][^\s.:=]{1,24}){1,7}?|\pL{1,3})?(?:[ \t]{0,3}[:=][ \t]{0,3}| is )([a-z0-9é]{4,20})(?:[^\w/]|$)`,
			"key of ab is abcdé", "key. is abcd",
		},
		{
			`key[^\n]{0,8}?(?:\r?\n[ >]{0,6}[^\n]{1,6}?)?(?: is |: )([A-Z]{2,6}(?:-[a-z]{1,3}){2,7})\b`,
			"key\r\n> a: ABC-a-abc ", "key: ABC-abcd ",
		},
		{`\bkey[^z]{0,40}(?:x{30,40}|(?:ab){3})$`, "key" + strings.Repeat("x", 33), "key xab"},
	}
	pieces := []string{
		"key", "KEY", "token", "clé", "CLÉ", "\u212aey", "y", "yyy", "'", " ", "\t", "\n", "\r\n", "> ", " is ", ": ", "=", "abcd", "ab", "é", "日本", "\ufffd", "ß", "AB", "-ab", "-a", "x", "=abcd", " is AB-ab", ": ABC-a-abc ", strings.Repeat("x", 30), strings.Repeat("ab", 3), "/", ".", "\xff",
	}
	for _, source := range sources {
		sieve, expression := sieveOf(t, source.pattern), regexp.MustCompile(`\A(?:`+source.pattern+`)`)
		if !expression.MatchString(source.matches) || !sieve.Passes(source.matches) {
			t.Errorf("%q does not match %s, or does not pass", source.matches, source.pattern)
		}
		if sieve.Passes(source.not) {
			t.Errorf("%q passes %s, so that all may", source.not, source.pattern)
		}
		rapid.Check(t, func(t *rapid.T) {
			// One text of pieces alone, one that matches but for a piece in it.
			texts := []string{"key" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 7).Draw(t, "pieces"), "")}
			at := rapid.SampledFrom(runeStarts(source.matches)).Draw(t, "at")
			texts = append(texts, source.matches[:at]+rapid.SampledFrom(pieces).Draw(t, "piece")+source.matches[at:])
			var both sync.WaitGroup
			for _, text := range texts {
				both.Go(func() { sieve.Passes(text) })
			}
			both.Wait()
			for _, text := range texts {
				if expression.MatchString(text) && !sieve.Passes(text) {
					t.Fatalf("%q matches %s and does not pass", text, source.pattern)
				}
			}
		})
	}
}

// runeStarts returns the places between the characters of text, its ends included.
func runeStarts(text string) (at []int) {
	for i := range text {
		at = append(at, i)
	}
	return append(at, len(text))
}

// TestSieveOfManyCharacters has more kinds of characters than a sieve tells apart,
// and more characters than it remembers.
func TestSieveOfManyCharacters(t *testing.T) {
	var source strings.Builder
	for r := rune(0x4E00); r < 0x4E00+100; r++ {
		source.WriteString(string(r) + "=[a-z]|")
	}
	sieve := sieveOf(t, source.String()+`\p{Hangul}=1`)
	for r := rune(0x4E00); r < 0x4E00+100; r++ {
		if !sieve.Passes(string(r) + "=x") {
			t.Errorf("%c is lost", r)
		}
	}
	for r := rune(0xAC00); r < 0xAC00+6000; r++ {
		if !sieve.Passes(string(r) + "=1") {
			t.Fatalf("%c is lost", r)
		}
	}
	if sieve.Passes("a=1") {
		t.Error("a letter passes")
	}
}

// TestSieveIsBounded wants a text to pass that would need more states than a
// sieve has.
func TestSieveIsBounded(t *testing.T) {
	sieve := sieveOf(t, `[ab]*a[ab]{14}c`)
	source := uint32(1)
	for range 3000 {
		text := make([]byte, 40)
		for i := range text {
			source = source*1664525 + 1013904223
			text[i] = "ab"[source>>31]
		}
		if sieve.Passes(string(text)) {
			return
		}
	}
	t.Error("120,000 different beginnings had a state each")
}
