package simtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// The invariants of SYNC.md, section 4, each by its number; 9 is a test of its
// own. Each returns nil, or how it is broken.

// promiseAcknowledged is invariant 1: content answered 2xx is current or in
// history.
func promiseAcknowledged(w *World) error {
	for _, d := range w.acked {
		if !w.server.had(d.key, d.text) && !w.server.ledger[d.text.sum] {
			return fmt.Errorf("invariant 1: %q at %q was acknowledged to client %d and is not in the history", d.text.s, d.key, d.client)
		}
	}
	return nil
}

// promiseNothingLost is invariant 2: every text that a person wrote is on the
// server, in a team directory, in that client's saved copies, or was replaced by
// the same person.
func promiseNothingLost(w *World) error {
	for _, d := range w.owed {
		if !w.finds(d) {
			return fmt.Errorf("invariant 2: lost %q, written by client %d at %q", d.text.s, d.client, d.key)
		}
	}
	return nil
}

// finds reports whether a text is where it may be.
func (w *World) finds(d debt) bool { return w.findsBeside(d, nil) }

// findsBeside is finds, without one file.
func (w *World) findsBeside(d debt, without *inode) bool {
	if w.server.ledger[d.text.sum] || w.server.had(d.key, d.text) || w.machines[d.client].state.hasCopy(d.key, d.text) {
		return true
	}
	for _, m := range w.machines {
		// Of what a restored server lost, others may have the last copy.
		if m.shows(d.key, d.text, without) || w.restores > 0 && m.state.hasCopy(d.key, d.text) {
			return true
		}
	}
	m := w.machines[d.client]
	for name, f := range m.disk.shown[staging] {
		if f.text.sum == d.text.sum && m.labels[name].key == d.key && m.returns(name) {
			return true // on its way
		}
	}
	return false
}

// returns reports whether a staged file goes back to the tree, or into a saved
// copy, and not only away: what was staged to be placed, and known bytes that were
// displaced, have their place on the server.
func (m *machine) returns(name string) bool {
	l, f := m.labels[name], m.disk.shown[staging][name]
	if l.kind == 'd' && m.root == present && m.disk.shown[team][l.key.String()] == nil {
		return true
	}
	return l.kind != 'w' && f.text.sum != l.sum && !m.state.knows(l.key, f.text.sum)
}

// shows reports whether a content is in the team directory, wherever that is, in
// another file than the one to leave out. A file in the midst of a save has what
// it had, or half of what it will have, by chance alone.
func (m *machine) shows(key api.Key, content text, without *inode) bool {
	name := key.String()
	for _, f := range []*inode{m.disk.shown[team][name], m.hidden[name]} {
		if f != nil && f != without && f.writers == 0 && f.text.sum == content.sum {
			return true
		}
	}
	return false
}

// promiseConverged is invariant 3: faults off and edits stopped, a client equals
// the server, and what it holds is listed and has a cause.
func promiseConverged(m *machine) error {
	if m.core == nil {
		return fmt.Errorf("invariant 3: %s does not run", m)
	}
	report := m.core.Report()
	if report.Word != teamsync.InSync {
		return fmt.Errorf("invariant 3: %s says %s after everything settled: %+v", m, report.Word, report)
	}
	for _, held := range report.Held {
		if !held.Key.IsZero() && !m.hasCause(held) {
			return fmt.Errorf("invariant 3: %s holds without a cause: %+v", m, held)
		}
	}
	if err := differs(m, report); err != nil {
		return fmt.Errorf("invariant 3: %w", err)
	}
	return nil
}

// differs finds a key that is not equal on both sides and not listed as held.
func differs(m *machine, report teamsync.Report) error {
	held := make(map[api.Key]bool, len(report.Held))
	for _, h := range report.Held {
		held[h.Key] = true
	}
	for _, key := range m.w.keys {
		var mine api.Checksum
		if f := m.disk.shown[team][key.String()]; f != nil {
			mine = f.text.sum
		}
		if theirs := m.w.server.live[key]; mine != theirs.sum && !held[key] {
			return fmt.Errorf("%s and the server differ at %q, %s", m, key, report.Word)
		}
	}
	return nil
}

// hasCause reports whether something is held for the reason that is given.
func (m *machine) hasCause(held teamsync.Held) bool {
	s := m.w.server
	f := m.disk.shown[team][held.Key.String()]
	mine := text{}
	if f != nil {
		mine = f.text
	}
	switch held.Reason {
	case api.HeldSecret:
		return strings.Contains(mine.s, secretMark)
	case api.HeldSecretOnServer:
		return strings.Contains(s.live[held.Key].s, secretMark)
	case api.HeldForgottenOnServer:
		return s.tombs[held.Key] != 0 && f != nil
	case api.HeldRedacted:
		return s.ledger[mine.sum]
	case api.HeldTooLarge:
		return len(mine.s) > tree{m}.maxBytes()
	case api.HeldCaseTwin:
		return m.w.history.Twins
	case api.HeldRefusedByServer:
		// A verdict stays until the text changes, or a person asks again.
		return m.w.history.Twins || held.Key == s.poison || len(mine.s) > s.limit || s.hasTwin(held.Key) || m.w.history.Few || m.verdicts[held.Key]
	}
	return false
}

// promiseNoSecretSent is invariant 4 on the wire.
func promiseNoSecretSent(batch api.Batch) error {
	for _, o := range batch.Entries {
		if strings.Contains(o.Content, secretMark) {
			return fmt.Errorf("invariant 4: a secret was sent at %q", o.Key)
		}
	}
	return nil
}

// promiseNoSecretTold is invariant 4 in what people are told.
func promiseNoSecretTold(report teamsync.Report) error {
	for _, held := range report.Held {
		if strings.Contains(held.Detail+held.Path+held.Rule, secretMark) {
			return fmt.Errorf("invariant 4: the report on %q repeats a secret", held.Path)
		}
	}
	if report.Err != nil && strings.Contains(report.Err.Error(), secretMark) {
		return errors.New("invariant 4: an error repeats a secret")
	}
	return nil
}

// promiseNoStrays is invariant 5: nothing appears in a team directory that
// neither a person nor the server put there, and nothing of ours stays behind.
func promiseNoStrays(m *machine) error {
	for name := range m.disk.shown[team] {
		_, isKey := m.w.keyOf[name]
		_, isBackup := m.w.keyOf[strings.TrimSuffix(name, "~")]
		if !isKey && !isBackup {
			return fmt.Errorf("invariant 5: %s has a stray file %q", m, name)
		}
	}
	if m.w.settling && len(m.disk.shown[staging]) > 0 {
		return fmt.Errorf("invariant 5: %s keeps %v in its staging directory", m, sortedNames(m.disk.shown[staging]))
	}
	return nil
}

// promiseKeySetGrows is invariant 6: nothing an ordinary sync does shrinks the
// server's key set.
func promiseKeySetGrows(s *server) error {
	if len(s.live) < s.least {
		return fmt.Errorf("invariant 6: the server's key set shrank from %d to %d without a retirement", s.least, len(s.live))
	}
	return nil
}

// promiseBatchBounded is invariant 7: a body has at most 200,000 bytes, unless
// it is one larger entry alone.
func promiseBatchBounded(batch api.Batch) error {
	size := 0
	for _, o := range batch.Entries {
		size += len(o.Content)
	}
	if size < api.MaxBatchBytes/2 || len(batch.Entries) == 1 {
		return nil // cannot be too large
	}
	body := api.PushRequest{Entries: map[string]string{}, Expect: map[string]string{}}
	for _, o := range batch.Entries {
		body.Entries[o.Key.String()], body.Expect[o.Key.String()] = o.Content, o.Expect
	}
	encoded, err := json.Marshal(body)
	if err == nil && len(encoded) > api.MaxBatchBytes {
		err = fmt.Errorf("invariant 7: a batch of %d entries has %d bytes", len(batch.Entries), len(encoded))
	}
	return err
}

// quiet is what must not move while nothing happens.
type quiet struct{ puts, whole, written int }

func (m *machine) quiet() quiet { return quiet{m.puts, m.whole, m.disk.written} }

// promiseQuiet is invariant 8: no change, so no PUT, only conditional GETs, and
// no byte written.
func promiseQuiet(m *machine, before quiet) error {
	if after := m.quiet(); after != before {
		return fmt.Errorf("invariant 8: %s was not quiet, it had %+v and has %+v", m, before, after)
	}
	return nil
}

// steadyLimit is how long a version may take under constant writes.
const steadyLimit = 10 * time.Second

// promiseSteady is invariant 10: under constant writes a version goes up at
// least every 10 s.
func promiseSteady(m *machine, gap time.Duration) error {
	if gap > steadyLimit {
		return fmt.Errorf("invariant 10: %s sent nothing for %v of constant writes: %+v", m, gap, m.core.Report())
	}
	return nil
}

// promiseWholeFiles is invariant 11 in the tree: each file is wholly old or
// wholly new. What a disk tore of a person's own save was noted as such.
func promiseWholeFiles(m *machine) error {
	for name, f := range m.disk.shown[team] {
		if _, isKey := m.w.keyOf[name]; isKey && f.writers == 0 && !m.w.isWhole(f.text) {
			return fmt.Errorf("invariant 11: %s has half a file at %q: %q", m, name, f.text.s)
		}
	}
	return nil
}

// promiseWholeOnServer is invariant 11 on the server: only whole versions
// travel.
func promiseWholeOnServer(w *World) error {
	for key, content := range w.server.live {
		if !w.isWhole(content) {
			return fmt.Errorf("invariant 11: the server has half a save at %q: %q", key, content.s)
		}
	}
	return nil
}

// isWhole reports whether a content was settled once.
func (w *World) isWhole(content text) bool {
	return w.whole[content.s] || strings.HasPrefix(content.s, "left by somebody")
}

// promiseInSyncIsTrue is invariant 12: a client says that it is in sync only
// when it is, unless something moved since it looked.
func promiseInSyncIsTrue(m *machine, report teamsync.Report) error {
	if m.edits != m.referee.edits {
		return nil
	}
	return promiseStatusIsTrue(m, report)
}

// promiseStatusIsTrue is the same of what status says, which looks at the
// directory: what moved there is no excuse.
func promiseStatusIsTrue(m *machine, report teamsync.Report) error {
	r := &m.referee
	moved := m.w.server.changes-r.changes != r.mine
	if report.Word != teamsync.InSync || moved || r.misled || m.root != present {
		return nil
	}
	if err := differs(m, report); err != nil {
		return fmt.Errorf("invariant 12: %w", err)
	}
	return nil
}
