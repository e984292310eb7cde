package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxTerm bounds a term, in bytes: what is longer is no word that anybody types,
// and its beginning finds it.
const maxTerm = 64

// maxFolded is how much of a word is looked at, in bytes. Folding may shorten a
// word, by no more than this leaves room for.
const maxFolded = 4 * maxTerm

// fold returns the term of a word: two words with the same term are the same to a
// search. It is the compatibility form (NFKC) without accents and case, cut to
// [maxTerm].
func fold(word string) string {
	plain, lower := true, true
	for i := range len(word) {
		c := word[i]
		plain = plain && c < utf8.RuneSelf
		lower = lower && (c < 'A' || c > 'Z')
	}
	switch {
	case !plain:
		word = foldAll(cut(word, maxFolded))
	case !lower:
		word = strings.ToLower(cut(word, maxTerm))
	}
	return cut(word, maxTerm)
}

// foldAll folds what is not ASCII alone.
func foldAll(word string) string {
	var buf [maxFolded]byte
	out := buf[:0]
	for _, r := range norm.NFKD.String(word) {
		if isAccent(r) {
			continue
		}
		if s, ok := spelled[r]; ok {
			out = append(out, s...)
			continue
		}
		out = utf8.AppendRune(out, unicode.ToLower(r))
	}
	return string(norm.NFC.Bytes(out))
}

// spelled are letters that no decomposition turns into what people type for them.
var spelled = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'æ': "ae", 'Æ': "ae", 'œ': "oe", 'Œ': "oe", 'ø': "o", 'Ø': "o", 'ł': "l", 'Ł': "l",
	'đ': "d", 'Đ': "d", 'ð': "d", 'Ð': "d", 'þ': "th", 'Þ': "th", 'ı': "i", 'ς': "σ", 'ħ': "h", 'Ħ': "h",
}

// isAccent reports whether a mark is left out: those of Latin, Greek, Cyrillic,
// Hebrew and Arabic, and the Arabic lengthening. The marks of other scripts are
// letters of theirs, as are the voicing marks of Japanese.
func isAccent(r rune) bool {
	switch {
	case r < 0x300:
		return false
	case r <= 0x36f, r >= 0x483 && r <= 0x489, r >= 0x591 && r <= 0x5bd, r == 0x5bf, r == 0x5c1, r == 0x5c2, r == 0x5c4, r == 0x5c5, r == 0x5c7,
		r >= 0x610 && r <= 0x61a, r == 0x640, r >= 0x64b && r <= 0x65f, r == 0x670,
		r >= 0x1ab0 && r <= 0x1aff, r >= 0x1dc0 && r <= 0x1dff, r >= 0x20d0 && r <= 0x20f0, r >= 0xfe20 && r <= 0xfe2f:
		return true
	}
	return false
}

// cut shortens s to at most n bytes, between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
