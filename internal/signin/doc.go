// Package signin is the client's side of signing in to a server: the device
// grant, where the tokens of a person are kept, and their renewal, one at a time
// on a machine however many processes ask.
//
// It shows nothing and asks nobody: what a person has to see is returned.
//
// No token or device code is in any error.
package signin
