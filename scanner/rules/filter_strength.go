package rules

import (
	"strings"
)

// Random keeps a value that a machine drew: long, of several kinds of
// characters in no order, and neither a word, a path, a name in code nor a
// placeholder.
var Random = Filter{Name: "random-2", Keep: func(m Match) bool { return isRandom(m.Secret()) }}

// Strong keeps a password that a person would have to be told: no stand-in, no
// word, no name in code.
var Strong = Filter{Name: "strong-2", Keep: func(m Match) bool { return strong(m.Secret()) }}

// NotTrivial keeps what has a password's place for certain, and is neither a
// stand-in nor one plain word.
var NotTrivial = Filter{Name: "not-trivial-1", Keep: func(m Match) bool {
	value := m.Secret()
	return len(value) >= 6 && !placeholder(value) && !plainWord(value) && !numeral(value)
}}

// makeup says what a text consists of.
type makeup struct{ lower, upper, digits, signs, other, changes, wordy int }

// makeupOf counts characters by kind, the places where the kind changes, and
// the letters in runs that can be pronounced.
func makeupOf(value string) makeup {
	var m makeup
	before := byte(0)
	for i := range len(value) {
		kind := kindOf(value[i])
		switch kind {
		case 'a':
			m.lower++
		case 'A':
			m.upper++
		case '0':
			m.digits++
		case '!':
			m.signs++
		default:
			m.other++
		}
		if i > 0 && kind != before {
			m.changes++
		}
		before = kind
	}
	m.wordy = wordy(value)
	return m
}

func kindOf(c byte) byte {
	switch {
	case c >= 'a' && c <= 'z':
		return 'a'
	case c >= 'A' && c <= 'Z':
		return 'A'
	case c >= '0' && c <= '9':
		return '0'
	case c < 0x80:
		return '!'
	}
	return 'u'
}

// kinds returns how many kinds of characters there are.
func (m makeup) kinds() int {
	n := 0
	for _, count := range []int{m.lower, m.upper, m.digits, m.signs} {
		if count > 0 {
			n++
		}
	}
	return n
}

// wordy returns how many letters stand in runs of four or more that look like
// parts of words: one case but for a capital at the front, and with vowels.
func wordy(value string) int {
	total := 0
	for i := 0; i < len(value); {
		kind := kindOf(value[i])
		if kind != 'a' && kind != 'A' {
			i++
			continue
		}
		end := i + 1
		if kind == 'A' && end < len(value) && kindOf(value[end]) == 'a' {
			kind = 'a'
		}
		for end < len(value) && kindOf(value[end]) == kind {
			end++
		}
		if end-i >= 4 && pronounced(value[i:end]) {
			total += end - i
		}
		i = end
	}
	return total
}

// pronounced reports whether a run of letters has as many vowels as words have,
// and pairs of letters as words have; one odd pair is forgiven in a long run.
func pronounced(run string) bool {
	run = strings.ToLower(run)
	vowels, odd := 0, 0
	for i := range len(run) {
		if strings.IndexByte("aeiouy", run[i]) >= 0 {
			vowels++
		}
		if i > 0 && strings.IndexByte(follows[run[i-1]-'a'], run[i]) < 0 {
			odd++
		}
	}
	return odd <= len(run)/9 && vowels*6 >= len(run) && vowels*10 <= len(run)*7
}

// follows are the letters that come after each letter in words, a to z.
var follows = [26]string{
	"bcdefghijklmnprstuvwxyz", "abeijlorstuy", "acehikloqrstuy", "adegilmnorsuvwy", "abcdefghiklmnopqrstuvwxyz", "aefiloruty", "aeghilmnorsuy",
	"aeilmnorstuwy", "abcdefgklmnopqrstvxz", "aeou", "aeilnosy", "abcdefgiklmnopstuvy", "abeimnopsuy", "acdefghijklnoqstuvyz", "abcdefghiklmnoprstuvwxyz",
	"aehiloprstuy", "u", "abcdefghiklmnopqrstuvwy", "abcefghiklmnopqrstuvwy", "acehilmorstuwyz", "abcdefgiklmnoprstvxz", "aeiouy", "abehilnorst", "aceiptuy",
	"abcdeilmnoprstw", "aeiouyz",
}

// mixed reports whether there are digits, or as many changes between small and
// capital letters as no name has.
func (m makeup) mixed(length int) bool {
	return m.digits >= 2 || m.lower > 0 && m.upper > 0 && m.signs*8 <= length && m.changes*3 >= length && m.wordy*4 < length
}

func isRandom(value string) bool {
	return disordered(value) && !isUUID(value) && !placeholder(value) && !named(value) && !mashed(value)
}

// mashed reports whether value is what fingers type when they are to look like a
// machine: no capitals, and a stretch of five that comes again. A value that was
// drawn of small letters and digits has that once in 100,000 times.
func mashed(value string) bool {
	const again, longest = 5, 40
	if len(value) > longest || !strings.ContainsAny(value, "ghijklmnopqrstuvwxyz") || strings.ToLower(value) != value {
		return false
	}
	for i := 0; i+2*again <= len(value); i++ {
		if strings.Contains(value[i+again:], value[i:i+again]) {
			return true
		}
	}
	return false
}

// disordered reports whether the characters of value have the order that a machine
// gives them.
func disordered(value string) bool {
	if len(value) < shortest {
		return false
	}
	m := makeupOf(value)
	if m.other > 0 || !m.mixed(len(value)) || m.lower+m.upper < 3 || m.signs*4 > len(value) || m.changes*6 < len(value) ||
		m.wordy*2 >= len(value) && (m.changes-2*m.signs)*3 < len(value) || Entropy(value) < 3 {
		return false
	}
	return true
}

// hashed is how a hash of a password begins, after the name of its user or alone.
var hashed = expressionOf(`^(?:[\w.-]{1,40}:)?(?:\$(?:apr1|argon2\w*|scrypt|2[aby]|[1567y])\$|SCRAM-SHA-\d{1,3}\$|\{(?:S?SHA|SHA512)\})`)

func strong(value string) bool {
	if len(value) < 8 || len(value) > 120 || placeholder(value) || named(value) && !coined(value) || isUUID(value) || numeral(value) || hashed.MatchString(value) {
		return false
	}
	m := makeupOf(value)
	letters := m.lower + m.upper
	if letters == 0 || m.digits+m.signs+m.other == 0 && (m.changes < 4 || m.wordy*2 >= len(value)) {
		return false
	}
	if coined(value) {
		return true
	}
	if m.digits == 0 && m.wordy*10 >= letters*7 {
		return false
	}
	return m.kinds() >= 3 || len(value) >= 12 && m.mixed(len(value)) || len(value) >= 12 && m.digits >= 2 && (m.wordy*10 < len(value)*7 || (m.changes-2*m.signs)*3 >= len(value))
}

// NotWeak keeps a password that is no single word and no word with a number,
// and is not its own user's name.
var NotWeak = Filter{Name: "not-weak-2", Keep: func(m Match) bool { return !weak(m.Secret()) }}

// weak reports whether value is what a text uses for a password when it means
// none: shorter than six characters, a word, a word with a few digits.
func weak(value string) bool {
	if len(value) < 6 || plainWord(value) || numeral(value) && len(value) < 12 {
		return true
	}
	if generated(value) {
		return false
	}
	m := makeupOf(value)
	if m.kinds() >= 4 && len(value) >= 10 {
		return false
	}
	return named(value) && m.wordy*2 >= m.lower+m.upper || m.signs == 0 && m.digits <= 4 && m.wordy >= m.lower+m.upper
}

// StrongWord is Strong for a value that a sentence or code may surround: what
// stands behind it belongs to them.
var StrongWord = Filter{Name: "strong-word-3", Needs: OddWord, Keep: func(m Match) bool {
	value := strings.TrimRight(m.Secret(), `.,;:)]}*\_`)
	if strings.HasPrefix(m.Secret(), "(") || call.MatchString(m.Secret()) || code.MatchString(unmarked(value)) || comparison(value) {
		return false
	}
	return strong(value)
}}

// unmarked returns value without the sign at its beginning where too much else
// of a password follows for a variable, a colour or a comment.
func unmarked(value string) string {
	if value == "" || !strings.Contains("#$%&^", value[:1]) {
		return value
	}
	m, signs := makeupOf(value), 0
	for i := range len(value) {
		if strings.IndexByte("!#$%^&*?@+~", value[i]) >= 0 {
			signs++
		}
	}
	if m.digits < 2 || m.lower == 0 || m.upper == 0 || signs < 2 {
		return value
	}
	return value[1:]
}

// code is an expression rather than a value.
var code = expressionOf(`[({;]$|^[\w.$-]+[(\[{]|^[&*!@%]?[A-Za-z_][\w.:-]*[)\]},;]|\\[nrt"]|&&|\|\||=>|->|::|\+=|:=|","|\)\.|^\[|^--|^\$|^&|\]\(|://|^%|%$|^\{|^#|^/|^:|^\\|\\[sSdwW]`)

// comparison reports whether value compares two names. A random value may hold
// the sign as well.
func comparison(value string) bool {
	left, _, found := strings.Cut(value, "==")
	if strings.HasSuffix(value, "==") && len(value) >= shortest {
		return false // the end of base64
	}
	return found && (strings.HasSuffix(value, "==") || left == "" || named(left) || plainWord(left) || call.MatchString(left))
}

// WeakPassword keeps a password that is easy to guess, but no word of a
// sentence, no type and no stand-in without a digit.
var WeakPassword = Filter{Name: "weak-password-2", Keep: func(m Match) bool {
	value := strings.TrimRight(m.Secret(), `.,;:)]}*\_`)
	kinds := makeupOf(value)
	if len(value) < 4 || kinds.digits == 0 || kinds.lower+kinds.upper == 0 || strong(value) || template.MatchString(value) || reference(value) || published(value) {
		return false
	}
	return !code.MatchString(value) && !comparison(value) && !pathShape.MatchString(value) && !linkShape.MatchString(value) && !release.MatchString(value)
}}

// RandomOrUUID keeps a value that a machine drew, in any form.
var RandomOrUUID = Filter{Name: "random-or-uuid-2", Keep: func(m Match) bool { return isRandom(m.Secret()) || drawnUUID(m.Secret()) }}

// StrongOrUUID keeps a strong password, or a token that is a UUID.
var StrongOrUUID = Filter{Name: "strong-or-uuid-1", Keep: func(m Match) bool { return strong(m.Secret()) || drawnUUID(m.Secret()) }}

func drawnUUID(value string) bool { return isUUID(value) && !placeholder(value) }

// ManyKinds keeps a password with a digit, a letter and a sign, or with digits
// and letters of both cases and no words. It is for places where a word of a
// sentence is the rule.
var ManyKinds = Filter{Name: "many-kinds-2", Needs: MixedWord, Keep: func(m Match) bool {
	value := strings.TrimRight(m.Secret(), `.,;:)]}*\_`)
	kinds := makeupOf(value)
	return coined(value) || kinds.kinds() == 4 || kinds.digits > 0 && kinds.lower > 0 && kinds.upper > 0 && kinds.wordy*2 < len(m.Secret())
}}

// Phrase keeps words that stand for nothing, with a number or joined by signs.
var Phrase = Filter{Name: "phrase-1", Needs: JoinedWord, Keep: func(m Match) bool {
	value := m.Secret()
	kinds := makeupOf(value)
	return kinds.digits > 0 && kinds.digits <= 8 && !strings.Contains(value, " ") && !placeholder(value) && !pathShape.MatchString(value) && !release.MatchString(value)
}}

// Unpronounced keeps letters that are not all words.
var Unpronounced = Filter{Name: "unpronounced-2", Keep: func(m Match) bool {
	return !placeholder(m.Secret()) && wordy(m.Secret()) < len(letters(m.Secret()))
}}
