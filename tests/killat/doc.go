// Package killat runs a program and kills it before the nth of its system calls:
// the death that a power switch, a full machine's killer or an impatient person
// deals, at every moment that can make a difference. It counts over all threads
// of the program, which strace does not. It traces, and therefore runs on Linux
// alone, where tracing is allowed.
package killat
