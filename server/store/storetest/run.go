package storetest

import (
	"testing"

	"github.com/teammem/teammemd/server/store"
)

// Fixture is an empty, serving backend and the ways to come back to its data.
// Its functions end the test when they fail, and the fixture cleans up after
// itself.
type Fixture struct {
	// Backend serves new storage.
	Backend store.Backend
	// Reopen closes the backend that serves and returns a new one on its data.
	Reopen func() store.Backend
	// Crash returns a backend on what the storage would hold if the machine went
	// down now. The one that serves is not told.
	Crash func() store.Backend
	// Beside opens the data as another process does beside the server, for
	// credentials.
	Beside func() store.Backend
}

// Run checks a backend against the contract. Each test gets a new fixture.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"Update", updateTests},
		{"Concurrency", concurrencyTests},
		{"Read", readTests},
		{"Context", contextTests},
		{"Durability", durabilityTests},
		{"Tokens", tokenTests},
		{"JoinCodes", joinCodeTests},
		{"Model", modelTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, tt := range group.tests {
				t.Run(tt.name, func(t *testing.T) { tt.run(t, open(t)) })
			}
		})
	}
}

type test struct {
	name string
	run  func(t *testing.T, f Fixture)
}
