package rules

import "math"

// Entropy returns the Shannon entropy of a text in bits per byte, from 0 to 8.
func Entropy(text string) float64 {
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			share := float64(n) / float64(len(text))
			bits -= share * math.Log2(share)
		}
	}
	return bits
}
