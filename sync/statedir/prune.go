package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
)

// Retention of saved copies: a copy is dropped only when it is older than
// [KeepFor] and not among the last [KeepPerKey] of its key.
const (
	KeepFor    = 30 * 24 * time.Hour
	KeepPerKey = 20
)

// tendEvery is how often [Dir.Tend] does its work.
const tendEvery = 24 * time.Hour

// Tend prunes once a day, however often and by whichever process it is called:
// a small file remembers when. It returns how many copies went. No other method
// may run meanwhile.
func (d *Dir) Tend(now time.Time) (int, error) {
	stamp := filepath.Join(d.path, "tended")
	if info, err := os.Stat(stamp); err == nil {
		if since := now.Sub(info.ModTime()); since >= 0 && since < tendEvery {
			return 0, nil
		}
	}
	dropped, err := d.Prune(now)
	if err != nil {
		return dropped, err
	}
	err = os.WriteFile(stamp, nil, 0o600)
	if err == nil {
		err = os.Chtimes(stamp, now, now)
	}
	if err != nil {
		return dropped, fmt.Errorf("noting when saved copies were pruned: %w", err)
	}
	return dropped, nil
}

// Prune drops the copies that retention lets go, and what a crash left
// unfinished more than an hour before now, and the texts that no base and no copy
// names any more. An unread conflict is never dropped.
// It returns how many copies went.
func (d *Dir) Prune(now time.Time) (int, error) {
	copies, err := d.Copies()
	if err != nil {
		return 0, err
	}
	drop, kept := expired(copies, now)
	if err := d.pruneTexts(copies, now.Add(-time.Hour)); err != nil {
		return 0, err
	}
	for i, c := range drop {
		if err := d.drop(c, true); err != nil {
			return i, fmt.Errorf("dropping saved copy %s: %w", c.ID, err)
		}
	}
	swept, err := d.sweep(kept, now.Add(-time.Hour), len(drop) > 0)
	if err != nil || (len(drop) == 0 && !swept) {
		return len(drop), err
	}
	return len(drop), atomicfile.SyncPath(d.savedDir())
}

// expired splits copies, newest first, into those to drop and the contents that
// the others need.
func expired(copies []Copy, now time.Time) (drop []Copy, kept map[string]bool) {
	kept = map[string]bool{}
	rank := map[api.Key]int{}
	for _, c := range copies {
		rank[c.Key]++
		unread := c.Why == whyConflict && !c.Read
		if unread || rank[c.Key] <= KeepPerKey || now.Sub(c.SavedAt) <= KeepFor {
			kept[c.Sum.Hex()] = true
			continue
		}
		drop = append(drop, c)
	}
	return drop, kept
}

// sweep removes files of saved/ that nothing needs: texts without a
// description, unfinished temporary files. Young ones may belong to a Save that
// is under way in another process; all says that texts may be young as well,
// because copies were just dropped.
func (d *Dir) sweep(kept map[string]bool, before time.Time, all bool) (bool, error) {
	entries, err := os.ReadDir(d.savedDir())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("sweeping saved copies: %w", err)
	}
	swept := false
	for _, entry := range entries {
		name := entry.Name()
		isText := len(name) == 64 && isID(name)
		isTemp := strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
		if kept[name] || (!isText && !isTemp) {
			continue
		}
		info, err := entry.Info()
		if err != nil || (info.ModTime().After(before) && (!all || !isText)) {
			continue
		}
		if err := os.Remove(filepath.Join(d.savedDir(), name)); err != nil {
			return swept, fmt.Errorf("sweeping saved copies: %w", err)
		}
		swept = true
	}
	return swept, nil
}
