//go:build !windows

package tests

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/tests/chaos"
)

// check holds a history that has settled against the promises of the engine.
func (s *soak) check() {
	s.t.Helper()
	s.quiet()
	full, _ := s.server.get(s.boss, team)
	past := s.pasts(full)
	s.checkAnswered(full, past)
	s.checkTexts(full, past)
	for _, h := range s.hands {
		s.checkWhole(h.name(), treeOf(s.t, h.team))
		h.checkPlaces(past)
		h.checkStatus()
	}
	s.checkRequests()
	for _, h := range s.hands {
		if code := h.daemon.stop(); code != 0 {
			s.t.Errorf("the daemon of %s ended with %d", h.name(), code)
		}
		h.checkStatus()
		h.checkLeftovers()
	}
	if code := s.server.stop(); code != 0 {
		s.t.Errorf("the server ended with %d", code)
	}
	s.checkSecret()
}

// pasts returns every content that the server has had, by key.
func (s *soak) pasts(full api.FullAnswer) map[string]map[api.Checksum]bool {
	past := make(map[string]map[api.Checksum]bool)
	add := func(key string) {
		if past[key] == nil {
			past[key] = s.server.history(s.boss, team, key)
		}
	}
	for key := range full.Content.Entries {
		add(key)
	}
	for key := range full.Content.DeletedEntries {
		add(key)
	}
	return past
}

// checkAnswered sees that every write that was answered 200 is current or in
// history, that its key is still there unless somebody retired it, and that the
// server was never given half a text.
func (s *soak) checkAnswered(full api.FullAnswer, past map[string]map[api.Checksum]bool) {
	s.t.Helper()
	for _, r := range s.proxy.Requests() {
		if r.Method != http.MethodPut || r.Status != http.StatusOK {
			continue
		}
		var sent api.PushRequest
		var got api.PushAnswer
		if err := json.Unmarshal(r.Body, &sent); err != nil {
			s.t.Errorf("a body that the server took cannot be read: %v", err)
		}
		if err := json.Unmarshal(r.Answer, &got); err != nil {
			s.t.Errorf("an answer of the server cannot be read: %v", err)
		}
		for key, text := range sent.Entries {
			if slices.Contains(got.Ignored, key) {
				continue
			}
			s.acked++
			if !past[key][api.SumString(text)] {
				s.t.Errorf("(1) %s (%s) was answered %d and is not in history", key, api.SumString(text).Hex()[:8], r.Status)
			}
			if _, live := full.Content.Entries[key]; !live && !s.retired[key] {
				s.t.Errorf("(6) %s was on the server, nobody retired it, and it is gone", key)
			}
		}
	}
	for key, sums := range past {
		for sum := range sums {
			if !sum.IsZero() && !s.ever[key][sum] {
				s.t.Errorf("the server has had a content of %s that nobody wrote: %s", key, sum.Hex()[:8])
			}
		}
	}
}

// checkTexts looks for the last save of every person for every key.
func (s *soak) checkTexts(full api.FullAnswer, past map[string]map[api.Checksum]bool) {
	s.t.Helper()
	for _, h := range s.hands {
		copies := h.copies()
		for key, text := range h.last {
			sum := api.SumString(text)
			_, somewhere := s.inTeam(key, text)
			if full.Content.Entries[key] != text && !past[key][sum] && !somewhere && !copies[sum] {
				s.t.Errorf("(2) %s saved %s (%s, %d bytes), and it is nowhere", h.name(), key, sum.Hex()[:8], len(text))
			}
		}
	}
}

// inTeam returns who has this text under this key.
func (s *soak) inTeam(key, text string) (who string, found bool) {
	for _, h := range s.hands {
		if got, here := h.read(key); here && got == text {
			return h.name(), true
		}
	}
	return "", false
}

// checkWhole sees that each file is one that somebody wrote.
func (s *soak) checkWhole(whose string, files tree) {
	s.t.Helper()
	for key, text := range files {
		if !s.ever[key][api.SumString(text)] {
			s.t.Errorf("(11) %s has a file %s with %d bytes that nobody wrote", whose, key, len(text))
		}
	}
}

// checkPlaces sees that no file is anywhere but where files belong.
func (h *hand) checkPlaces(past map[string]map[api.Checksum]bool) {
	h.t.Helper()
	for key := range treeOf(h.t, h.team) {
		if past[key] == nil && h.s.ever[key] == nil {
			h.t.Errorf("(5) a stray file in the team directory of %s: %s", h.name(), key)
		}
	}
	allowed := []string{h.team, h.state(), filepath.Join(h.xdg("run"), "teammemd"), filepath.Join(h.xdg("config"), "teammemd")}
	err := filepath.WalkDir(h.home, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(allowed, name):
			return fs.SkipDir
		case !entry.IsDir() && name != filepath.Join(h.home, "token"):
			h.t.Errorf("(5) %s has a file outside of every place that is for files: %s", h.name(), name)
		}
		return nil
	})
	if err != nil {
		h.t.Error(err)
	}
}

// checkLeftovers sees that whatever begins anew clears what was left behind.
func (h *hand) checkLeftovers() {
	h.t.Helper()
	for name := range treeOf(h.t, filepath.Join(h.state(), "roots")) {
		if strings.Contains(name, "/staging/") {
			h.t.Errorf("(11) a leftover of %s: %s", h.name(), name)
		}
	}
}

// checkStatus sees that the command says what is so, with a daemon and without.
func (h *hand) checkStatus() {
	h.t.Helper()
	if r := h.status(); r.State != "in-sync" || r.Pending != 0 {
		h.t.Errorf("(12) status of %s says %s with %d pending when all is in step", h.name(), r.State, r.Pending)
	}
}

// quiet watches for a while in which nothing changes.
func (s *soak) quiet() {
	s.t.Helper()
	before := -1
	for range 20 { // the last notices of the last writes come first
		now := len(s.proxy.Requests())
		if now == before {
			break
		}
		before = now
		time.Sleep(300 * time.Millisecond)
	}
	before = len(s.proxy.Requests())
	was := make(map[string]map[string]string)
	look := func() {
		for _, h := range s.hands {
			now := stamps(s.t, h.team)
			for name, stamp := range stamps(s.t, filepath.Join(h.state(), "roots")) {
				if !strings.Contains(name, "/staging") { // what was displaced lingers there for a moment
					now[name] = stamp
				}
			}
			for name, stamp := range was[h.name()] {
				if now[name] != stamp {
					s.t.Errorf("(8) %s was written while nothing changed", name)
				}
			}
			was[h.name()] = now
		}
	}
	look()
	time.Sleep(1500 * time.Millisecond)
	look()
	for _, r := range s.proxy.Requests()[before:] {
		if r.Method != http.MethodGet || !r.Conditional && r.Path != api.PathEvents {
			s.t.Errorf("(8) %s %s (conditional: %t) while nothing changed", r.Method, r.Path, r.Conditional)
		}
	}
}

// checkRequests sees that no body was larger than it may be.
func (s *soak) checkRequests() {
	s.t.Helper()
	met := make(map[chaos.Fault]int)
	for _, r := range s.proxy.Requests() {
		met[r.Fault]++
		if r.Method != http.MethodPut || len(r.Body) <= api.MaxBatchBytes {
			continue
		}
		var sent api.PushRequest
		if err := json.Unmarshal(r.Body, &sent); err != nil || len(sent.Entries) > 1 {
			s.t.Errorf("(7) a PUT of %d bytes with %d entries", len(r.Body), len(sent.Entries))
		}
	}
	s.t.Logf("%d requests: %v", len(s.proxy.Requests()), met)
}

// checkSecret looks for the planted value everywhere but in the files that it
// was planted in, and among the copies that were saved of them.
func (s *soak) checkSecret() {
	s.t.Helper()
	places := searched{"the wire": s.proxy.Wire(), "what the server printed": s.server.spoken()}
	places.addFiles(s.t, s.server.data, "")
	for _, h := range s.hands {
		places["what the machine of "+h.name()+" printed"] = h.spoken()
		places.addFiles(s.t, h.home, h.team)
	}
	for name := range places {
		if strings.Contains(name, "/saved/") {
			delete(places, name)
		}
	}
	places.mustLack(s.t, []planted{{rule: "stripe-access-token", value: s.secret}})
}
