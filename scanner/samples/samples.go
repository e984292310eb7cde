// Package samples makes secrets that are none: one of every family that the
// scanner must always stop. They are put together at run time from a seed, so
// that nothing in the repository looks like a secret, and they open nothing.
//
// The scanner proves itself on them before its first scan, and tests of any
// package plant them.
package samples

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// Family is one kind of secret.
type Family struct {
	// Rule is the id of the rule that must find it.
	Rule string
	make func(*Source) string
}

// Sample returns the family's sample. It is the same in every process, so it is
// good for planting in one and looking for in another.
func (f Family) Sample() string { return f.SampleFrom(1) }

// SampleFrom returns the sample for a seed; others for other seeds. It ends
// without a newline. Only that of "private-key" has several lines.
func (f Family) SampleFrom(seed uint64) string {
	return f.make(NewSource(seed, f.Rule))
}

// Families returns all families, in the order of their rules.
func Families() []Family { return slices.Clone(families) }

// Find returns the family of a rule.
func Find(rule string) (Family, bool) {
	at, found := slices.BinarySearchFunc(families, rule, func(f Family, rule string) int {
		return strings.Compare(f.Rule, rule)
	})
	if !found {
		return Family{}, false
	}
	return families[at], true
}

// Source draws random text, the same for the same seed.
type Source struct{ *rand.Rand }

// NewSource returns the source of a seed. Sources of other names draw other
// texts, so that no two kinds of samples share their random part.
func NewSource(seed uint64, name string) *Source {
	stream := uint64(14695981039346656037) // FNV-1a
	for i := range len(name) {
		stream = (stream ^ uint64(name[i])) * 1099511628211
	}
	return &Source{rand.New(rand.NewPCG(seed, stream))}
}

// Alphabets of [Source.Text].
const (
	Digits = "0123456789"
	Lower  = "abcdefghijklmnopqrstuvwxyz"
	Upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	Hex    = Digits + "abcdef"
	Alnum  = Digits + Lower + Upper
	Word   = Alnum + "_-"
	Base64 = Alnum + "+/"
)

// Text returns length characters of alphabet, which is ASCII. It begins with a
// run without repetition, as long as the alphabet allows, so that no seed makes
// a sample that is too regular for the rules.
func (s *Source) Text(alphabet string, length int) string {
	made := make([]byte, 0, length)
	for len(made) < length {
		for _, at := range s.Perm(len(alphabet)) {
			made = append(made, alphabet[at])
		}
	}
	return string(made[:length])
}
