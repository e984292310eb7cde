package rules

import "strings"

// PassphraseWords keeps words that stand for nothing, as a generator joins them.
var PassphraseWords = Filter{Name: "passphrase-words-1", Needs: JoinedWord, Keep: func(m Match) bool { return passphrase(m.Secret()) }}

// passphrase reports whether value is three words and a number, or four words,
// joined by signs, and none of them is one of those with which names and
// sentences are made.
func passphrase(value string) bool {
	if len(value) < 14 || len(value) > 120 || pathShape.MatchString(value) || release.MatchString(value) || strings.Contains(value, "correct-horse-battery") {
		return false
	}
	words, numbers, plain := 0, 0, 0
	for part := range strings.FieldsFuncSeq(strings.ToLower(value), func(r rune) bool { return strings.ContainsRune("-_. +", r) }) {
		word := strings.Trim(part, "0123456789!?#*")
		if len(word) < len(part) {
			numbers++
		}
		if word == "" {
			continue
		}
		if len(word) < 3 || len(word) > 12 || letters(word) != word || sentenceWords[word] || nameWords[word] {
			return false
		}
		if standIns[word] && !commonWords[word] {
			plain++
			continue
		}
		words++
	}
	return plain <= 1 && words >= 3 && numbers > 0 && numbers <= 3 || plain <= 1 && words >= 4
}

// generated reports whether value is what a generator of passwords makes of
// small letters: a passphrase, or four groups of four that are no words.
func generated(value string) bool {
	return passphrase(value) || fourGroups.MatchString(value) && wordy(value) < len(letters(value))
}

var fourGroups = expressionOf(`^[a-z]{4}(?:-[a-z]{4}){3}$`)

// commonWords are stand-ins alone, and words of a passphrase among others.
var commonWords = wordSet(`tiger dragon monkey hunter sunshine football baseball superman batman sesame world summer winter`)

// nameWords are further words of which people make names of things, and those
// of sentences about passwords.
var nameWords = wordSet(`ask team hold once never always create created creates update updated delete deleted change changed rotate rotated reset
 manage managed management manager auto check enable enabled disable disabled disables read write list show open close closed start stop run running
 cluster clusters node nodes pod pods pool instance instances deployment deployments namespace container containers image images build builds release
 version versions environment environments variable variables setting settings option options parameter parameters field fields name names label labels
 tag tags type types class object objects model models schema table tables column columns row rows index query queries view views event events log logs
 job jobs task tasks step steps stage queue worker workers controller operator plugin plugins module modules package packages library client clients
 provider providers resource resources policy policies role roles rule rules group groups permission permissions account accounts customer tenant
 network networks subnet gateway proxy balancer load cache memory disk volume volumes snapshot backup restore archive migration cron schedule
 length minimum maximum size count limit strength history expired expires expiration expiry invalid validation validate verify verified confirm
 confirmation mismatch match matches failed failure error errors warning success authenticate authenticated authorized unauthorized
 based provided generated stored encoded encrypted hashed plain plaintext clear cleartext bcrypt argon scrypt sha rsa aes
 may might can cannot not will shall able same different other another every each any all some many few less about after before again
 because while during until since without within between through over under out off down only just even still yet also too very
 input output button form dialog popup modal screen window menu link label text hint icon color style theme layout header footer section
 manual automatic dynamic static global common shared custom special unique standard simple basic advanced complete full partial
 bitwarden lastpass keepass dashlane onepassword vaultwarden passbolt keeper generator protected protection protect recovery recover forgot forgotten lost`)

// MostlyUnpronounced keeps letters of which hardly any make words.
var MostlyUnpronounced = Filter{Name: "mostly-unpronounced-1", Keep: func(m Match) bool {
	return !placeholder(m.Secret()) && !pronounced(m.Secret()) && Entropy(m.Secret()) > 2.8
}}

// MixedGroups keeps groups of characters that are no words: digits stand among
// letters of both cases.
var MixedGroups = Filter{Name: "mixed-groups-1", Keep: func(m Match) bool {
	kinds := makeupOf(m.Secret())
	return kinds.digits > 0 && kinds.lower > 1 && kinds.upper > 1
}}

// Vivid keeps what can hardly be a word of a sentence: digits among letters of
// both cases, and signs, or no syllables.
var Vivid = Filter{Name: "vivid-2", Needs: MixedWord, Keep: func(m Match) bool {
	value := strings.TrimRight(m.Secret(), ".,;:)*_")
	kinds := makeupOf(value)
	if len(value) < 8 || len(value) > 40 || kinds.digits == 0 || kinds.lower == 0 || kinds.upper == 0 || kinds.other > 0 || strings.Contains(value, "://") {
		return false
	}
	if kinds.signs > 0 && coined(value) {
		return true
	}
	if kinds.signs == 0 {
		return len(value) >= 10 && kinds.wordy*3 < len(value) && kinds.changes*2 >= len(value)-2 && !placeholder(value)
	}
	return kinds.digits >= 2 && strings.ContainsAny(value, "!#$%^&*?@+~") && !strings.ContainsAny(value, "/\\=<>(){}[]|:;,\"'") && strong(value) && kinds.signs <= 5
}}

// Signed keeps a value with a sign that stands in no name.
var Signed = Filter{Name: "signed-1", Keep: func(m Match) bool { return strings.ContainsAny(m.Secret(), "!#$%^&?@+~") || len(m.Secret()) >= 12 }}

// SignedWord keeps a value with a sign that stands in no name, or one of words
// joined by signs.
var SignedWord = Filter{Name: "signed-word-1", Keep: func(m Match) bool {
	return strings.ContainsAny(m.Secret(), "!#$%^&?@+~*") || coined(strings.TrimRight(m.Secret(), ".,;:)*_"))
}}

// NotInPath keeps a match that goes on with no path and does not belong to one.
var NotInPath = Filter{Name: "not-in-path-1", Keep: func(m Match) bool {
	if m.Start > 0 && (isAlnum(m.Text[m.Start-1]) || m.Text[m.Start-1] < 0x80 && kindOf(m.Text[m.Start-1]) == '!' && !isOpening(m.Text[m.Start-1])) {
		return false
	}
	for i := range len(m.Secret()) {
		if m.Secret()[i] == '/' {
			return false
		}
	}
	return true
}}

func isOpening(c byte) bool { return strings.IndexByte(" \t\n\"'`(*|>:,", c) >= 0 }
