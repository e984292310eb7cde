package statedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/teammem/teammemd/internal/atomicfile"
)

// FirstTime reports whether this is the first call with name in the life of
// the directory, and remembers it durably before it returns true. It is for
// notices that a person should see once.
func (d *Dir) FirstTime(name string, now time.Time) (bool, error) {
	path := filepath.Join(d.path, "notices.json")
	given := map[string]time.Time{}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("reading notices: %w", err)
	}
	if err == nil {
		if err := json.Unmarshal(text, &given); err != nil {
			return false, fmt.Errorf("reading %q: %w", path, err)
		}
	}
	if _, ok := given[name]; ok {
		return false, nil
	}
	given[name] = now.Round(0).UTC()
	if text, err = json.Marshal(given); err != nil {
		return false, fmt.Errorf("encoding notices: %w", err)
	}
	if err := atomicfile.WriteFile(path, append(text, '\n'), fileMode); err != nil {
		return false, fmt.Errorf("writing notices: %w", err)
	}
	return true, nil
}
