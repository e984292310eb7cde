package search

import (
	"unicode"
	"unicode/utf8"
)

// word is one position of a text: a run of letters and digits, or one character
// of a script without spaces.
type word struct {
	from, to int  // bytes
	cell     bool // one character of Chinese, Japanese or Korean, with its marks
}

// nextWord returns the first word at or after byte at; ok is false at the end. It
// depends on nothing before at, so that reading may begin at any word.
func nextWord(text string, at int) (w word, ok bool) {
	for at < len(text) {
		r, size := runeAt(text, at)
		if !startsWord(r) {
			at += size
			continue
		}
		w = word{from: at, to: at + size, cell: isCell(r)}
		w.to = endOf(text, w)
		return w, true
	}
	return word{}, false
}

func endOf(text string, w word) int {
	at := w.to
	for at < len(text) {
		r, size := runeAt(text, at)
		switch {
		case isMark(r): // it belongs to what it stands on
		case w.cell, !startsWord(r), isCell(r):
			return at
		}
		at += size
	}
	return at
}

// runeAt decodes one character. What is not UTF-8 counts as one that is in no
// word.
func runeAt(text string, at int) (r rune, size int) {
	if c := text[at]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(text[at:])
}

func startsWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// isMark reports whether a character belongs to the one before it. The voicing
// marks of half width are letters to Unicode.
func isMark(r rune) bool {
	return r >= 0x300 && (unicode.IsMark(r) || r == 0xff9e || r == 0xff9f)
}

// isCell reports whether a character is of a script that is written without
// spaces, or with spaces that do not part words as people search for them.
func isCell(r rune) bool {
	switch {
	case r < 0x1100:
		return false
	case r == 'ー', r == '々', r == '〻', r == 'ｰ':
		return true
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo)
}

// maxParts is how many parts a name may have to be taken apart, or joined: more
// are no name but encoded data.
const maxParts = 8

// parts splits a word of camelCase: before a capital that follows none, and
// before the last of several capitals that small letters follow, as in
// HTTP|Server. It returns nil for a word of one part, or of too many. buf is
// what the result may be kept in.
func parts(text string, w word, buf []word) []word {
	if w.cell || w.to-w.from > maxTerm {
		return nil
	}
	buf = buf[:0]
	begin := w.from
	before, upper := rune(0), false // the last character, and whether it is a capital
	for at := w.from; at < w.to; {
		r, size := runeAt(text, at)
		now := unicode.IsUpper(r)
		switch {
		case isMark(r):
			at += size
			continue
		case before == 0:
		case now && !upper:
			buf, begin = append(buf, word{from: begin, to: at}), at
		case !now && upper && unicode.IsLower(r):
			if last := at - utf8.RuneLen(before); last > begin && !isMarkBefore(text, at) {
				buf, begin = append(buf, word{from: begin, to: last}), last
			}
		}
		before, upper, at = r, now, at+size
	}
	if len(buf) == 0 || len(buf) >= maxParts {
		return nil
	}
	return append(buf, word{from: begin, to: w.to})
}

// isMarkBefore reports whether a mark ends at a byte: the capital that carries it
// begins before it.
func isMarkBefore(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return isMark(r)
}

// joins reports whether two words are parts of one name, as in read-only and
// max_bytes.
func joins(text string, a, b word) bool {
	return !a.cell && !b.cell && b.from == a.to+1 && (text[a.to] == '-' || text[a.to] == '_')
}
