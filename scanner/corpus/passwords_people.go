package corpus

import (
	"strings"

	"github.com/teammem/teammemd/scanner/samples"
)

// peopleWords are words of passwords other than passwordWords, so that a rule
// made fit for one list is tried on another.
var peopleWords = []string{
	"Marble", "Otter", "Birch", "Comet", "Raven", "Pepper", "Galaxy", "Monsoon", "Trumpet", "Biscuit", "Glacier", "Hammer", "Violin", "Cactus", "Tiger",
	"Banjo", "Kettle", "Pirate", "Rocket", "Summit", "Waffle", "Zebra", "Anchor", "Bamboo", "Candle", "Desert", "Eagle", "Forest", "Garden", "Island",
}

func peopleWord(s *samples.Source) string { return peopleWords[s.IntN(len(peopleWords))] }

// lowerWords returns n words in small letters.
func lowerWords(s *samples.Source, n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = strings.ToLower(peopleWord(s))
	}
	return words
}

// twelve returns twelve letters of both cases and digits, as a form makes them.
func twelve(s *samples.Source) string {
	for {
		made := draw(s, samples.Alnum, 12)
		if strings.ContainsAny(made, samples.Digits) && strings.ContainsAny(made, samples.Lower) && strings.ContainsAny(made, samples.Upper) {
			return made
		}
	}
}

// wordPair returns two words with a number and a sign.
func wordPair(s *samples.Source) string {
	first, second := peopleWord(s), peopleWord(s)
	switch s.IntN(4) {
	case 0:
		return first + "-" + strings.ToLower(second) + draw(s, "!#?$", 1) + draw(s, samples.Digits, 3)
	case 1:
		return first + second + draw(s, samples.Digits, 2) + draw(s, "!#?$", 1)
	case 2:
		return strings.ToLower(first) + "_" + second + "@" + draw(s, samples.Digits, 4)
	}
	return draw(s, "!#$", 1) + first + draw(s, samples.Digits, 2) + second + draw(s, "!#", 1) + "z"
}

// dashed returns three words and a number with hyphens.
func dashed(s *samples.Source) string {
	return strings.Join(append(lowerWords(s, 3), draw(s, samples.Digits, 2)), "-")
}

// dashedWords returns five words with hyphens and no number.
func dashedWords(s *samples.Source) string { return strings.Join(lowerWords(s, 5), "-") }

// spaced returns words and a number with spaces.
func spaced(s *samples.Source) string {
	words := append(lowerWords(s, 3), draw(s, samples.Digits, 2))
	return strings.Join(append(words, lowerWords(s, 1)...), " ")
}

// groups returns four groups of four small letters, as Google and Apple make
// the password of one application.
func groups(separator string) func(*samples.Source) string {
	return func(s *samples.Source) string {
		var made []string
		for range 4 {
			made = append(made, draw(s, samples.Lower, 4))
		}
		return strings.Join(made, separator)
	}
}

// coined returns two words and a number, joined by the signs of names.
func coined(s *samples.Source) string {
	return peopleWord(s) + draw(s, ".-_", 1) + peopleWord(s) + draw(s, "-_", 1) + draw(s, samples.Digits, 3)
}

// camel returns two words and a number, written together.
func camel(s *samples.Source) string {
	return peopleWord(s) + peopleWord(s) + draw(s, samples.Digits, 3)
}
