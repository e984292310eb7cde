package bench

import (
	"fmt"
	"runtime"
	"time"
)

// Report is what a measurement found: with an error, what it found before. In
// JSON neither list is null.
type Report[T any] struct {
	// Machine tells what the figures can be compared with: system, cores, Go.
	Machine string `json:"machine"`
	// Debounce is that of the options, in milliseconds.
	Debounce float64 `json:"debounce_ms"`
	// Results begin with teammemd's.
	Results []T `json:"results"`
	// Missing are the peers that were asked for and are not installed.
	Missing []Missing `json:"missing"`
}

// Missing is a peer that is not installed.
type Missing struct {
	Program string `json:"program"`
	Package string `json:"package"` // of Debian
}

// thisMachine tells what figures of this machine can be compared with.
func thisMachine() string {
	return fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}

// inMS is a duration as it stands in a report: milliseconds, to the microsecond.
func inMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
