package simtest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/teammem/teammemd/api"
)

// server is the model of a companion server for one repo.
type server struct {
	epoch   string
	version uint64
	live    map[api.Key]text
	tombs   map[api.Key]uint64
	history map[api.Key][]text
	lost    map[api.Key]bool // without a tombstone: a fault of its own
	ledger  map[api.Checksum]bool
	changes int // grows with each change
	least   int // how many keys an ordinary sync must leave

	limit  int // bytes of one entry
	most   int // keys
	poison api.Key

	sum    api.Checksum
	sumFor int // changes that sum was made for
}

func newServer() *server {
	return &server{
		epoch: "e1", live: map[api.Key]text{}, tombs: map[api.Key]uint64{}, history: map[api.Key][]text{},
		lost: map[api.Key]bool{}, ledger: map[api.Checksum]bool{}, limit: api.MaxEntryBytes, most: api.MaxEntries, sumFor: -1,
	}
}

func (s *server) changed() {
	s.version++
	s.changes++
}

// checksum is of the contents alone, so that equal states have an equal one.
func (s *server) checksum() api.Checksum {
	if s.sumFor == s.changes {
		return s.sum
	}
	buf := make([]byte, 0, 512)
	for _, key := range slices.SortedFunc(maps.Keys(s.live), api.Key.Compare) {
		sum := s.live[key].sum
		buf = append(append(append(buf, key.String()...), 0), sum[:]...)
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.tombs), api.Key.Compare) {
		buf = fmt.Appendf(buf, "%s\x01%d", key, s.tombs[key])
	}
	for _, sum := range s.redactions() {
		buf = append(buf, sum[:]...)
	}
	s.sum, s.sumFor = api.Sum(buf), s.changes
	return s.sum
}

func (s *server) position() api.Position { return api.Position{Epoch: s.epoch, Version: s.version} }

func (s *server) view(known api.Checksum) (*api.View, error) {
	if s.version == 0 {
		return nil, api.Errorf(api.ErrNotFound, "")
	}
	sum := s.checksum()
	if sum == known {
		return &api.View{NotModified: true, Epoch: s.epoch, Version: s.version}, nil
	}
	view := &api.View{Epoch: s.epoch, Version: s.version, Checksum: sum, Sums: make(map[api.Key]api.Checksum, len(s.live)), Tombs: maps.Clone(s.tombs), Redacted: s.redactions()}
	for key, content := range s.live {
		view.Sums[key] = content.sum
	}
	return view, nil
}

// push applies a batch whole or not at all, by the rules of the protocol.
func (s *server) push(entries []api.Outgoing, conditions bool) (api.Pushed, error) {
	if err := s.refuses(entries); err != nil {
		return api.Pushed{}, err
	}
	conflicts := map[string]string{}
	for _, o := range entries {
		have := s.has(o.Key)
		if conditions && have != o.Expect && have != o.Sum.String() {
			conflicts[o.Key.String()] = have
		}
	}
	if len(conflicts) > 0 {
		return api.Pushed{}, &api.Error{Err: api.ErrPrecondition, Details: api.Details{Conflicts: conflicts}}
	}
	changed := false
	for _, o := range entries {
		if s.live[o.Key].sum == o.Sum {
			continue
		}
		changed = true
		s.put(o.Key, text{o.Content, o.Sum})
	}
	if changed {
		s.changed()
	}
	return api.Pushed{Epoch: s.epoch, Version: s.version, Checksum: s.checksum(), Unchanged: !changed}, nil
}

// put makes a content current, and part of the history.
func (s *server) put(key api.Key, content text) {
	delete(s.tombs, key)
	delete(s.lost, key)
	s.live[key] = content
	s.history[key] = append(s.history[key], content)
	s.least = max(s.least, len(s.live))
}

// has says what a precondition is compared with.
func (s *server) has(key api.Key) string {
	if content, ok := s.live[key]; ok {
		return content.sum.String()
	}
	if tomb, ok := s.tombs[key]; ok {
		return fmt.Sprintf("tombstone:%d", tomb)
	}
	return ""
}

// refuses returns the verdict about a batch that cannot be accepted as it is.
func (s *server) refuses(entries []api.Outgoing) error {
	fresh := 0
	var findings []api.Finding
	verdict := error(nil)
	for _, o := range entries {
		_, known := s.live[o.Key]
		switch {
		case s.ledger[o.Sum]:
			verdict = api.ErrRedacted
			findings = append(findings, api.Finding{Key: o.Key.String(), Rule: "content_redacted"})
		case o.Key == s.poison:
			return api.Errorf(api.ErrBadRequest, "") // names nothing
		case len(o.Content) > s.limit:
			verdict = api.ErrEntryTooLarge
			findings = append(findings, api.Finding{Key: o.Key.String(), Rule: "entry_too_large"})
		case !known && s.hasTwin(o.Key):
			verdict = api.ErrKeyConflict
			findings = append(findings, api.Finding{Key: o.Key.String(), Rule: "key_conflict"})
		case !known:
			fresh++
		}
	}
	if verdict != nil {
		return &api.Error{Err: verdict, Details: api.Details{Findings: findings}}
	}
	if fresh > 0 && len(s.live)+fresh > s.most {
		return &api.Error{Err: api.ErrTooManyEntries, Details: api.Details{MaxEntries: s.most}}
	}
	return nil
}

func (s *server) hasTwin(key api.Key) bool {
	for other := range s.live {
		if other != key && other.Fold() == key.Fold() {
			return true
		}
	}
	return false
}

// had reports whether the server ever acknowledged this content for the key.
func (s *server) had(key api.Key, content text) bool {
	return slices.ContainsFunc(s.history[key], func(t text) bool { return t.sum == content.sum })
}

// forget retires a key, as a maintainer does.
func (s *server) forget(key api.Key) {
	if _, ok := s.live[key]; !ok {
		return
	}
	s.changed()
	delete(s.live, key)
	s.tombs[key] = s.version
	s.least--
}

// revive puts a retired key's last content back.
func (s *server) revive(key api.Key) {
	past := s.history[key]
	if _, ok := s.tombs[key]; !ok || len(past) == 0 || s.hasTwin(key) {
		return
	}
	s.changed()
	s.put(key, past[len(past)-1])
}

// lose is what no server should do.
func (s *server) lose(key api.Key) {
	if _, ok := s.live[key]; !ok {
		return
	}
	s.changed()
	delete(s.live, key)
	s.lost[key] = true
	s.least--
}

func (s *server) clone() *server {
	c := *s
	c.live, c.tombs, c.lost, c.ledger = maps.Clone(s.live), maps.Clone(s.tombs), maps.Clone(s.lost), maps.Clone(s.ledger)
	c.history = make(map[api.Key][]text, len(s.history))
	for key, past := range s.history {
		c.history[key] = slices.Clone(past)
	}
	return &c
}

// restore sets the server back to an older state, in a new epoch.
func (s *server) restore(from *server) {
	old := from.clone()
	epoch, changes, ledger := s.epoch+"'", s.changes, s.ledger
	*s = *old
	s.epoch, s.changes, s.sumFor = epoch, changes+1, -1
	s.least = len(s.live)
	for _, sum := range sorted(ledger) {
		s.takeAway(sum, nil)
	}
}
