// Package cputime tells how much processor time this process has used: what a
// piece of work costs, whoever else uses the machine meanwhile.
package cputime

import "time"

// Used returns the processor time that all threads of this process have used
// since its start, in user and kernel mode, the garbage collector's included. It
// is 0 where the system does not tell. It is safe for concurrent use, and takes
// less than a microsecond.
func Used() time.Duration { return used() }
