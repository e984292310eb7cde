package view

// Variants returns the readings of t that differ from it, [Normalise] first.
// Each is made from t or from another one of them, and only where it is touched
// it holds anything new:
//
//   - strings, emphasis inside words, tags with attributes and comments joined,
//   - and underscores at the edges of words dropped, where they come in pairs,
//   - and pairs of underscores inside words dropped,
//   - and words joined over a line break, which drops its margin,
//   - the same without the hyphen before the line break.
//
// Beyond the first, a reading can lose a secret that another one has.
func Variants(t Text) []Text {
	if tooLong(t.s) {
		return nil
	}
	var made []Text
	next := func(from Text, read func(*edit)) Text {
		e := edit{src: from.s}
		read(&e)
		to, ok := e.text(from)
		if ok {
			made = append(made, to)
		}
		return to
	}
	plain, ok := Normalise(t)
	if ok {
		made = append(made, plain)
	}
	joined := next(plain, join)
	bare := next(joined, edges)
	next(joined, middles)
	next(bare, wraps)
	next(bare, hyphens)
	return made
}
