package oauth

import (
	"crypto/rand"
	"strings"

	"github.com/teammem/teammemd/server/auth"
)

// Prefixes let people and scanners know a secret when they see one. Access
// tokens have [auth.AccessPrefix].
const (
	refreshPrefix = "tmr_"
	devicePrefix  = "tmd_"
	codePrefix    = "tmc_"
	browserPrefix = "tmb_"
	statePrefix   = "tms_"
)

// secretLength is the length of a secret after its prefix.
const secretLength = 43

// looksLike keeps what cannot be such a secret away from the store.
func looksLike(prefix, s string) bool {
	return len(s) == len(prefix)+secretLength && strings.HasPrefix(s, prefix)
}

const (
	// codeLetters are those of RFC 8628, section 6.1: no vowels, so that no words
	// come about, and no digits to be mistaken for letters. Eight of them are 34.5
	// bits.
	codeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	codeLength  = 8
)

// newUserCode returns a code for people to type.
func newUserCode() string {
	code := make([]byte, 0, codeLength)
	var random [32]byte
	for {
		_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
		for _, b := range random {
			if int(b) >= 256/len(codeLetters)*len(codeLetters) {
				continue // would make the first letters likelier
			}
			if code = append(code, codeLetters[int(b)%len(codeLetters)]); len(code) == codeLength {
				return string(code)
			}
		}
	}
}

// showUserCode is the code as it is shown: WDJB-MJHT.
func showUserCode(code string) string { return code[:codeLength/2] + "-" + code[codeLength/2:] }

// canonicalUserCode undoes what people do to a code when they type it: case,
// dashes, spaces. It is "" for what cannot be one.
func canonicalUserCode(s string) string {
	if len(s) > 4*codeLength {
		return ""
	}
	code := strings.Map(func(r rune) rune {
		switch {
		case r == '-' || r == ' ' || r == '\t' || r == '.' || r == '_':
			return -1
		case 'a' <= r && r <= 'z': // and no letter of another alphabet
			return r - 'a' + 'A'
		}
		return r
	}, s)
	if len(code) != codeLength || strings.Trim(code, codeLetters) != "" {
		return ""
	}
	return code
}

func hashUserCode(canonical string) [32]byte { return auth.HashSecret(canonical) }
