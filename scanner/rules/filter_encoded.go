package rules

import (
	stdbase64 "encoding/base64"
	"strings"
)

// BasicPair keeps base64 of user:password when the password is one.
var BasicPair = Filter{Name: "basic-pair-2", Keep: func(m Match) bool { return basicPair(m.Secret()) }}

func basicPair(value string) bool {
	if published(value) {
		return false
	}
	raw, err := stdbase64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	if err != nil {
		return false
	}
	user, pass, found := strings.Cut(strings.TrimRight(string(raw), "\r\n"), ":")
	if !found || !printable(user) || !printable(pass) || strings.EqualFold(user, pass) {
		return false
	}
	if pass == "" {
		return isRandom(user)
	}
	return !placeholder(pass) && !weak(pass)
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == 0xFFFD })
}

// KeyBody keeps at least 40 characters of base64 that are no mask and no prose.
var KeyBody = Filter{Name: "key-body-1", Keep: func(m Match) bool { return keyBody(m.Secret()) }}

func keyBody(body string) bool {
	body = strings.NewReplacer(`\n`, "", `\r`, "").Replace(body)
	kept := strings.Map(func(r rune) rune {
		if strings.ContainsRune(base64Alphabet, r) {
			return r
		}
		return -1
	}, body)
	return len(kept) >= 40 && !documentation(kept) && !sequence(kept) && Entropy(kept) > 3.5
}

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-"

// PrivateJWK keeps a member of a key object: the type of the key stands within a
// few lines.
var PrivateJWK = Filter{Name: "private-jwk-1", Keep: func(m Match) bool {
	const reach = 4096
	around := m.Text[max(0, m.Start-reach):min(len(m.Text), m.End+reach)]
	return strings.Contains(around, `kty`) && keyBody(m.Secret())
}}

// Base32 keeps a text that can be base32 and is no word: it has digits, or
// groups that are hardly words.
var Base32 = Filter{Name: "base32-1", Keep: func(m Match) bool {
	value := m.Secret()
	kinds := makeupOf(value)
	return (kinds.digits > 1 || kinds.digits > 0 && kinds.wordy*2 < len(value)) && (kinds.lower == 0 || kinds.upper == 0)
}}

// encodedWords reports whether value is base64 of a text that is no secret.
func encodedWords(value string) bool {
	raw, err := stdbase64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	if err != nil || len(raw) < 5 || len(raw) < 9 && !strings.HasSuffix(value, "=") {
		return false
	}
	for _, c := range raw {
		if (c < 0x20 || c > 0x7E) && c != '\n' {
			return false
		}
	}
	text := strings.TrimSpace(string(raw))
	return strings.Contains(text, " ") || !strings.Contains(text, ":") && !strong(text) && !isRandom(text)
}
