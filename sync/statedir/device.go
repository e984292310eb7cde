package statedir

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/teammem/teammemd/internal/atomicfile"
)

// deviceBytes is the length of a device id, before it is written as text.
const deviceBytes = 16

// Device returns the id by which the server knows this checkout, drawing one the
// first time: random, so that it tells nothing, and another in each root, so that
// two repos cannot be compared by it. Only the holder of the lock calls it.
func (d *Dir) Device() (string, error) {
	if id := DeviceAt(d.path); id != "" {
		return id, nil
	}
	var raw [deviceBytes]byte
	_, _ = rand.Read(raw[:]) // never fails
	id := hex.EncodeToString(raw[:])
	if err := atomicfile.WriteFile(deviceFile(d.path), []byte(id+"\n"), fileMode); err != nil {
		return "", fmt.Errorf("recording the device's id: %w", err)
	}
	return id, nil
}

// DeviceAt returns the id of the checkout whose state is at path, "" for none. It
// needs no lock.
func DeviceAt(path string) string {
	raw, err := os.ReadFile(deviceFile(path))
	id := strings.TrimSpace(string(raw))
	if back, bad := hex.DecodeString(id); err != nil || bad != nil || len(back) != deviceBytes {
		return "" // a damaged one is drawn anew
	}
	return id
}

func deviceFile(path string) string { return filepath.Join(path, "device") }
