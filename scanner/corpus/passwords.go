package corpus

import (
	"strings"

	"github.com/teammem/teammemd/scanner/samples"
)

// password returns what a password manager makes: 16 to 20 characters of all
// kinds, beginning and ending with a letter or digit, without those that end a
// sentence or a quotation.
func password(s *samples.Source) string {
	for {
		made := draw(s, samples.Alnum, 1) + draw(s, samples.Alnum+samples.Alnum+"!#%^*_+~$", 14+s.IntN(5)) + draw(s, samples.Alnum, 1)
		if strings.ContainsAny(made, samples.Digits) && strings.ContainsAny(made, "!#%^*_+~") &&
			strings.ContainsAny(made, samples.Lower) && strings.ContainsAny(made, samples.Upper) && !strings.Contains(made, "**") {
			return made
		}
	}
}

var (
	passwordWords = []string{
		"Tulip", "Granite", "Pelican", "Harbor", "Velvet", "Cobalt", "Juniper", "Lantern", "Saffron", "Mistral",
		"Quartz", "Badger", "Thistle", "Walnut", "Ember", "Falcon", "Orchid", "Copper", "Drizzle", "Meadow",
	}
	leet = strings.NewReplacer("a", "4", "e", "3", "o", "0", "i", "1")
)

// humanPassword returns what people think of when a password needs a capital, a
// digit and a sign.
func humanPassword(s *samples.Source) string {
	word := func() string { return passwordWords[s.IntN(len(passwordWords))] }
	digits := func(length int) string { return draw(s, samples.Digits, length) }
	sign := func() string { return draw(s, "!#$%&*+?", 1) }
	switch s.IntN(4) {
	case 0:
		return word() + word() + sign() + digits(3) + "x"
	case 1:
		return leet.Replace(word()) + "_" + leet.Replace(word()) + sign() + digits(2) + "q"
	case 2:
		return digits(2) + word() + sign() + strings.ToLower(word()) + digits(3)
	}
	return word() + "-" + strings.ToLower(word()) + sign() + digits(4) + "Zk"
}

// passphrase returns five words with hyphens and a number, as a generator makes.
func passphrase(s *samples.Source) string {
	var words []string
	for _, at := range s.Perm(len(passwordWords))[:4] {
		words = append(words, strings.ToLower(passwordWords[at]))
	}
	words[1] = strings.ToUpper(words[1][:1]) + words[1][1:] + draw(s, samples.Digits, 2)
	return strings.Join(words, "-")
}
