// Package storetest is the conformance suite of package store: every promise of
// the contract as a test that each backend runs.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Fixture { ... })
//	}
package storetest
