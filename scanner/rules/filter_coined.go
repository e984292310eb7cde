package rules

import "strings"

// coined reports whether value is what a person makes of words for a password:
// two to four of them, joined by signs or written together, a capital letter
// among them, and two to six digits. It has the shape of a name in code, but none
// of the words of which those are made.
func coined(value string) bool {
	if len(value) < 10 || len(value) > 40 || pathShape.MatchString(value) || linkShape.MatchString(value) || release.MatchString(value) || mailbox.MatchString(value) {
		return false
	}
	kinds := makeupOf(value)
	if kinds.upper == 0 || kinds.upper > 4 || kinds.lower < 6 || kinds.digits < 2 || kinds.digits > 6 || kinds.signs > 4 || kinds.other > 0 || ofMachines(value) {
		return false
	}
	words := 0
	for part := range strings.FieldsFuncSeq(spacedCapitals(value), func(r rune) bool { return r < 'A' || r > 'Z' && r < 'a' || r > 'z' }) {
		word := strings.ToLower(part)
		if len(word) < 3 || len(word) > 12 || sentenceWords[word] || nameWords[word] || standIns[word] && !commonWords[word] {
			return false
		}
		words++
	}
	return words >= 2 && words <= 4
}

// spacedCapitals returns value with a space before every capital letter that
// follows a small one.
func spacedCapitals(value string) string {
	var spaced strings.Builder
	for i := range len(value) {
		if i > 0 && kindOf(value[i]) == 'A' && kindOf(value[i-1]) == 'a' {
			spaced.WriteByte(' ')
		}
		spaced.WriteByte(value[i])
	}
	return spaced.String()
}

// ofMachines reports whether the digits of value belong to a standard or a size,
// as in "EncodeBase64".
func ofMachines(value string) bool { return sizeDigits.MatchString(value) }

var sizeDigits = expressionOf(`(?i)(?:base|int|sha|utf|float|double|win|windows|arm|amd|aes|rsa|crc|curve|bits?|iso|rfc|cve|ipv|cp|md|version)[-_.]?\d`)
