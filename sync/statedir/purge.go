package statedir

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
)

// What the team took away for good is remembered by its checksums alone, one in
// a line of the file "redacted", so that it is not kept again by whoever meets it
// later. The list only grows: a server that was restored may have forgotten.

func (d *Dir) redactedFile() string { return filepath.Join(d.path, "redacted") }

// Purge removes every saved copy and every text of a base that has one of these
// contents, and remembers the sums: [Dir.Save] and [Dir.Keep] do not keep such a
// content again. The list is durable before anything is removed, and the
// removals are durable when Purge returns nil; purging again finishes what a
// crash left. Blocks of removed files are the file system's to overwrite.
func (d *Dir) Purge(ctx context.Context, sums []api.Checksum) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.purge(sums); err != nil {
		return fmt.Errorf("removing what the team took away: %w", err)
	}
	return nil
}

func (d *Dir) purge(sums []api.Checksum) error {
	if err := d.rememberRedacted(sums); err != nil {
		return err
	}
	copies, broken := d.Copies()
	for _, c := range copies {
		if !d.redacted[c.Sum] {
			continue
		}
		// Another copy may have the same text, which goes with the last.
		if err := d.drop(c, true); err != nil {
			return err
		}
	}
	for sum := range d.redacted {
		for _, path := range []string{d.contentOf(sum), d.textOf(sum)} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	for _, dir := range []string{d.savedDir(), d.textsDir()} {
		if err := atomicfile.SyncPath(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return broken
}

// rememberRedacted adds sums to the list, durably.
func (d *Dir) rememberRedacted(sums []api.Checksum) error {
	if err := d.loadRedacted(); err != nil {
		return err
	}
	all := make(map[api.Checksum]bool, len(d.redacted)+len(sums))
	for sum := range d.redacted {
		all[sum] = true
	}
	for _, sum := range sums {
		all[sum] = true
	}
	if len(all) == len(d.redacted) {
		return nil
	}
	lines := make([]string, 0, len(all))
	for sum := range all {
		lines = append(lines, sum.Hex()+"\n")
	}
	slices.Sort(lines)
	if err := atomicfile.WriteFile(d.redactedFile(), []byte(strings.Join(lines, "")), fileMode); err != nil {
		return err
	}
	d.redacted = all
	return nil
}

// loadRedacted reads the list once.
func (d *Dir) loadRedacted() error {
	if d.redacted != nil {
		return nil
	}
	known := make(map[api.Checksum]bool)
	f, err := os.Open(d.redactedFile())
	if errors.Is(err, fs.ErrNotExist) {
		d.redacted = known
		return nil
	}
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		sum, err := api.ParseChecksum("sha256:" + lines.Text())
		if err != nil {
			return errors.Join(fmt.Errorf("reading %q: a line is no checksum; remove the file", d.redactedFile()), f.Close())
		}
		known[sum] = true
	}
	if err := errors.Join(lines.Err(), f.Close()); err != nil {
		return err
	}
	d.redacted = known
	return nil
}

// isRedacted reports whether a content must not be kept.
func (d *Dir) isRedacted(sum api.Checksum) (bool, error) {
	if err := d.loadRedacted(); err != nil {
		return false, fmt.Errorf("reading what the team took away: %w", err)
	}
	return d.redacted[sum], nil
}
