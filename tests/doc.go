// Package tests holds what no single package can prove: the layout and its
// allowed imports, the house style, the documents, and the built binary as a
// whole. It has no code of its own outside its test files.
//
// What the tests of the whole program are made of, most in a file of that name:
//
//   - machine: one person's computer, which runs the program (a process while it
//     runs on) and reads its report; a pair is two of them with their server.
//   - companion: a server, a process on a machine of its own; baseServer is the
//     least that a server may be.
//   - the proxy of tests/chaos, between a client and a server, loses and repeats
//     and keeps all that passes; a meddler rewrites answers.
//   - light: a client without files, embedded: a server without a port (see
//     inprocess), for more clients or more time than a machine has.
//   - tree, and account: what a directory holds, and where each text has gone.
//
// A test that is named TestF and a number makes that fault of docs/faults.md.
package tests
