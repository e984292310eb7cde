// Package pattern reads regular expressions instead of running them: how long
// a match can be, of what it can consist, and with what it must begin. The
// scanner searches a text quickly because it knows that beforehand.
//
// All lengths are in bytes of UTF-8. Two letters beyond ASCII that only case
// folding adds, ſ for s and the Kelvin sign for k, are left out of account: no
// secret holds them.
package pattern
