package rules

import "github.com/teammem/teammemd/scanner/samples"

// Tier says how sure a rule is, and so who may let a finding pass.
type Tier string

// The tiers, strictest first.
const (
	// Block1 is the shape of one vendor's token. Only a team policy lets it pass.
	Block1 Tier = "block1"
	// Block2 is a structure that holds a secret: a key in PEM, a signed token, a
	// header. Only a team policy lets it pass.
	Block2 Tier = "block2"
	// Block3 is a guess from labels and randomness. A person may let it pass.
	Block3 Tier = "block3"
	// Warn marks text without holding it.
	Warn Tier = "warn"
)

// Holds reports whether a finding of tier t keeps its text from travelling. A
// tier that is not known holds.
func (t Tier) Holds() bool { return t != Warn }

// Rule describes one kind of secret. It is data: two rules of equal fields find
// the same.
type Rule struct {
	// ID is the rule's name for good, such as "tm-groq-api-key".
	ID   string
	Tier Tier
	// Title names the kind in a few words, such as "Groq API key".
	Title string
	// Reason is one sentence on what the secret opens, such as "A Groq key that
	// can spend money." What to do about it is added for all rules alike.
	Reason string
	// Vague says that the rule knows no kind of secret, only that something looks
	// like one. A finding of it gives way to one of a rule that knows more.
	Vague bool
	// Keywords are in lower case. A text without any of them, whatever the case,
	// has no match, and neither has a part of a text: every match of Pattern
	// holds one.
	Keywords []string
	// Pattern is a regular expression of package regexp.
	Pattern string
	// Alphabet is what the secret consists of, as the inside of a character
	// class, such as `\w-`. Where it is set, the secret must be whole: before it
	// stands no letter or digit, after it no character of Alphabet, but for
	// punctuation that no letter or digit follows. Pattern is then the secret
	// alone, without boundaries and without capturing groups.
	Alphabet string
	// Reach bounds how far after its beginning a match of a pattern without an
	// upper bound is looked for, in bytes. 0 is 4096.
	Reach int
	// Group is the capturing group that is the secret. 0 is the first one that
	// took part in the match, or the whole match where there is none.
	Group int
	// Entropy is in bits per byte of the secret (Shannon). A match at or below it
	// is none. 0 asks for nothing.
	Entropy float64
	// Filters judge a match further. It counts when all of them keep it.
	Filters []Filter
	// Hits returns texts that this rule must find, each as small as it can be:
	// the secret alone where Alphabet is set. Misses returns texts that it must
	// not find. Both are made from parts, so that no file of ours looks like a
	// secret; nil makes them from Pattern.
	Hits, Misses func(*samples.Source) []string
}

// Filter judges what a pattern cannot.
type Filter struct {
	// Name stands for what Keep does in the version of the rule set: another
	// judgement is another name.
	Name string
	// Needs is what the filter asks of the word that the secret is or stands in.
	// It spares the search of a text that has no such word.
	Needs Word
	// Keep reports whether a match is a secret. It must be quick, bounded by the
	// length of the match and its line, and safe for concurrent use.
	Keep func(Match) bool
}

// Word is a kind of word. A word here ends at white space, quotes and angle
// brackets.
type Word uint8

// The kinds of words.
const (
	// AnyWord is every word.
	AnyWord Word = iota
	// MixedWord has eight bytes and more: small letters, capitals and digits.
	MixedWord
	// JoinedWord has fourteen bytes and more, and two and more of the signs that
	// join words.
	JoinedWord
	// OddWord has eight bytes and more, and is no plain word in punctuation.
	OddWord
	// RandomWord begins, but for marks, with what a machine may have drawn.
	RandomWord
	// StrongMixedWord is a MixedWord that begins, but for marks, with a strong
	// password.
	StrongMixedWord
)

// Match is one place where a pattern matched. It is valid during the call only,
// and must not be kept: it holds the text.
type Match struct {
	Text string
	// Start and End are the bytes of the whole match, SecretStart and SecretEnd
	// those of the secret in it.
	Start, End, SecretStart, SecretEnd int
}

// Secret returns the secret.
func (m Match) Secret() string { return m.Text[m.SecretStart:m.SecretEnd] }

// Whole returns the whole match.
func (m Match) Whole() string { return m.Text[m.Start:m.End] }

// maxLine bounds [Match.Line] on each side of the match, in bytes.
const maxLine = 512

// Line returns the line of the match without its end, cut 512 bytes before and
// after the match.
func (m Match) Line() string {
	from, to := m.Start, m.End
	for from > 0 && m.Start-from < maxLine && m.Text[from-1] != '\n' {
		from--
	}
	for to < len(m.Text) && to-m.End < maxLine && m.Text[to] != '\n' {
		to++
	}
	return m.Text[from:to]
}
