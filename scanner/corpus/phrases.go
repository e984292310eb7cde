package corpus

import (
	"strings"

	"github.com/teammem/teammemd/scanner/samples"
)

// phrases are seed phrases whose checksum is right (BIP 39), each as its words
// in order of the alphabet and their places in the phrase. They open nothing.
var phrases = []struct {
	words []string
	order []int
}{
	{[]string{"away", "critic", "divert", "erode", "forest", "hospital", "industry", "pair", "puzzle", "render", "state", "stove"}, []int{3, 1, 5, 4, 11, 8, 6, 10, 2, 9, 7, 0}},
	{[]string{"attract", "doll", "law", "maximum", "nerve", "pair", "sample", "suggest", "topple", "trip", "way", "winter"}, []int{1, 6, 10, 2, 8, 4, 7, 11, 3, 0, 9, 5}},
	{[]string{"antenna", "apart", "canal", "catch", "code", "meat", "other", "piece", "praise", "predict", "stamp", "toss"}, []int{11, 2, 1, 10, 3, 0, 9, 5, 4, 6, 8, 7}},
	{[]string{"awful", "consider", "group", "guide", "jealous", "loop", "multiply", "neither", "one", "permit", "rely", "service"}, []int{11, 8, 9, 10, 6, 7, 5, 3, 1, 4, 2, 0}},
	{[]string{"attitude", "banana", "cheap", "clown", "distance", "enter", "history", "increase", "narrow", "noodle", "oak", "oval", "police", "popular", "prevent", "rib", "skate", "snack", "start", "sure", "swap", "view", "visit", "wise"}, []int{19, 3, 23, 8, 0, 21, 2, 1, 17, 7, 16, 12, 10, 13, 4, 22, 5, 20, 6, 11, 9, 15, 18, 14}},
	{[]string{"also", "arrow", "auction", "ball", "become", "betray", "cement", "cotton", "decide", "elbow", "endless", "enrich", "glue", "matter", "melody", "mind", "misery", "noise", "phone", "plunge", "police", "raw", "ski", "vague"}, []int{19, 1, 16, 18, 13, 0, 6, 7, 5, 23, 20, 12, 11, 4, 3, 2, 10, 22, 14, 9, 15, 21, 17, 8}},
}

// seedPhrase returns a seed phrase of a number of words.
func seedPhrase(s *samples.Source, length int) string {
	for {
		phrase := phrases[s.IntN(len(phrases))]
		if len(phrase.order) != length {
			continue
		}
		var words []string
		for _, at := range phrase.order {
			words = append(words, phrase.words[at])
		}
		return strings.Join(words, " ")
	}
}
