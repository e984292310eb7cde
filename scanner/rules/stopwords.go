package rules

import (
	"strings"
	"sync"
)

// stopWords are words whose presence excuses a value. There are more than a
// thousand for one rule, so they are found by how they begin.
type stopWords struct {
	words []string // in lower case

	once  sync.Once
	begin map[[2]byte][]string
	short []string // shorter than a beginning
}

func newStopWords(words []string) *stopWords { return &stopWords{words: lowered(words)} }

// none reports whether there are no words at all.
func (w *stopWords) none() bool { return len(w.words) == 0 }

// in reports whether value, in lower case, holds any of the words.
func (w *stopWords) in(value string) bool {
	w.once.Do(w.sort)
	for _, word := range w.short {
		if strings.Contains(value, word) {
			return true
		}
	}
	for i := range len(value) - 1 {
		for _, word := range w.begin[[2]byte{value[i], value[i+1]}] {
			if strings.HasPrefix(value[i:], word) {
				return true
			}
		}
	}
	return false
}

func (w *stopWords) sort() {
	w.begin = make(map[[2]byte][]string)
	for _, word := range w.words {
		if len(word) < 2 {
			w.short = append(w.short, word)
			continue
		}
		key := [2]byte{word[0], word[1]}
		w.begin[key] = append(w.begin[key], word)
	}
}
