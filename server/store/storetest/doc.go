// Package storetest checks a backend against the contract of package store:
// every promise of its documentation has a test here, and a backend is one when
// all of them pass.
//
//	storetest.Run(t, func(t *testing.T) storetest.Harness {
//		dir := t.TempDir()
//		return storetest.Harness{Open: ..., Beside: ..., Crash: ...}
//	})
//
// What depends on a backend's own storage (files, a full disk, a killed
// process) is tested in the backend's package.
package storetest
