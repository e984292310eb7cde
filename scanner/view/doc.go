// Package view makes the texts in which a secret shows that its author's
// spelling hides: decoded, unescaped, put together again. Every view knows the
// way back, so that what is found in it has its place in the text as it stands.
package view
