package corpus

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"

	"github.com/teammem/teammemd/scanner/samples"
)

// alphabets have one letter each in a [Template].
var alphabets = map[byte]string{
	'A': samples.Alnum,
	'B': samples.Base64,
	'D': samples.Digits,
	'E': samples.Digits + "ABCDEF",
	'F': "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", // base58
	'H': samples.Hex,
	'L': samples.Lower,
	'M': samples.Lower + samples.Upper,
	'N': "123456789",                        // first digit of a number
	'P': samples.Lower + "234567",           // base32 in lower case
	'Q': "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", // bech32
	'S': samples.Lower + samples.Digits,
	'q': "qpzry9x8gf2tvdw0s3jn54khce6mua7l", // bech32 in lower case
	'T': samples.Upper + "234567",           // base32
	'U': samples.Upper,
	'W': samples.Word,
	'X': samples.Upper + samples.Digits,
}

// makers have a name each in a [Template].
var makers = map[string]func(*samples.Source) string{
	"uuid":       uuid,
	"jwt":        jwt,
	"pw":         password,
	"human":      humanPassword,
	"passphrase": passphrase,
	"seed12":     func(s *samples.Source) string { return seedPhrase(s, 12) },
	"seed24":     func(s *samples.Source) string { return seedPhrase(s, 24) },
	"random32":   func(s *samples.Source) string { return random(s, 32) },
	"random64":   func(s *samples.Source) string { return random(s, 64) },
	"key64":      func(s *samples.Source) string { return keyLines(s, 6) },
	"twelve":     twelve,
	"wordpair":   wordPair,
	"dashed":     dashed,
	"dashwords":  dashedWords,
	"spaced":     spaced,
	"coined":     coined,
	"camel":      camel,
	"google4":    groups(" "),
	"apple4":     groups("-"),
	"keyesc":     func(s *samples.Source) string { return strings.ReplaceAll(keyLines(s, 6), "\n", `\n`) },
}

// coders have a name each, before a space, in a [Template].
var coders = map[string]func(string) string{
	"b64":    func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
	"b64raw": func(text string) string { return base64.RawStdEncoding.EncodeToString([]byte(text)) },
	"b64url": func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) },
	"hex":    func(text string) string { return hex.EncodeToString([]byte(text)) },
	"url":    url.QueryEscape,
}

// generate makes what the sign inside the brackets stands for.
func generate(sign string, s *samples.Source) string {
	if maker, ok := makers[sign]; ok {
		return maker(s)
	}
	name, rest, spaced := strings.Cut(sign, " ")
	if coder, ok := coders[name]; ok && spaced {
		return coder(expand(rest, s))
	}
	if rule, ok := strings.CutPrefix(sign, "fam:"); ok {
		if family, found := samples.Find(rule); found {
			return family.SampleFrom(s.Uint64())
		}
	}
	if alphabet, ok := alphabets[sign[0]]; ok {
		if length, err := strconv.Atoi(sign[1:]); err == nil {
			return draw(s, alphabet, length)
		}
	}
	panic("corpus: no such sign: " + sign)
}

// draw returns length characters of alphabet, each drawn on its own, with the
// repetitions that real secrets have.
func draw(s *samples.Source, alphabet string, length int) string {
	made := make([]byte, length)
	for i := range made {
		made[i] = alphabet[s.IntN(len(alphabet))]
	}
	return string(made)
}

// random returns random bytes in base64, as key generators print them.
func random(s *samples.Source, length int) string {
	made := make([]byte, length)
	for i := range made {
		made[i] = byte(s.Uint32())
	}
	return base64.StdEncoding.EncodeToString(made)
}

func uuid(s *samples.Source) string {
	return draw(s, samples.Hex, 8) + "-" + draw(s, samples.Hex, 4) + "-4" + draw(s, samples.Hex, 3) +
		"-" + draw(s, "89ab", 1) + draw(s, samples.Hex, 3) + "-" + draw(s, samples.Hex, 12)
}

// jwt returns a token whose header and claims are JSON, with a random signature.
func jwt(s *samples.Source) string {
	encode := base64.RawURLEncoding.EncodeToString
	claims := `{"sub":"` + draw(s, samples.Digits, 10) + `","role":"deploy","iat":17` + draw(s, samples.Digits, 8) + `,"iss":"auth.kestrel.dev"}`
	return encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode([]byte(claims)) + "." + draw(s, samples.Word, 42) + "g"
}

// keyLines returns lines of base64 as they stand in the armour of a key.
func keyLines(s *samples.Source, lines int) string {
	body := []string{"MII" + draw(s, samples.Base64, 61)}
	for range lines - 1 {
		body = append(body, draw(s, samples.Base64, 64))
	}
	return strings.Join(append(body, draw(s, samples.Base64, 30)+"=="), "\n")
}
