package rules

import (
	"strings"
)

// NotPlaceholder keeps what is not merely standing in for a secret. It is the
// one judgement of that for all rules. A word such as "example" inside a long
// random value excuses nothing: a value is a placeholder as a whole.
var NotPlaceholder = Filter{Name: "not-placeholder-1", Keep: func(m Match) bool { return !placeholder(m.Secret()) }}

// shortest is the length in bytes from which what is left of a value without
// its templates and masks is a secret of its own.
const shortest = 16

// placeholder reports whether value stands in for a secret: a template, a
// reference to where the secret is kept, a mask, a sequence, words that say
// "put it here", or a value that documentation has made public.
func placeholder(value string) bool {
	value = strings.Trim(value, " \t\"'`,;")
	if value == "" || reference(value) || published(value) || sequence(value) || documentation(value) {
		return true
	}
	bare := value
	if strings.ContainsAny(bare, templateSigns) {
		bare = template.ReplaceAllString(bare, "\n")
	}
	if repeats(bare) {
		bare = mask.ReplaceAllString(bare, "\n")
	}
	if bare != value {
		return longest(bare) < shortest || placeholder(strings.ReplaceAll(bare, "\n", ""))
	}
	return standsIn(value) || encodedWords(value)
}

// template is a part of a value that something else fills in.
var template = expressionOf(`<[^<>]{0,80}>|\{\{.{0,80}?\}\}|[$#]\{[^{}]{0,80}\}?|\$\([^()]{0,80}\)?|\{[A-Za-z_][\w.:-]{0,60}\}|` +
	`%\([a-z_]{1,40}\)s|%[A-Za-z_]{2,40}%|^\$[A-Za-z_]\w{0,60}(?::\w{0,60})?$|^%[sdvq]$|^\[[A-Za-z_ -]{0,60}\]$|__[A-Z_]{2,40}__|^@[A-Z_]{2,40}@?$`)

// mask is a run that hides what stood there.
var mask = expressionOf(`\*{3,}|\.{3,}|…|•{2,}|●{2,}|[xX]{4,}|_{4,}|-{6,}|#{4,}|\?{3,}|0{8,}|█+`)

// templateSigns are the characters of which every template has one.
const templateSigns = "<{$#%[_@"

// repeats reports whether value can have a mask: a character three times in a
// row, or one beyond ASCII.
func repeats(value string) bool {
	for i := range len(value) {
		if value[i] >= 0x80 || i >= 2 && value[i]|0x20 == value[i-1]|0x20 && value[i]|0x20 == value[i-2]|0x20 {
			return true
		}
	}
	return false
}

// longest returns the length in bytes of the longest line.
func longest(lines string) int {
	most := 0
	for line := range strings.SplitSeq(lines, "\n") {
		most = max(most, len(line))
	}
	return most
}

// origin is how a value begins that says where the secret is instead of what.
var origin = expressionOf(`^(?i:os\.(?:environ|getenv)|process\.env|import\.meta|getenv|env[.(:\[]|ENV[\[.(]|secrets?[.\[]|vars?\.|local\.|data\.|module\.|` +
	`config[.(\[]|settings\.|self\.|this\.|params?[.\[]|args?\.|options?\.|req(?:uest)?\.|response\.|props\.|vault:|vault\.|op://|ref\+|ENC\[|enc:|sops|!vault|!secret|!ref|!sub|` +
	`AWS4-|file:|urn:|secretref|arn:|projects/|aws-sm:|ssm:|keyvault|@microsoft\.keyvault|lookup\(|\(?get-|ansible-vault|new |await |\$ANSIBLE_VAULT|System\.)`)

// call is a call or an index, which is code and no value.
var call = expressionOf(`^[A-Za-z_$][\w.:>-]{1,60}(?:\(|\[["'\w])`)

// reference reports whether value names the place of a secret.
func reference(value string) bool {
	return origin.MatchString(value) || call.MatchString(value) || strings.Contains(value, "$(") || strings.Contains(value, "{{")
}

// published reports whether documentation that everybody has read has made the
// value public.
func published(value string) bool {
	if strings.HasSuffix(value, "EXAMPLE") || strings.HasSuffix(value, "EXAMPLE"+"KEY") {
		return true
	}
	for _, part := range publishedParts {
		if strings.Contains(value, part) {
			return true
		}
	}
	return false
}

// publishedParts are the signatures of jwt.io's tokens, the base32 of
// "Hello!" in most texts on TOTP, Aladdin and his sesame of RFC 7617, the token
// of RFC 6750, and the secrets of RFC 6749.
var publishedParts = []string{
	"SflKxwRJSMeKKF2QT4fw" + "pMeJf36POk6yJV_adQssw5c", "TJVA95OrM7E2cBab30RM" + "HrHDcEfxjoYZgeFONFh7HgQ",
	"KMUFsIDTnFmyG3nMiGM6" + "H9FNFUROf3wh7SmqJp-QV30", "XbPfbIHMI6arZ3Y922Bh" + "jWgQzWXcXNrz0ogtVhfEd2o", "POstGetfAytaZS82wHcj" + "oTyoqhMyxXiWdR7Nn7A29DNSl0EiXLdwJ6xC6AfgZWF1bOsS", "JBSWY3DP" + "EHPK3PXP", "QWxhZGRpbjpv" + "cGVuIHNlc2FtZQ", "QWxhZGRpbjpP" + "cGVuU2VzYW1l",
	"mF_9" + ".B5f-4.1JqM", "gX1fBat3" + "bV", "7Fjfp0ZBr1K" + "tDRbnfVdmIw", "czZCaGRSa3F0M" + "zpnWDFmQmF0M2JW",
	"550e8400-e29b-41d4", "123e4567-e89b-12d3", "f47ac10b-58cc-4372", "6ba7b810-9dad-11d1", "23bc46b1-71f6-4ed5", "123zO3xZCLrM" + "N6v2", "lhDOkw" + "Tlp0",
	"dXNlcjpwYXNz", "dXNlcm5hbWU6cGFzc3dvcmQ", "YWRtaW46YWRtaW4", "YWRtaW46cGFzc3dvcmQ",
	"SmFuZSBEb2U", "AbCdEfGh", "aBcDeFgH", "deadbeef",
}

// documentation reports whether value has the look of an example that a person
// typed: repeated characters for most of it, or hardly any different ones.
func documentation(value string) bool {
	if len(value) < 6 {
		return false
	}
	var seen [256]bool
	different, repeated := 0, 0
	for i := range len(value) {
		if !seen[value[i]] {
			seen[value[i]] = true
			different++
		}
		if i > 0 && value[i] == value[i-1] {
			repeated++
		}
	}
	return different <= 3 || different <= 5 && len(value) >= 16 || repeated*2 > len(value)
}

// sequence reports whether most of value counts up or down, or walks along the
// keyboard.
func sequence(value string) bool {
	lower := strings.ToLower(value)
	covered, run := 0, 1
	for i := 1; i <= len(lower); i++ {
		if i < len(lower) && (lower[i] == lower[i-1]+1 || lower[i] == lower[i-1]-1 || lower[i-1] == '9' && (lower[i] == '0' || lower[i] == 'a')) {
			run++
			continue
		}
		if run >= 4 {
			covered += run
		}
		run = 1
	}
	for _, walk := range []string{"qwerty", "asdfgh", "zxcvbn", "1q2w3e4r", "qazwsx"} {
		covered += len(walk) * strings.Count(lower, walk)
	}
	return covered*10 >= len(lower)*6
}
