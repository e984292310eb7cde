package api

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanText makes free text of a peer fit to be kept and shown: valid UTF-8,
// without control and format characters, trimmed, and at most max bytes long,
// cut between characters.
func CleanText(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return strings.TrimSpace(s[:max])
}
