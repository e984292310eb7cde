//go:build !unix

package scanner_test

import "time"

// cpuTime is not measured here: the benchmarks then leave their figure out.
func cpuTime() time.Duration { return 0 }
