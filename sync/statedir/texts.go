package statedir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/teammem/teammemd/api"
)

// The texts of bases are kept by their checksum, each once, so that two edits of
// one text can be merged. They are a help and no memory: nothing is lost without
// them, and the server's history has them as well. That is why they are written
// without an fsync, and why a reader checks them.

func (d *Dir) textsDir() string               { return filepath.Join(d.path, "texts") }
func (d *Dir) textOf(sum api.Checksum) string { return filepath.Join(d.textsDir(), sum.Hex()) }

// Text returns the text of a base, which was checked against its checksum.
// An error that wraps fs.ErrNotExist says that it is not kept, or was damaged.
func (d *Dir) Text(ctx context.Context, sum api.Checksum) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	content, err := os.ReadFile(d.textOf(sum))
	if err == nil && api.Sum(content) != sum {
		err = fmt.Errorf("%w: the text is damaged", fs.ErrNotExist)
	}
	if err != nil {
		return "", fmt.Errorf("reading a base's text: %w", err)
	}
	return string(content), nil
}

// Keep stores the text of a base. It is not durable when it returns, and need
// not be.
func (d *Dir) Keep(ctx context.Context, sum api.Checksum, text string) error {
	if gone, err := d.isRedacted(sum); gone || err != nil {
		return err
	}
	if _, err := d.Text(ctx, sum); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := ensureDir(d.textsDir())
	if err == nil {
		err = os.WriteFile(d.textOf(sum), []byte(text), fileMode)
	}
	if err != nil {
		return fmt.Errorf("keeping a base's text: %w", err)
	}
	return nil
}

// pruneTexts removes the texts that no base and no saved copy names, unless they
// are younger than before.
func (d *Dir) pruneTexts(copies []Copy, before time.Time) error {
	entries, err := os.ReadDir(d.textsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = d.journal.load()
	}
	if err != nil {
		return fmt.Errorf("sweeping the texts of bases: %w", err)
	}
	needed := make(map[string]bool, len(entries))
	for _, base := range d.journal.memory.Bases {
		needed[base.Sum.Hex()] = true
	}
	for _, c := range copies {
		needed[c.Base.Hex()] = true
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if needed[entry.Name()] || err != nil || info.ModTime().After(before) {
			continue
		}
		if err := os.Remove(filepath.Join(d.textsDir(), entry.Name())); err != nil {
			return fmt.Errorf("sweeping the texts of bases: %w", err)
		}
	}
	return nil
}
