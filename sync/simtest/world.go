package simtest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// Options size a history. The zero value of a field means its default.
type Options struct {
	Clients    int // default 3
	Operations int // what people do; default 80
	Keys       int // default 6
	// Restore lets the server be set back to a backup once.
	Restore bool
}

// World is one history.
type World struct {
	opts    Options
	seed    uint64
	rand    *rand.Rand
	now     time.Time
	server  *server
	backup  *server
	clients []*client
	keys    []api.Key
	faults  bool
	trace   hash.Hash
	steps   int
	written int
	restart uint64
	// owed lists the texts that people wrote and did not replace themselves.
	owed []text
}

type text struct {
	client  int
	key     api.Key
	content string
}

// New returns a history that is wholly determined by seed and options.
func New(seed uint64, opts Options) (*World, error) {
	fill := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	fill(&opts.Clients, 3)
	fill(&opts.Operations, 80)
	fill(&opts.Keys, 6)
	w := &World{
		opts: opts, seed: seed, rand: rand.New(rand.NewPCG(seed, 0)), server: newServer(), trace: sha256.New(),
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), faults: true,
	}
	for i := range opts.Keys {
		key, err := api.ParseKey(fmt.Sprintf("notes/k%d.md", i))
		if err != nil {
			return nil, err
		}
		w.keys = append(w.keys, key)
	}
	for i := range opts.Clients {
		c := &client{name: strconv.Itoa(i), tree: map[api.Key]string{}, saved: map[api.Key][]string{}}
		c.start(seed + uint64(i))
		w.clients = append(w.clients, c)
	}
	return w, nil
}

// Trace identifies everything that happened, for comparing two runs.
func (w *World) Trace() string { return hex.EncodeToString(w.trace.Sum(nil)) }

// Run plays the history to its end and returns the first broken promise.
func (w *World) Run() error {
	for done := 0; done < w.opts.Operations; {
		if w.rand.IntN(4) == 0 {
			done++
			if err := w.operate(); err != nil {
				return err
			}
			continue
		}
		if err := w.turn(w.rand.IntN(len(w.clients))); err != nil {
			return err
		}
	}
	return w.settle()
}

// operate is one thing that a person or fate does.
func (w *World) operate() error {
	i, key := w.rand.IntN(len(w.clients)), w.keys[w.rand.IntN(len(w.keys))]
	c := w.clients[i]
	switch draw := w.rand.IntN(100); {
	case draw < 60:
		w.written++
		content := fmt.Sprintf("text %d of %s", w.written, c.name)
		if w.rand.IntN(20) == 0 {
			content += " " + secretMark
		}
		w.write(i, key, content)
	case draw < 65: // back to an older text, as a checkout does
		if past := w.server.history[key]; len(past) > 0 {
			w.write(i, key, past[w.rand.IntN(len(past))])
		}
	case draw < 75:
		w.replaced(i, key)
		delete(c.tree, key)
		w.hint(c)
	case draw < 80:
		w.server.forget(key)
	case draw < 83:
		w.server.revive(key)
	case draw < 90: // killed: everything that was not committed is gone
		w.restart++
		c.start(w.seed + 1000*w.restart)
	case draw < 92 && w.opts.Restore && w.backup == nil && w.server.version > 0:
		w.backup = w.server.clone()
	case draw < 94 && w.backup != nil && w.server.epoch == "e1":
		w.server.restoreBackup(w.backup)
	default:
		w.now = w.now.Add(time.Duration(w.rand.IntN(20_000)) * time.Millisecond)
	}
	fmt.Fprintf(w.trace, "op %d %q\n", i, key)
	return nil
}

// write is a person's save. What stood there before was replaced on purpose.
func (w *World) write(i int, key api.Key, content string) {
	w.replaced(i, key)
	w.clients[i].tree[key] = content
	w.owed = append(w.owed, text{i, key, content})
	w.hint(w.clients[i])
}

// replaced forgets the debt for what a person overwrites with open eyes.
func (w *World) replaced(i int, key api.Key) {
	content, here := w.clients[i].tree[key]
	if !here {
		return
	}
	w.owed = slices.DeleteFunc(w.owed, func(t text) bool { return t.client == i && t.key == key && t.content == content })
}

// hint lets the watcher speak, unless the event is lost.
func (w *World) hint(c *client) {
	if !w.faults || w.rand.IntN(10) > 0 {
		c.step(w.now, teamsync.Hinted{})
	}
}

// turn brings one client on by one small step: an answer is delivered, an
// effect is carried out, or time passes.
func (w *World) turn(i int) error {
	c := w.clients[i]
	w.steps++
	w.now = w.now.Add(time.Duration(w.rand.IntN(50)) * time.Millisecond)
	switch {
	case c.answer != nil:
		answer := c.answer
		c.answer = nil
		fmt.Fprintf(w.trace, "%d %s < %T\n", w.steps, c.name, answer)
		c.step(w.now, answer)
	case c.effect != nil:
		effect := c.effect
		c.effect = nil
		fmt.Fprintf(w.trace, "%d %s > %T %+v\n", w.steps, c.name, effect, summary(effect))
		return w.perform(c, effect)
	default:
		w.idle(c)
	}
	return nil
}

func (w *World) idle(c *client) {
	if w.rand.IntN(3) == 0 {
		c.step(w.now, teamsync.Noticed{At: api.Position{Epoch: w.server.epoch, Version: w.server.version}})
		return
	}
	if at := c.core.Wake(); !at.IsZero() && (at.Before(w.now) || w.rand.IntN(4) == 0) {
		if at.After(w.now) {
			w.now = at
		}
		c.step(w.now, teamsync.Ticked{})
		return
	}
	if errors.Is(c.core.Report().Err, api.ErrServerChanged) {
		how := teamsync.AcceptServer
		if w.rand.IntN(2) == 0 {
			how = teamsync.Reupload
		}
		c.step(w.now, teamsync.Resolved{How: how})
	}
}

// summary is the part of an effect that a trace compares.
func summary(effect teamsync.Effect) string {
	switch f := effect.(type) {
	case teamsync.Send:
		return fmt.Sprintf("%+v", f.Batch)
	case teamsync.Install:
		return fmt.Sprintf("%+v", f)
	case teamsync.Receive:
		return fmt.Sprintf("%+v", f.Keys)
	}
	return ""
}

// perform carries out one effect, with the faults that the world has.
func (w *World) perform(c *client, effect teamsync.Effect) error {
	lost := w.faults && w.rand.IntN(12) == 0   // nothing happens, an error comes back
	unsaid := w.faults && w.rand.IntN(12) == 0 // it happens, an error comes back
	offline := fmt.Errorf("%w: simulated", api.ErrOffline)
	switch f := effect.(type) {
	case teamsync.Scan:
		c.answer = c.scan()
	case teamsync.Look:
		view, err := w.server.view(f.Known)
		if lost {
			view, err = nil, w.refusal()
		}
		c.answer = teamsync.Viewed{View: view, Err: err}
	case teamsync.Inspect:
		c.answer = c.inspect(f)
	case teamsync.Send:
		if lost {
			c.answer = teamsync.Sent{Err: w.refusal()}
			return nil
		}
		answer, err := w.server.push(f.Batch)
		if unsaid {
			answer, err = api.Pushed{}, offline
		}
		c.answer = teamsync.Sent{Answer: answer, Err: err}
		return w.checkServer()
	case teamsync.Receive:
		if lost {
			c.answer = teamsync.Received{Err: offline}
			return nil
		}
		var answer teamsync.Received
		for _, entry := range w.server.pull(f.Keys).Entries {
			answer.Entries = append(answer.Entries, teamsync.Arrival{Incoming: entry})
		}
		c.answer = answer
	case teamsync.Install:
		answer, err := c.install(f)
		if err != nil {
			return err
		}
		c.answer = answer
	case teamsync.Commit:
		if lost {
			c.answer = teamsync.Committed{Err: errors.New("no space left on device")}
			return nil
		}
		c.commit(f.Record)
		c.answer = teamsync.Committed{}
	}
	return nil
}

// refusal draws one of the answers that ask for patience.
func (w *World) refusal() error {
	sentinels := []error{api.ErrOffline, api.ErrUnavailable, api.ErrRateLimited, api.ErrConflict, api.ErrBadAnswer, api.ErrSignedOut}
	return &api.Error{Err: sentinels[w.rand.IntN(len(sentinels))], RetryAfter: time.Duration(w.rand.IntN(3)) * time.Second}
}

func (w *World) checkServer() error {
	if len(w.server.live) < w.server.max {
		return fmt.Errorf("the server's key set shrank from %d to %d without a retirement", w.server.max, len(w.server.live))
	}
	for key, content := range w.server.live {
		if strings.Contains(content, secretMark) {
			return fmt.Errorf("a secret reached the server at %q", key)
		}
	}
	return nil
}

// settle ends faults and edits, lets everybody finish, and checks the promises.
func (w *World) settle() error {
	w.faults = false
	for round := range 60 {
		if round%10 == 0 {
			w.now = w.now.Add(20 * time.Minute) // past every wait
		}
		for i, c := range w.clients {
			if err := w.drain(i); err != nil {
				return err
			}
			if errors.Is(c.core.Report().Err, api.ErrServerChanged) {
				c.step(w.now, teamsync.Resolved{How: teamsync.AcceptServer})
			}
			c.step(w.now, teamsync.Hinted{Full: true})
			c.step(w.now, teamsync.Noticed{At: api.Position{Epoch: w.server.epoch, Version: w.server.version}})
		}
		w.now = w.now.Add(5 * time.Second)
	}
	for i, c := range w.clients {
		if err := w.drain(i); err != nil {
			return err
		}
		if err := w.checkConverged(c); err != nil {
			return err
		}
	}
	return w.checkNothingLost()
}

// drain lets one client finish what it has begun.
func (w *World) drain(i int) error {
	for c := w.clients[i]; c.effect != nil || c.answer != nil; {
		if err := w.turn(i); err != nil {
			return err
		}
	}
	return nil
}

// checkConverged holds a client against the server: everything equal but what
// it says it holds.
func (w *World) checkConverged(c *client) error {
	report := c.core.Report()
	held := map[api.Key]bool{}
	for _, h := range report.Held {
		held[h.Key] = true
	}
	for _, key := range w.keys {
		mine, here := c.tree[key]
		theirs, there := w.server.live[key]
		if held[key] {
			_, retired := w.server.tombs[key]
			if !strings.Contains(mine, secretMark) && !retired {
				return fmt.Errorf("client %s holds %q without a cause: %+v", c.name, key, report)
			}
			continue
		}
		if here != there || mine != theirs {
			return fmt.Errorf("client %s has %q at %q, the server %q; it says %s, error %w", c.name, mine, key, theirs, report.Word, report.Err)
		}
	}
	if report.Word != teamsync.InSync {
		return fmt.Errorf("client %s is %s after everything settled: %+v", c.name, report.Word, report)
	}
	return nil
}

// checkNothingLost follows every text to its end.
func (w *World) checkNothingLost() error {
	for _, t := range w.owed {
		if w.server.had(t.key, t.content) || slices.Contains(w.clients[t.client].saved[t.key], t.content) {
			continue
		}
		inTree := slices.ContainsFunc(w.clients, func(c *client) bool { return c.tree[t.key] == t.content })
		if !inTree {
			return fmt.Errorf("lost: %q, written by client %d at %q", t.content, t.client, t.key)
		}
	}
	return nil
}

// Saved counts the saved copies of all clients.
func (w *World) Saved() int {
	n := 0
	for _, c := range w.clients {
		for _, texts := range maps.All(c.saved) {
			n += len(texts)
		}
	}
	return n
}
