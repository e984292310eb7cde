//go:build race

package storetest

// modelRuns bounds the histories of the model under the race detector, which
// makes a database in pure Go some fifty times slower.
const modelRuns = 8
