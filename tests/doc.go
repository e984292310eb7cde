// Package tests holds what no single package can prove: the layout and its
// allowed imports, the house style, the documents, and the built binary as a
// whole. It has no code of its own outside its test files.
package tests
