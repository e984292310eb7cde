package view

import "strings"

const (
	// shortest is the length of a word, in bytes, from which on it may be a token.
	shortest = 16
	// longest bounds how far one looks for a word's end.
	longest = 512
)

// edges drops underscores that open and close emphasis around a word that may be
// a token, or around a sentence that begins or ends with one.
func edges(e *edit) {
	open, length := -1, 0
	for i := 0; ; {
		at := strings.IndexByte(e.src[i:], '_')
		if at < 0 {
			return
		}
		i += at
		end := i
		for end < len(e.src) && e.src[end] == '_' {
			end++
		}
		before := i > 0 && is(e.src[i-1], token)
		after := wordAt(e.src, end)
		switch {
		case after && !before && end-i <= 3:
			open, length = i, end-i
		case before && !after && open >= 0 && end-i == length:
			if e.emphasised(open, open+length, i) {
				e.drop(open, open+length)
				e.drop(i, end)
			}
			open = -1
		}
		i = end
	}
}

// wordAt reports whether a word begins at i or goes on there: punctuation is part
// of it when a letter or digit follows.
func wordAt(s string, i int) bool {
	return i < len(s) && (is(s[i], word) || is(s[i], joiner) && i+1 < len(s) && is(s[i+1], alnum))
}

// emphasised reports whether src[start:end], after an opening mark at open, is
// one paragraph that begins or ends with a long word.
func (e *edit) emphasised(open, start, end int) bool {
	const most = 2048
	if end-open > most || strings.Contains(e.src[start:end], "\n\n") {
		return false
	}
	return runAfter(e.src, start, shortest, token)-start == shortest || end-runBefore(e.src, end, shortest, token) == shortest
}

// middles drops two runs of underscores from a word that may be a token, of
// which a part is emphasised: double ones where there are two, else single ones.
// A token's own underscores stand near its begin, so it takes the last ones.
func middles(e *edit) {
	for i := 0; ; {
		at := strings.IndexByte(e.src[i:], '_')
		if at < 0 {
			return
		}
		at += i
		start := max(i, runBefore(e.src, at, longest, token))
		end := runAfter(e.src, at, longest, token)
		i = end
		if end-start < shortest || changesOfKind(e.src[start:end]) < 3 {
			continue
		}
		single, double := underscores(e.src[start:end])
		size, pair := 2, double
		if double[0] < 0 {
			size, pair = 1, single
		}
		if pair[0] >= 0 {
			e.drop(start+pair[0], start+pair[0]+size)
			e.drop(start+pair[1], start+pair[1]+size)
		}
	}
}

// underscores returns where the pairs of single and of double underscores of a
// word stand that are its emphasis: the last two, or the last one and that which
// begins the word. The first of two is -1 where there is no pair.
func underscores(s string) (single, double [2]int) {
	single, double = [2]int{-1, -1}, [2]int{-1, -1}
	for i := 0; i < len(s); i++ {
		start := i
		for i < len(s) && s[i] == '_' {
			i++
		}
		pair := &single
		switch i - start {
		case 1:
		case 2:
			pair = &double
		default:
			continue
		}
		if pair[0] != 0 || i == len(s) {
			pair[0] = pair[1]
		}
		pair[1] = start
	}
	return single, double
}
