package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this binary answer to the name teammemd as well, for scripts
// and for tests that start processes.
func TestMain(m *testing.M) {
	// Under the race detector each process would sleep a second before it ends.
	_ = os.Setenv("GORACE", strings.TrimSpace("atexit_sleep_ms=0 "+os.Getenv("GORACE")))
	testscript.Main(m, map[string]func(){"teammemd": main})
}
