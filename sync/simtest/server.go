package simtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/teammem/teammemd/api"
)

// server is the model of a companion server for one repo.
type server struct {
	epoch   string
	version uint64
	live    map[api.Key]string
	tombs   map[api.Key]uint64
	history map[api.Key][]string
	max     int // the largest number of live keys so far, retired ones taken off
}

func newServer() *server {
	return &server{epoch: "e1", live: map[api.Key]string{}, tombs: map[api.Key]uint64{}, history: map[api.Key][]string{}}
}

func (s *server) checksum() api.Checksum {
	var b strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(s.live), api.Key.Compare) {
		fmt.Fprintf(&b, "e%q%q", key, s.live[key])
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.tombs), api.Key.Compare) {
		fmt.Fprintf(&b, "t%q%d", key, s.tombs[key])
	}
	return api.SumString(b.String())
}

func (s *server) view(known api.Checksum) (*api.View, error) {
	if s.version == 0 {
		return nil, api.Errorf(api.ErrNotFound, "")
	}
	sum := s.checksum()
	if sum == known {
		return &api.View{NotModified: true, Epoch: s.epoch, Version: s.version}, nil
	}
	view := &api.View{Epoch: s.epoch, Version: s.version, Checksum: sum, Sums: map[api.Key]api.Checksum{}, Tombs: maps.Clone(s.tombs)}
	for key, content := range s.live {
		view.Sums[key] = api.SumString(content)
	}
	return view, nil
}

// push applies a batch whole or not at all, by the rules of the protocol.
func (s *server) push(batch api.Batch) (api.Pushed, error) {
	conflicts := map[string]string{}
	for _, o := range batch.Entries {
		have := ""
		if content, ok := s.live[o.Key]; ok {
			have = api.SumString(content).String()
		} else if tomb, ok := s.tombs[o.Key]; ok {
			have = fmt.Sprintf("tombstone:%d", tomb)
		}
		if have != o.Expect && have != o.Sum.String() {
			conflicts[o.Key.String()] = have
		}
	}
	if len(conflicts) > 0 {
		return api.Pushed{}, &api.Error{Err: api.ErrPrecondition, Details: api.Details{Conflicts: conflicts}}
	}
	changed := false
	for _, o := range batch.Entries {
		if content, ok := s.live[o.Key]; ok && content == o.Content {
			continue
		}
		changed = true
		s.live[o.Key] = o.Content
		s.history[o.Key] = append(s.history[o.Key], o.Content)
	}
	if changed {
		s.version++
	}
	s.max = max(s.max, len(s.live))
	return api.Pushed{Epoch: s.epoch, Version: s.version, Checksum: s.checksum()}, nil
}

func (s *server) pull(keys []api.Key) api.Pulled {
	if keys == nil {
		keys = slices.SortedFunc(maps.Keys(s.live), api.Key.Compare)
	}
	var pulled api.Pulled
	for _, key := range keys {
		if content, ok := s.live[key]; ok {
			pulled.Entries = append(pulled.Entries, api.Incoming{Key: key, Content: content, Sum: api.SumString(content)})
		}
	}
	return pulled
}

// forget retires a key, as a maintainer does.
func (s *server) forget(key api.Key) {
	if _, ok := s.live[key]; !ok {
		return
	}
	s.version++
	delete(s.live, key)
	s.tombs[key] = s.version
	s.max--
}

// revive puts a retired key's last content back.
func (s *server) revive(key api.Key) {
	if _, ok := s.tombs[key]; !ok {
		return
	}
	s.version++
	delete(s.tombs, key)
	past := s.history[key]
	s.live[key] = past[len(past)-1]
	s.history[key] = append(past, s.live[key])
	s.max = max(s.max, len(s.live))
}

// restoreBackup sets the server back to an older state in a new epoch.
func (s *server) restoreBackup(from *server) {
	s.version, s.live, s.tombs = from.version, maps.Clone(from.live), maps.Clone(from.tombs)
	s.epoch += "'"
	s.max = len(s.live)
}

func (s *server) clone() *server {
	c := *s
	c.live, c.tombs = maps.Clone(s.live), maps.Clone(s.tombs)
	return &c
}

// had reports whether the server ever acknowledged this content for the key.
func (s *server) had(key api.Key, content string) bool {
	return slices.Contains(s.history[key], content)
}
