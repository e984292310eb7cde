package storetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/server/store/seal"
)

// onlyFirst copies a key file without all keys but the first.
func onlyFirst(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return writeKeys(tb, first)
}

// renamed makes a key file with a new key under a name that another has.
func renamed(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "keys")
	own, err := seal.NewFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return writeKeys(tb, strings.Replace(string(text), own, name, 1))
}

func writeKeys(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "keys")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}
