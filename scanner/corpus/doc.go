// Package corpus holds the sets by which the scanner is judged: ways in which a
// value stands in Markdown, notes that hold one secret each, and documentation
// that looks like secrets and holds none. Only tests import it.
//
// It is an examination, written from what people put into notes and from what
// vendors document, and knows nothing of the rules. A rule is made fit for it,
// never the other way round; an entry that is wrong about the world is mended.
//
// The texts stand in notes/*.txt and negatives/*.txt, many to a file:
//
//	== category: name
//	The text, up to the next such line.
//
// Nothing in them looks like a secret. What does is made at run time from a
// seed, by the signs that [Template] explains.
package corpus
