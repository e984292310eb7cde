package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
)

// pauseNote is a pause as it is kept beside a root's state, so that it outlives
// whoever was told of it. The zero value is no pause.
type pauseNote struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero"` // zero: until it is ended by hand
}

// active reports whether there is a pause.
func (p pauseNote) active() bool { return !p.Since.IsZero() }

func pauseFile(stateDir string) string { return filepath.Join(stateDir, "pause.json") }

// readPause returns the pause that is in force for the root with this state
// directory. A note that cannot be read is a pause without an end: whoever asked
// for quiet is better off with too much of it. One whose end has passed is none.
func readPause(stateDir string, now time.Time) pauseNote {
	text, err := os.ReadFile(pauseFile(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return pauseNote{}
	}
	var note pauseNote
	if err != nil || json.Unmarshal(text, &note) != nil || !note.active() {
		return pauseNote{Since: now}
	}
	if !note.Until.IsZero() && !now.Before(note.Until) {
		return pauseNote{}
	}
	return note
}

// writePause keeps a pause durably.
func writePause(stateDir string, note pauseNote) error {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return fmt.Errorf("keeping the pause: %w", err)
	}
	text, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("encoding the pause: %w", err)
	}
	if err := atomicfile.WriteFile(pauseFile(stateDir), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("keeping the pause: %w", err)
	}
	return nil
}

// endPause ends the pause durably and reports whether one was in force.
func endPause(stateDir string, now time.Time) (ended bool, err error) {
	ended = readPause(stateDir, now).active()
	err = os.Remove(pauseFile(stateDir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil:
		err = atomicfile.SyncPath(stateDir)
	}
	if err != nil {
		return false, fmt.Errorf("ending the pause: %w", err)
	}
	return ended, nil
}

// parseSpan reads how long something is to last: "1h", "90m", "1h30m", "45s",
// "2d" or "1w". The error wraps [api.ErrUsage].
func parseSpan(flag, s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if parts := lifetime.FindStringSubmatch(s); err != nil && parts != nil {
		var n int64
		n, err = strconv.ParseInt(parts[1], 10, 64)
		unit := lifetimeUnits[parts[2]]
		d = time.Duration(min(n, int64(maxLife/unit)+1)) * unit
	}
	if err != nil || d <= 0 || d > maxLife {
		return 0, fmt.Errorf("%w: --%s %q is no span of time, such as 1h, 90m or 2d", api.ErrUsage, flag, s)
	}
	return d, nil
}
