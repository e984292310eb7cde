package statedir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
)

// Copies lists the saved copies, newest first. Descriptions that cannot be read
// are named in the error; the list then holds all others.
func (d *Dir) Copies() ([]Copy, error) {
	entries, err := os.ReadDir(d.savedDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing saved copies: %w", err)
	}
	var copies []Copy
	var broken []error
	for _, entry := range entries {
		id, isDescription := strings.CutSuffix(entry.Name(), ".json")
		if !isDescription || !isID(id) {
			continue
		}
		c, err := d.copy(id)
		if err != nil {
			broken = append(broken, fmt.Errorf("listing saved copies: %w", err))
			continue
		}
		copies = append(copies, c)
	}
	slices.SortFunc(copies, func(a, b Copy) int {
		return cmp.Or(b.SavedAt.Compare(a.SavedAt), strings.Compare(a.ID, b.ID))
	})
	return copies, errors.Join(broken...)
}

// isID reports whether id has the form that [Dir.Save] gives: it is then safe
// in a file name.
func isID(id string) bool {
	const digits = "0123456789abcdef"
	return len(id) >= 8 && len(id) <= 64 && len(id)%8 == 0 && strings.Trim(id, digits) == ""
}

// find returns a copy that a person named.
func (d *Dir) find(id string) (Copy, error) {
	if !isID(id) {
		return Copy{}, fmt.Errorf("%w: %q is not the id of a saved copy", api.ErrUsage, id)
	}
	c, err := d.copy(id)
	if errors.Is(err, fs.ErrNotExist) {
		return Copy{}, fmt.Errorf("%w: no saved copy has the id %q", api.ErrUsage, id)
	}
	return c, err
}

// ReadCopy returns a saved copy and its text, which was checked against its
// checksum. An unknown id wraps [api.ErrUsage].
func (d *Dir) ReadCopy(id string) (Copy, string, error) {
	c, err := d.find(id)
	if err != nil {
		return Copy{}, "", err
	}
	content, err := os.ReadFile(d.contentOf(c.Sum))
	if err != nil {
		return c, "", fmt.Errorf("reading saved copy %s: %w", id, err)
	}
	if api.Sum(content) != c.Sum {
		return c, "", fmt.Errorf("reading saved copy %s: %q is damaged", id, d.contentOf(c.Sum))
	}
	return c, string(content), nil
}

// MarkRead remembers durably that a person has seen the copy. An unknown id
// wraps [api.ErrUsage].
func (d *Dir) MarkRead(id string) error {
	c, err := d.find(id)
	if err != nil || c.Read {
		return err
	}
	c.Read = true
	if err := d.describe(c); err != nil {
		return fmt.Errorf("marking saved copy %s as read: %w", id, err)
	}
	return nil
}

// Drop removes a saved copy for good, and its text unless another copy has the
// same. An unknown id wraps [api.ErrUsage].
func (d *Dir) Drop(id string) error {
	c, err := d.find(id)
	if err != nil {
		return err
	}
	// A description that cannot be read may need the text: then it stays.
	copies, err := d.Copies()
	if err != nil {
		return fmt.Errorf("dropping saved copy %s: %w", id, err)
	}
	shared := slices.ContainsFunc(copies, func(o Copy) bool { return o.ID != id && o.Sum == c.Sum })
	if err := d.drop(c, shared); err != nil {
		return fmt.Errorf("dropping saved copy %s: %w", id, err)
	}
	return atomicfile.SyncPath(d.savedDir())
}

// drop removes a description first: a text without one is garbage, a
// description without its text would be a lie.
func (d *Dir) drop(c Copy, shared bool) error {
	if err := os.Remove(d.describing(c.ID)); err != nil {
		return err
	}
	if shared {
		return nil
	}
	return os.Remove(d.contentOf(c.Sum))
}
