package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/internal/control"
)

// allowedFor is how long a person's word about a finding counts.
const allowedFor = 90 * 24 * time.Hour

// allowance is a finding that a person reviewed and let pass on this machine. It
// is bound to the rule, the value and the repo, by a hash under this machine's
// key; never to a line. The value is not in it.
type allowance struct {
	control.Allowance
	MAC string `json:"mac"`
	// Generation is that of the rule set: what other rules find is another thing.
	Generation string `json:"generation"`
	Person     string `json:"person"`
}

// inForce reports whether it counts at a moment and under rules of a generation.
// At the moment of its expiry it counts no more.
func (w allowance) inForce(now time.Time, generation string) bool {
	return now.Before(w.ExpiresAt) && w.Generation == generation
}

// generationOf returns the first part of the name of a rule set.
func generationOf(rules string) string {
	generation, _, _ := strings.Cut(rules, "-")
	return generation
}

// allowanceMAC names a rule and a value in a repo, for this machine alone.
func allowanceMAC(key []byte, repo api.Repo, rule, value string) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte("allow\x00" + repo.String() + "\x00" + rule + "\x00" + value))
	return hex.EncodeToString(mac.Sum(nil))
}

// allowances is the file in which they stand, in the state directory and so in no
// synced one. It is safe for concurrent use.
type allowances struct {
	file string
	log  *slog.Logger

	mu   sync.Mutex
	list []allowance // guarded by mu
	seen fileStamp   // of the file that list is from; guarded by mu
	told fileStamp   // of the damaged file that was told of; guarded by mu
}

// fileStamp tells a file from what was in its place before.
type fileStamp struct {
	modified time.Time
	bytes    int64
}

func newAllowances(stateDir string, log *slog.Logger) *allowances {
	return &allowances{file: filepath.Join(stateDir, "allowances.json"), log: log}
}

// allowancesFile is the form of the file.
type allowancesFile struct {
	Format     int         `json:"format"`
	Allowances []allowance `json:"allowances"`
}

const allowancesFormat = 1

// errDamagedAllowances says that the file is not as it was written.
var errDamagedAllowances = errors.New("the file of allowances is damaged, none of them counts")

func (w *allowances) read() ([]allowance, error) {
	text, err := os.ReadFile(w.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading allowances: %w", err)
	}
	var file allowancesFile
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&file); err != nil || dec.More() || file.Format != allowancesFormat {
		return nil, fmt.Errorf("%w: %s", errDamagedAllowances, w.file)
	}
	for _, one := range file.Allowances {
		if len(one.MAC) != 2*sha256.Size || one.Rule == "" || one.Repo.IsZero() || one.ExpiresAt.IsZero() {
			return nil, fmt.Errorf("%w: %s", errDamagedAllowances, w.file)
		}
	}
	return file.Allowances, nil
}

// all returns what stands in the file, read again when it has changed. A file
// that cannot be used stands for none, and is told of once.
func (w *allowances) all() []allowance {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := stampOf(w.file)
	if now == w.seen {
		return w.list
	}
	list, err := w.read()
	if err != nil && now != w.told {
		w.log.Warn("allowances do not count", "error", oneLine(err.Error()))
		w.told = now
	}
	w.list, w.seen = list, now
	return list
}

func stampOf(file string) fileStamp {
	info, err := os.Stat(file)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{info.ModTime(), info.Size()}
}

// of returns those of a repo that count.
func (w *allowances) of(repo api.Repo, now time.Time, generation string) []allowance {
	var list []allowance
	for _, one := range w.all() {
		if one.Repo == repo && one.inForce(now, generation) {
			list = append(list, one)
		}
	}
	return list
}

// change rewrites the file, durably and readable by its owner alone. Two people
// at one machine who do so at the same instant may lose one of the changes, which
// then is made again: nothing passes that should not.
func (w *allowances) change(edit func([]allowance) []allowance) error {
	list, err := w.read()
	if errors.Is(err, errDamagedAllowances) {
		return withHint(err, "look at it, and move it away")
	}
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(allowancesFile{allowancesFormat, edit(slices.Clone(list))}, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding allowances: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(w.file), 0o700); err != nil {
		return fmt.Errorf("writing allowances: %w", cause(err))
	}
	if err := atomicfile.WriteFile(w.file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing allowances: %w", err)
	}
	return nil
}

// add records an allowance, in the place of one for the same value.
func (w *allowances) add(one allowance) error {
	return w.change(func(list []allowance) []allowance {
		list = slices.DeleteFunc(list, func(other allowance) bool { return other.MAC == one.MAC })
		return append(list, one)
	})
}

// revoke takes an allowance out, and reports whether there was one.
func (w *allowances) revoke(id string) (found bool, err error) {
	err = w.change(func(list []allowance) []allowance {
		kept := slices.DeleteFunc(slices.Clone(list), func(one allowance) bool { return one.ID == id })
		found = len(kept) < len(list)
		return kept
	})
	return found, err
}
