package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/scanner"
)

// findingID names a finding by rule and value, under a key that never leaves
// this machine: equal values have equal ids here, and nobody else can test a
// guess.
func findingID(key []byte, f scanner.Finding, name, text string) string {
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, f.Rule+"\x00"+valueOf(f, name, text))
	return hex.EncodeToString(mac.Sum(nil))[:10]
}

// findingKey returns this machine's key for [findingID], made at its first use.
// Where it cannot be kept, ids hold for this run only.
func findingKey(stateDir string) []byte {
	file := filepath.Join(stateDir, "finding.key")
	if key, err := os.ReadFile(file); err == nil && len(key) == sha256.Size {
		return key
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	if os.MkdirAll(stateDir, 0o700) == nil {
		_ = atomicfile.WriteFile(file, key, 0o600)
	}
	return key
}
