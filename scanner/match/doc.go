// Package match searches a text for all rules at once.
//
// One pass of a keyword automaton says where a rule may match; a rule's regular
// expression then looks at that place alone, from where a match must begin, and
// only when the characters there could be one. Few expressions see more than a
// few hundred bytes: those without an upper bound, and those whose keywords are
// no part of their match.
//
// A search is deterministic: the same text and rules give the same hits in the
// same order.
package match
