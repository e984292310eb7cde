package match

import (
	"slices"
	"sort"
	"strings"

	"github.com/teammem/teammemd/scanner/pattern"
	"github.com/teammem/teammemd/scanner/rules"
)

// mostGroups bounds the capturing groups of which one is the secret.
const mostGroups = 16

// needed returns what the filters of a rule ask of the word of its secret. They
// ask nothing of one that may be several words.
func needed(r rules.Rule, parsed pattern.Pattern) []rules.Word {
	if r.Alphabet != "" || r.Group != 0 {
		return nil
	}
	for i := 1; i <= mostGroups; i++ {
		group, ok := parsed.Group(i)
		if !ok {
			if i == 1 {
				return nil
			}
			break
		}
		for c, in := range group.Characters() {
			if in && endsWord(byte(c)) {
				return nil
			}
		}
	}
	var words []rules.Word
	for _, f := range r.Filters {
		if f.Needs != rules.AnyWord && !slices.Contains(words, f.Needs) {
			words = append(words, f.Needs)
		}
	}
	slices.Sort(words) // those that take no closer look first
	return words
}

// endsWord reports whether no word holds c.
func endsWord(c byte) bool {
	return isSpace(c) || c == '"' || c == '\'' || c == '<' || c == '>'
}

// wordIndex says where a text has words of each kind. It is made when the first
// rule asks, and looks closer at a word when one asks about its place.
type wordIndex struct {
	made   bool
	places [rules.StrongMixedWord + 1][]place
}

type place struct {
	span
	known, is bool // for the kinds that take a closer look
}

func (x *wordIndex) forget() {
	x.made = false
	for i := range x.places {
		x.places[i] = x.places[i][:0]
	}
}

// has reports whether text[from:to] and a word of a kind have a byte in common.
func (x *wordIndex) has(text string, kind rules.Word, from, to int) bool {
	if !x.made {
		x.make(text)
	}
	places := x.places[kind]
	first := sort.Search(len(places), func(i int) bool { return places[i].end > from })
	for i := first; i < len(places) && places[i].start < to; i++ {
		p := &places[i]
		if !p.known {
			p.known, p.is = true, kind.Is(text[p.start:p.end])
		}
		if p.is {
			return true
		}
	}
	return false
}

func (x *wordIndex) make(text string) {
	x.made = true
	for at := 0; at < len(text); at++ {
		from, kinds, joins := at, uint8(0), 0
		for ; at < len(text); at++ {
			kind := kindsOfBytes[text[at]]
			if kind == ending {
				break
			}
			kinds |= kind
			joins += int(kind >> joiningBit)
		}
		const least = 8
		if at-from >= least && kinds != lower {
			x.note(text[from:at], place{span: span{from, at}}, kinds, joins)
		}
	}
}

// note files a word under its kinds. It has bytes of kinds, and joins of the
// signs that join words.
func (x *wordIndex) note(word string, at place, kinds uint8, joins int) {
	const leastJoined, leastJoins = 14, 2
	if kinds&(lower|upper|digit) == lower|upper|digit {
		x.places[rules.MixedWord] = append(x.places[rules.MixedWord], at)
		x.places[rules.StrongMixedWord] = append(x.places[rules.StrongMixedWord], at)
	}
	const leastRandom = 16
	if len(word) >= leastRandom && (kinds&digit != 0 || kinds&(lower|upper) == lower|upper) {
		x.places[rules.RandomWord] = append(x.places[rules.RandomWord], at)
	}
	if joins >= leastJoins && len(word) >= leastJoined {
		x.places[rules.JoinedWord] = append(x.places[rules.JoinedWord], at)
	}
	if kinds&digit != 0 || !plain(word) {
		x.places[rules.OddWord] = append(x.places[rules.OddWord], at)
	}
}

// The kinds of bytes.
const (
	lower uint8 = 1 << iota
	upper
	digit
	before // what may stand before a word of a sentence
	after  // and after it
	other
	ending // of a word

	joiningBit = 7
	joining    = uint8(1) << joiningBit
)

var kindsOfBytes = func() (kinds [256]uint8) {
	for i := range kinds {
		c := byte(i)
		switch {
		case 'a' <= c && c <= 'z':
			kinds[i] = lower
		case 'A' <= c && c <= 'Z':
			kinds[i] = upper
		case '0' <= c && c <= '9':
			kinds[i] = digit
		case endsWord(c):
			kinds[i] = ending
		default:
			kinds[i] = other
		}
		if strings.IndexByte("([{*_`", c) >= 0 {
			kinds[i] |= before
		}
		if strings.IndexByte(".,;:)]}*_`", c) >= 0 {
			kinds[i] |= after
		}
		if strings.IndexByte("-_.+", c) >= 0 {
			kinds[i] |= joining
		}
	}
	return kinds
}()

// plain reports whether word is small letters, but for a capital at the front,
// in the punctuation of a sentence.
func plain(word string) bool {
	from, to := 0, len(word)
	for from < to && kindsOfBytes[word[from]]&before != 0 {
		from++
	}
	for from < to && kindsOfBytes[word[to-1]]&after != 0 {
		to--
	}
	for i := from; i < to; i++ {
		if kind := kindsOfBytes[word[i]]; kind != lower && (i > from || kind != upper) {
			return false
		}
	}
	return true
}
