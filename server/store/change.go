package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/teammem/teammemd/api"
)

// What a change can be refused for. Each is a bug of its maker.
var (
	errNoKey   = errors.New("a change names no key")
	errNoSum   = errors.New("a change redacts no content")
	errKeptOut = errors.New("a change puts a content that was redacted")
)

// Check refuses a change of h that breaks the contract. Backends call it with
// what decide returned, before anything is written.
func (c Change) Check(h *Head) error {
	keys, err := c.keys()
	if err != nil {
		return err
	}
	ledger := &Head{Redacted: h.ledger(c.Redact)}
	for _, p := range c.Puts {
		if ledger.IsRedacted(p.Sum) {
			return fmt.Errorf("%w: %q", errKeptOut, p.Key)
		}
	}
	if len(c.Redact) == 0 {
		return nil
	}
	if slices.ContainsFunc(c.Redact, api.Checksum.IsZero) {
		return errNoSum
	}
	for _, it := range h.Items {
		if _, changes := slices.BinarySearchFunc(keys, it.Key, api.Key.Compare); !changes && ledger.IsRedacted(it.Sum) {
			return fmt.Errorf("a change redacts a content and leaves it in %q", it.Key)
		}
	}
	return nil
}

// keys returns the keys that c puts or retires, sorted.
func (c Change) keys() ([]api.Key, error) {
	keys := make([]api.Key, 0, len(c.Puts)+len(c.Retire))
	for _, p := range c.Puts {
		keys = append(keys, p.Key)
	}
	keys = append(keys, c.Retire...)
	slices.SortFunc(keys, api.Key.Compare)
	for i, key := range keys {
		if key.IsZero() {
			return nil, errNoKey
		}
		if i > 0 && key == keys[i-1] {
			return nil, fmt.Errorf("a change names %q twice", key)
		}
	}
	return keys, nil
}
