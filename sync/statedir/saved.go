package statedir

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
)

// whyConflict is the [api.SavedCopy] reason whose unread copies are never
// dropped.
const whyConflict = "conflict"

// Copy describes one saved copy.
type Copy struct {
	ID      string       `json:"id"`
	Key     api.Key      `json:"key"`
	SavedAt time.Time    `json:"saved_at"`
	Bytes   int          `json:"bytes"`
	Sum     api.Checksum `json:"sum"`
	Why     string       `json:"why"` // as in [api.SavedCopy]
	// Base is the content that both sides had before, zero when unknown; see
	// [Dir.Text].
	Base api.Checksum `json:"base,omitzero"`
	Read bool         `json:"read"`
}

func (d *Dir) savedDir() string                  { return filepath.Join(d.path, "saved") }
func (d *Dir) describing(id string) string       { return filepath.Join(d.savedDir(), id+".json") }
func (d *Dir) contentOf(sum api.Checksum) string { return filepath.Join(d.savedDir(), sum.Hex()) }

// Save keeps a copy durably and returns its id, at least 8 hexadecimal digits
// that depend on key and content alone: the same again returns the same id,
// keeps what was marked read, and only moves the time on. A conflict outranks
// the other reasons. A content that was purged is not kept; the id is then "".
func (d *Dir) Save(ctx context.Context, saved api.SavedCopy) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if saved.Key.IsZero() || saved.Sum != api.SumString(saved.Content) {
		return "", errors.New("saving a copy: key missing or checksum wrong")
	}
	if gone, err := d.isRedacted(saved.Sum); gone || err != nil {
		return "", err
	}
	id, err := d.save(saved)
	if err != nil {
		return "", fmt.Errorf("saving a copy of %q: %w", saved.Key, err)
	}
	return id, nil
}

func (d *Dir) save(saved api.SavedCopy) (string, error) {
	if err := ensureDir(d.savedDir()); err != nil {
		return "", err
	}
	old, id, err := d.place(saved.Key, saved.Sum)
	if err != nil {
		return "", err
	}
	next := Copy{
		ID: id, Key: saved.Key, SavedAt: saved.At.Round(0).UTC(), Bytes: len(saved.Content),
		Sum: saved.Sum, Why: saved.Why, Read: old.Read, Base: saved.Base,
	}
	if next.Base.IsZero() {
		next.Base = cmp.Or(old.Base, d.baseOf(saved))
	}
	if old.Why == whyConflict {
		next.Why = whyConflict
	}
	if next.SavedAt.Before(old.SavedAt) {
		next.SavedAt = old.SavedAt
	}
	if err := d.keepContent(saved); err != nil {
		return "", err
	}
	if next == old {
		return id, atomicfile.SyncPath(d.savedDir())
	}
	return id, d.describe(next)
}

// baseOf is the base of a text that was found while it was displaced: whoever
// saves it then does not know bases. Of a conflict the engine says what it knows.
func (d *Dir) baseOf(saved api.SavedCopy) api.Checksum {
	if saved.Why == whyConflict || d.journal.load() != nil {
		return api.Checksum{} // a copy matters more than its base
	}
	return d.journal.memory.Bases[saved.Key].Sum
}

// place finds the id for a key and content, and what is kept under it.
func (d *Dir) place(key api.Key, sum api.Checksum) (Copy, string, error) {
	digest := sha256.Sum256(append(append([]byte(key.String()), 0), sum[:]...))
	digits := hex.EncodeToString(digest[:])
	for length := 8; length <= len(digits); length += 8 {
		id := digits[:length]
		old, err := d.copy(id)
		if errors.Is(err, fs.ErrNotExist) {
			return Copy{}, id, nil
		}
		if err != nil {
			return Copy{}, "", err
		}
		if old.Key == key && old.Sum == sum {
			return old, id, nil
		}
	}
	return Copy{}, "", errors.New("no free id")
}

// keepContent stores the text unless an intact copy of it is there. The name
// becomes durable with the description's.
func (d *Dir) keepContent(saved api.SavedCopy) error {
	path := d.contentOf(saved.Sum)
	if kept, err := os.ReadFile(path); err == nil && api.Sum(kept) == saved.Sum {
		return nil
	}
	return atomicfile.Replace(path, []byte(saved.Content), fileMode)
}

func (d *Dir) describe(c Copy) error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	return atomicfile.WriteFile(d.describing(c.ID), append(text, '\n'), fileMode)
}

// copy reads a description. The id must be well formed.
func (d *Dir) copy(id string) (Copy, error) {
	path := d.describing(id)
	text, err := os.ReadFile(path)
	if err != nil {
		return Copy{}, err
	}
	var c Copy
	if err := json.Unmarshal(text, &c); err != nil {
		return Copy{}, fmt.Errorf("reading %q: %w", path, err)
	}
	if c.ID != id || c.Key.IsZero() {
		return Copy{}, fmt.Errorf("reading %q: it describes another copy", path)
	}
	return c, nil
}
