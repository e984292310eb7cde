// Package view makes the texts in which a secret shows that its author's
// spelling hides: unescaped, put together again, decoded. Every view knows the
// way back, so that what is found in it has its place in the text as it stands.
//
// [Normalise] undoes what is never part of a secret: invisible characters,
// escapes, entities. [Variants] adds the readings that can be wrong, each as a
// text of its own: underscores that may be emphasis, line breaks that may be
// hard wraps. [Decode] undoes one layer of base64, hex, percent and backslash
// encoding.
//
// A view is searched where it differs from the text that it was made from:
//
//	texts := append([]view.Text{view.Of(raw)}, view.Variants(view.Of(raw))...)
//	for _, text := range texts {
//		if decoded, ok := view.Decode(text); ok {
//			...
//		}
//	}
//
// The package judges nothing: it does not know what a secret is. It takes time
// and memory in proportion to the text, and no view is more than twice as long
// as what it was made from.
package view
