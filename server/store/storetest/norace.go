//go:build !race

package storetest

// modelRuns bounds the histories of the model; rapid's own count is below it.
const modelRuns = 1 << 30
