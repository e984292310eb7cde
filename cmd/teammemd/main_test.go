package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this binary answer to the name teammemd as well, for scripts
// and for tests that start processes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"teammemd": main})
}
