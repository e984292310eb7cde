package rules

import (
	stdbase64 "encoding/base64"
	"strings"
)

// notPlaceholder drops what stands for a secret in documentation: one character
// over and over, a count, or a word that says so. A random token of 100
// characters is dropped once in 100,000.
var notPlaceholder = Filter{Name: "vendor-not-placeholder-2", Keep: func(m Match) bool {
	secret := strings.ToLower(strings.TrimLeft(m.Secret(), "A")) // with which numbers in base64 begin
	for _, word := range []string{
		"example", "placeholder", "redacted", "changeme", "replaceme", "your_", "your-", "yourtoken", "yourkey",
		"_here", "-here", "insert", "dummy_", "xxxxxx",
	} {
		if strings.Contains(secret, word) {
			return false
		}
	}
	return !monotonous(secret)
}}

// monotonous reports whether text has a run of 10 equal characters, or of 7
// that count up.
func monotonous(text string) bool {
	equal, counted := 1, 1
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case text[i-1]:
			equal, counted = equal+1, 1
		case text[i-1] + 1:
			equal, counted = 1, counted+1
		default:
			equal, counted = 1, 1
		}
		if equal >= 10 || counted >= 7 {
			return true
		}
	}
	return false
}

// mixed keeps a secret with a digit, a small and a capital letter, or one whose
// kinds of characters change as often as those of a random text: it tells a
// token with a short prefix from an identifier of the same form.
var mixed = Filter{Name: "vendor-mixed-1", Keep: func(m Match) bool {
	secret := m.Secret()
	changes := 0
	var seen [3]bool
	for i := range len(secret) {
		seen[kind(secret[i])] = true
		if i > 0 && kind(secret[i]) != kind(secret[i-1]) {
			changes++
		}
	}
	return seen == [3]bool{true, true, true} || 20*changes >= 9*len(secret)
}}

// kind is 0 for a digit, 1 for a small letter, and 2 for a capital letter and
// everything else.
func kind(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return 0
	case c >= 'a' && c <= 'z':
		return 1
	}
	return 2
}

// bare drops what stands after an underscore or a hyphen, where a prefix is the
// middle of another vendor's.
var bare = Filter{Name: "vendor-bare-1", Keep: func(m Match) bool {
	return m.SecretStart == 0 || !strings.ContainsRune("_-", rune(m.Text[m.SecretStart-1]))
}}

// except drops a secret that one of gitleaks' rules finds: pattern is theirs,
// without what they want around it.
func except(id, pattern string) Filter {
	stock := expressionOf(`^(?:` + pattern + `)$`)
	return Filter{Name: "vendor-except-" + id, Keep: func(m Match) bool {
		return !stock.MatchString(m.Secret())
	}}
}

// besideExpiry keeps the signature of an address that also says until when it
// is good, as those of Azure do.
var besideExpiry = Filter{Name: "vendor-beside-expiry-1", Keep: func(m Match) bool {
	line := m.Line()
	return strings.Contains(line, "se=") &&
		(strings.Contains(line, "sv=") || strings.Contains(line, "sr=") || strings.Contains(line, "skn="))
}}

// numbered keeps a token whose first part is a number in base64, as that of a
// Discord bot is.
var numbered = Filter{Name: "vendor-numbered-1", Keep: func(m Match) bool {
	first, _, _ := strings.Cut(m.Secret(), ".")
	number, err := stdbase64.RawURLEncoding.DecodeString(first)
	return err == nil && len(number) >= 17 && len(number) <= 20 && strings.Trim(string(number), "0123456789") == ""
}}
