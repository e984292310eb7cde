package rules

import "strings"

// Is reports whether a word is of a kind that takes a closer look than at the
// kinds of its bytes. Of the other kinds it says nothing against a word.
func (w Word) Is(word string) bool {
	switch w {
	case RandomWord:
		return anyPart(word, beginsRandom)
	case StrongMixedWord:
		return hasWide(word) || anyPart(word, beginsStrong)
	}
	return true
}

// anyPart asks about the parts of a word, from each place where a value can
// begin: its front, and behind markup and what is not ASCII.
func anyPart(word string, ask func(string) bool) bool {
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return r == '`' || r == '|' || r >= 0x80 }) {
		marks := len(part) - len(strings.TrimLeft(part, "*_("))
		if marks > mostMarks {
			return true
		}
		for i := range marks + 1 { // a mark may as well be the first character of a value
			if ask(part[i:]) {
				return true
			}
		}
	}
	return false
}

// mostMarks is how many marks may open a value.
const mostMarks = 4

func beginsRandom(part string) bool {
	end := strings.IndexFunc(part, func(r rune) bool { return !isAlnum(byte(r)) && !strings.ContainsRune("_+/=.~-", r) })
	if end >= 0 {
		part = part[:end]
	}
	return len(part) > 512 || disordered(part) || isUUID(part)
}

func beginsStrong(part string) bool {
	return len(part) > 128 || StrongWord.Keep(Match{Text: part, SecretEnd: len(part)})
}

func hasWide(word string) bool {
	return strings.ContainsFunc(word, func(r rune) bool { return r >= 0x80 })
}
