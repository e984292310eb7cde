// Package rules holds what the scanner looks for, as data: gitleaks' rules as
// its library carries them, made fit for prose, and our own, whose ids begin
// with "tm-". It says what a secret looks like and what it opens; how a text is
// searched for it is package match's affair.
//
// To add a rule, add one entry to the list of its kind: vendors_*.go for the
// shape of one vendor's token, structures_*.go for what is told by what stands
// around it, guesses_*.go for labels and strength. The entry carries its own
// samples, and tests of this package run them.
package rules
