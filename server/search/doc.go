// Package search finds entries of a repo by their words. An [Index] is an
// immutable picture of one repo's live entries; [Parse] reads what a person
// typed, and [Index.Search] answers it, ranked, with a snippet of each entry.
//
//	index := (*search.Index)(nil).Next(items, contents)
//	query, err := search.Parse(`deploy "blue green" -staging key:ops/**`)
//	found, err := index.Search(ctx, query, search.Page{Limit: 20})
//
// # What a word is
//
// A run of letters, digits and marks, folded: compatibility forms, case and
// accents do not count (fold.go). Inside of it the parts of camelCase count as
// well as the whole; words that '-' or '_' joins count apart and joined; paths
// and dotted names are words in a row. Chinese, Japanese and Korean have no
// spaces to go by: every two neighbours are a term, and the last character of a
// run is one by itself, so that a single character is found as the beginning of
// a term. Nothing is stemmed: the notes of one repo are in several languages.
//
// # What is promised
//
// Equal entries give equal answers, however the index came about: built at once,
// or from an older one, which shares with it all entries that did not change. An
// entry whose text or key has the words of a phrase in a row is found by that
// phrase. Entries of equal score are in the order of their keys. No text and no
// query makes anything panic. An index keeps nothing of entries that it does not
// hold: once it is dropped, so are they.
//
// The package does no I/O and starts no goroutine. An Index and a Query may be
// used by any number of goroutines.
package search
