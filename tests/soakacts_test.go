//go:build !windows

package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner/samples"
	"github.com/teammem/teammemd/tests/chaos"
)

// plantedValue is a secret that nobody else has.
func plantedValue(t *testing.T, seed uint64) string {
	t.Helper()
	family, ok := samples.Find("stripe-access-token")
	if !ok {
		t.Fatal("no such family of samples")
	}
	return family.SampleFrom(seed)
}

// acts is how often people and fate do what.
var acts = []struct {
	weight int
	name   string
	do     func(*soak)
}{
	{50, "edit", func(s *soak) { s.hand().edit(s.key()) }},
	{5, "delete", func(s *soak) { s.hand().delete(s.key()) }},
	{3, "retire", func(s *soak) { key := s.key(); s.note("retired %s: %t", key, s.retire(key)) }},
	{2, "revive", (*soak).revive},
	{4, "back", func(s *soak) { s.hand().goBack(s.key()) }},
	{3, "secret", func(s *soak) { s.hand().plant() }},
	{2, "large", func(s *soak) { s.hand().save("large.md", sized(251_000+s.random.IntN(1000)), 0) }},
	{2, "bulk", func(s *soak) { s.hand().bulk() }},
	{2, "empty", func(s *soak) { s.hand().clear(s.key()) }},
	{2, "odd", func(s *soak) { s.hand().save("latin1.md", "caf\xe9\n", 0) }},
	{5, "kill a daemon", func(s *soak) { s.hand().crash() }},
	{4, "stop a daemon", func(s *soak) { s.freeze(s.hand().daemon) }},
	{3, "kill the server", (*soak).crashServer},
	{3, "stop the server", func(s *soak) { s.freeze(s.server.process) }},
	{3, "token", func(s *soak) { s.hand().loseToken() }},
	{8, "faults", (*soak).change},
	{3, "sync", func(s *soak) { s.hand().syncNow() }},
	{2, "second daemon", func(s *soak) { s.hand().twice() }},
}

// operations is how many acts a history has.
const operations = 70

// play lets people and fate act.
func (s *soak) play() {
	s.t.Helper()
	total := 0
	for _, a := range acts {
		total += a.weight
	}
	s.change()
	for range operations {
		n := s.random.IntN(total)
		for _, a := range acts {
			if n -= a.weight; n < 0 {
				a.do(s)
				break
			}
		}
		time.Sleep(time.Duration(s.random.IntN(90)) * time.Millisecond)
	}
}

func (s *soak) hand() *hand { return s.hands[s.random.IntN(len(s.hands))] }

// key is a file that several hands edit, or now and then a new one.
func (s *soak) key() string {
	if s.random.IntN(4) == 0 {
		return fmt.Sprintf("new/%d.md", s.random.IntN(40))
	}
	return []string{"MEMORY.md", "a.md", "b.md", "notes/c.md", "notes/d.md", "deep/er/e.txt"}[s.random.IntN(6)]
}

// wrote remembers a content that a key was given, as a save or on the way to it.
func (h *hand) wrote(key, text string) {
	if h.s.ever[key] == nil {
		h.s.ever[key] = make(map[api.Checksum]bool)
	}
	h.s.ever[key][api.SumString(text)] = true
}

// edit saves a new text of a key in one of the editors' ways.
func (h *hand) edit(key string) {
	h.s.edits++
	style := h.s.random.IntN(5)
	text := fmt.Sprintf("edit %d of %s\n%s", h.s.edits, h.name(), sized(h.s.random.IntN(4000)))
	if old, here := h.read(key); here && style == 4 {
		text = old + text
	}
	h.save(key, text, style)
}

// save puts a text into a file: in place, beside and renamed over, by way of a
// backup, or in two writes.
func (h *hand) save(key, text string, style int) {
	h.t.Helper()
	name := filepath.Join(h.team, filepath.FromSlash(key))
	h.wrote(key, text)
	h.s.note("%s saves %s (%s) in way %d", h.name(), key, api.SumString(text).Hex()[:8], style)
	switch style {
	case 0, 4: // in place
		put(h.t, name, text)
	case 1: // beside, renamed over
		replace(h.t, name, text)
	case 2: // as vim does: the old one becomes the backup, for a moment there is none
		backup := name + "~"
		err := os.Rename(name, backup)
		put(h.t, name, text)
		if err == nil {
			remove(h.t, backup)
		}
	case 3: // emptied, then written in two steps
		half := text[:len(text)/2]
		h.wrote(key, "")
		h.wrote(key, half)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			h.t.Fatal(err)
		}
		// One opening for both: a program that opened the name again would add to
		// whatever is there by then.
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			h.t.Fatal(err)
		}
		_, err = file.WriteString(half)
		time.Sleep(time.Duration(h.s.random.IntN(40)) * time.Millisecond)
		_, more := file.WriteString(text[len(half):])
		if err = errors.Join(err, more, file.Close()); err != nil {
			h.t.Fatal(err)
		}
	}
	h.last[key] = text
	delete(h.empty, key)
	delete(h.secrets, key)
}

func (h *hand) delete(key string) {
	h.s.note("%s deletes %s", h.name(), key)
	_ = os.Remove(filepath.Join(h.team, filepath.FromSlash(key))) // it need not be there
	delete(h.last, key)
	delete(h.empty, key)
}

// goBack saves an older text of a key again, as a checkout does.
func (h *hand) goBack(key string) {
	if text, mine := h.s.hand().last[key]; mine {
		h.save(key, text, 1)
	}
}

// plant writes a clean text and, before or after it was sent, a secret over it.
func (h *hand) plant() {
	key := fmt.Sprintf("keys-of-%s-%d.md", h.name(), h.s.random.IntN(2))
	h.save(key, fmt.Sprintf("no key yet, %d\n", h.s.random.IntN(1000)), h.s.random.IntN(2))
	time.Sleep(time.Duration(h.s.random.IntN(250)) * time.Millisecond)
	h.save(key, "the key is "+h.s.secret+" for now\n", h.s.random.IntN(2))
	h.secrets[key] = true
}

// bulk saves more than fits into one request.
func (h *hand) bulk() {
	for i := range 4 {
		h.save(fmt.Sprintf("bulk/%s-%d.md", h.name(), i), fmt.Sprintf("%d\n%s", h.s.edits, sized(70_000+h.s.random.IntN(1000))), 1)
	}
}

// clear empties a file that has to be filled again before the end.
func (h *hand) clear(key string) {
	if _, here := h.read(key); !here {
		return
	}
	h.s.note("%s empties %s", h.name(), key)
	h.wrote(key, "")
	put(h.t, filepath.Join(h.team, filepath.FromSlash(key)), "")
	h.last[key] = ""
	h.empty[key] = true
}

// crash kills the daemon, lets the hand work on, and starts it again.
func (h *hand) crash() {
	h.s.note("the daemon of %s is killed", h.name())
	h.daemon.kill()
	h.edit(h.s.key())
	h.daemon = h.machine.daemon()
}

// twice starts a second daemon, which must see that it is one.
func (h *hand) twice() {
	if o := h.run("daemon"); o.code != 75 {
		h.t.Errorf("a second daemon of %s ended with %d\n%s", h.name(), o.code, o.stderr)
	}
}

func (h *hand) loseToken() {
	h.s.note("the token of %s is lost", h.name())
	put(h.t, filepath.Join(h.home, "token"), "tm_"+strings.Repeat("A", 43))
	h.edit(h.s.key())
	time.Sleep(time.Duration(h.s.random.IntN(300)) * time.Millisecond)
	put(h.t, filepath.Join(h.home, "token"), h.token)
}

// syncNow runs the command while the daemon runs; how it ends depends on the
// faults.
func (h *hand) syncNow() {
	// A server that says nothing keeps it waiting longer than a history lasts.
	defer time.AfterFunc(time.Second, func() { h.s.proxy.Set(nil) }).Stop()
	o := h.run("sync", "--json")
	h.s.note("sync of %s: %d", h.name(), o.code)
	switch o.code {
	case 0, 1, 3, 4, 75:
	default:
		h.t.Errorf("sync of %s ended with %d\n%s%s", h.name(), o.code, o.stdout, o.stderr)
	}
}

// freeze stops a process for a while.
func (s *soak) freeze(p *process) {
	s.note("%s is stopped for a while", p.cmd.Args[1])
	p.signal(syscall.SIGSTOP)
	s.hand().edit(s.key())
	time.Sleep(time.Duration(s.random.IntN(400)) * time.Millisecond)
	p.signal(syscall.SIGCONT)
}

// crashServer kills the server and starts it on another port.
func (s *soak) crashServer() {
	s.note("the server is killed")
	s.server.kill()
	s.hand().edit(s.key())
	time.Sleep(time.Duration(s.random.IntN(200)) * time.Millisecond)
	s.server.up("127.0.0.1:0", "-v")
	if err := s.proxy.Retarget(s.server.url); err != nil {
		s.t.Fatal(err)
	}
}

// change draws what the network does from now on.
func (s *soak) change() {
	all := chaos.All()
	var mix chaos.Mix
	switch s.random.IntN(5) {
	case 0: // a good moment
	case 1:
		mix = chaos.Mix{all[s.random.IntN(len(all))]: 1000}
	case 2:
		mix = chaos.Even(500, chaos.ResetAfter, chaos.Duplicate, chaos.Truncated)
	default:
		mix = chaos.Even(300, all...)
	}
	s.note("faults: %v", mix)
	s.proxy.Set(mix)
	if s.random.IntN(4) == 0 {
		s.proxy.Cut()
	}
}

// calm ends all that fate does, and what hands have left unfinished.
func (s *soak) calm() {
	s.t.Helper()
	s.proxy.Set(nil)
	for _, h := range s.hands {
		for key := range h.empty {
			h.save(key, "filled again by "+h.name()+"\n", 1)
		}
		h.save("last-of-"+h.name()+".md", "the last word of "+h.name()+"\n", 0)
	}
}

// tryPut sends a maintainer's request past the proxy; false when there is no
// server to take it.
func (s *soak) tryPut(body any) (answer, bool) {
	return s.try(http.MethodPut, s.server.url+api.PathTeamMemory+"?"+url.Values{"repo": {team}}.Encode(), body)
}

func (s *soak) try(method, address string, body any) (answer, bool) {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, address, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.boss)
	req.Header.Set("Content-Type", "application/json")
	resp, err := bare.Do(req)
	if err != nil {
		return answer{}, false
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, got}, err == nil
}

// revive brings a retired key back with the content that it had.
func (s *soak) revive() {
	for _, key := range slices.Sorted(maps.Keys(s.retired)) {
		a, ok := s.try(http.MethodGet, s.server.url+api.PathHistory+"?"+url.Values{"repo": {team}, "key": {key}}.Encode(), nil)
		if !ok || a.status != http.StatusOK {
			return // nothing was ever written
		}
		for _, v := range decode[api.HistoryAnswer](s.t, string(a.body)).Versions {
			if v.Op == "put" {
				repo, _ := api.ParseRepo(team) // it is one
				a, ok := s.try(http.MethodPost, s.server.url+api.PathRestore, api.RestoreRequest{Repo: repo, Key: key, Version: v.Version})
				s.note("revived %s: %t %d", key, ok, a.status)
				return
			}
		}
	}
}
