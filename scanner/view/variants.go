package view

// Variants returns the readings of t that differ from it, [Normalise] first.
// Each is made from t or from another one of them, and only where it is touched
// it holds anything new:
//
//   - strings, emphasis inside words, tags with attributes and comments joined,
//   - and underscores at the edges of words dropped, where they come in pairs,
//   - and pairs of underscores inside words dropped,
//   - and words joined over a line break, which drops its margin,
//   - the same without the hyphen before the line break,
//   - and words joined that were wrapped inside a cell of a table.
//
// Beyond the first, a reading can lose a secret that another one has.
func Variants(t Text) []Text {
	if tooLong(t.s) {
		return nil
	}
	var made []Text
	keep := func(to Text, ok bool) (Text, bool) {
		if ok {
			made = append(made, to)
		}
		return to, ok
	}
	next := func(from Text, read func(*edit)) (Text, bool) {
		e := edit{src: from.s}
		read(&e)
		return keep(e.text(from))
	}
	plain, _ := keep(Normalise(t))
	joined, _ := next(plain, join)
	bare, italic := next(joined, edges)
	next(joined, middles)
	next(bare, wraps)
	next(bare, hyphens)
	next(bare, columns)
	if italic {
		// An underscore at the end of a line may be the token's own, and an edge
		// for as long as the lines are not one.
		if whole, ok := next(joined, wraps); ok {
			next(whole, edges)
		}
	}
	return made
}
