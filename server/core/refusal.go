package core

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/teammem/teammemd/api"
)

// maxEchoBytes bounds a key that is repeated in a refusal. Keys that our clients
// could ever send are shorter and come back whole.
const maxEchoBytes = 4 * api.MaxKeyBytes

// refusal collects everything that is wrong with one PUT.
type refusal struct {
	findings []fault
	keys     map[string]bool // of findings
}

// fault is one finding and the sentinel that it would be refused with alone.
type fault struct {
	err error
	api.Finding
}

// severity orders the sentinels: the first that occurs names the whole refusal.
var severity = []error{
	api.ErrSecretFound, api.ErrRedacted, api.ErrKeyInvalid, api.ErrKeyConflict,
	api.ErrKeyRetired, api.ErrRefused, api.ErrEntryTooLarge,
}

func (r *refusal) add(err error, f api.Finding) {
	if r.keys == nil {
		r.keys = map[string]bool{}
	}
	r.keys[f.Key] = true
	r.findings = append(r.findings, fault{err, f})
}

// addReason adds a finding whose rule is the sentinel's error_code.
func (r *refusal) addReason(err error, key, reason string) {
	r.add(err, api.Finding{Key: key, Rule: api.Row(err).Code, Reason: reason})
}

func (r *refusal) empty() bool { return len(r.findings) == 0 }

// err returns the refusal, nil for none. maxBytes travels when an entry was too
// large.
func (r *refusal) err(maxBytes int) error {
	if r.empty() {
		return nil
	}
	slices.SortStableFunc(r.findings, func(a, b fault) int {
		if by := strings.Compare(a.Key, b.Key); by != 0 {
			return by
		}
		return a.Line - b.Line
	})
	worst := len(severity) - 1
	e := &api.Error{}
	for _, f := range r.findings {
		worst = min(worst, slices.Index(severity, f.err))
		if f.err == api.ErrEntryTooLarge { //nolint:errorlint // our own list, never wrapped
			e.Details.MaxBytes = maxBytes
		}
		f.Key = echo(f.Key)
		e.Details.Findings = append(e.Details.Findings, f.Finding)
	}
	e.Err = severity[worst]
	e.Message = fmt.Sprintf("nothing was stored; %d of the keys sent cannot be", len(r.keys))
	return e
}

func echo(key string) string {
	if len(key) <= maxEchoBytes {
		return key
	}
	n := maxEchoBytes
	for n > 0 && !utf8.RuneStart(key[n]) {
		n--
	}
	return key[:n]
}
