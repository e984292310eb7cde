package simtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// wire is the engine's Remote: a network that fails before and after the server
// did its work, and proxies with a mind of their own.
type wire struct{ *machine }

// reply is what one request meets.
type reply struct {
	err    error
	after  bool // the server did its work first
	twice  bool // it gets the request two times
	name   string
	except request // does not happen to these
}

// request is a kind of request.
type request int

const (
	asksHashes request = 1 << iota
	asksPush
	asksPull
)

// replies are the faults of a network, and of a server in a bad mood. One is
// chosen by an operation.
var replies = []reply{
	{name: "reset-before", err: api.ErrOffline},
	{name: "reset-after", err: api.ErrOffline, after: true},
	{name: "reset-after", err: api.ErrOffline, after: true},
	{name: "reset-after", err: api.ErrOffline, after: true},
	{name: "duplicate", twice: true},
	{name: "duplicate", twice: true},
	{name: "401", err: api.ErrSignedOut},
	{name: "401", err: api.ErrSignedOut},
	{name: "403", err: api.ErrForbidden},
	{name: "404", err: api.ErrNotFound},
	{name: "404", err: api.ErrNotFound},
	{name: "409", err: api.ErrConflict},
	{name: "412", err: api.ErrPrecondition, except: asksHashes | asksPull},
	{name: "413", err: api.ErrBodyTooLarge, except: asksHashes | asksPull},
	{name: "422", err: api.ErrRefused, except: asksHashes | asksPull},
	{name: "429", err: api.ErrRateLimited},
	{name: "503", err: api.ErrUnavailable},
	{name: "html", err: api.ErrBadAnswer},
	{name: "html-after", err: api.ErrBadAnswer, after: true},
}

// meets takes the next fault that is armed for a request.
func (r wire) meets(kind request) (reply, bool) {
	w := r.w
	w.stats.Messages++
	if w.settling {
		return reply{}, false
	}
	if w.now.Before(w.down) {
		w.stats.fault(Outage)
		return reply{err: api.ErrOffline}, true
	}
	for i, next := range r.network {
		if next.except&kind != 0 {
			continue
		}
		r.network = slices.Delete(r.network, i, i+1)
		w.stats.reply(next.name)
		return next, true
	}
	return reply{}, false
}

// refusal is the error that a reply stands for.
func (r wire) refusal(met reply) error {
	if errors.Is(met.err, api.ErrOffline) || errors.Is(met.err, api.ErrBadAnswer) {
		return fmt.Errorf("%w: simulated", met.err)
	}
	refusal := api.Errorf(met.err, "simulated")
	if errors.Is(met.err, api.ErrRateLimited) || errors.Is(met.err, api.ErrUnavailable) {
		refusal.RetryAfter = time.Duration(r.w.rand.IntN(4)) * 10 * time.Second
	}
	return refusal
}

// Hashes returns the server's view.
func (r wire) Hashes(_ context.Context, known api.Checksum) (*api.View, error) {
	if err := r.between(); err != nil {
		return nil, err
	}
	met, fails := r.meets(asksHashes)
	if fails && met.err != nil {
		err := r.refusal(met)
		r.referee.refusedView(r.machine, err)
		return nil, err
	}
	if known.IsZero() && r.w.server.version > 0 {
		r.whole++
	}
	view, err := r.w.server.view(known)
	r.referee.viewed(r.machine, view, err)
	return view, err
}

// Push sends one batch.
func (r wire) Push(_ context.Context, batch api.Batch) (api.Pushed, error) {
	if err := r.between(); err != nil {
		return api.Pushed{}, err
	}
	w := r.w
	w.stats.Pushes++
	r.puts++
	conditions := !planted.In(planted.NoPrecondition)
	w.broke(promiseNoSecretSent(batch))
	w.broke(promiseBatchBounded(batch))
	r.referee.sending(r.machine, batch)
	met, fails := r.meets(asksPush)
	if fails && met.err != nil && !met.after {
		if met.name == "422" || met.name == "413" {
			for _, o := range batch.Entries {
				r.verdicts[o.Key] = true
			}
		}
		return api.Pushed{}, r.refusal(met)
	}
	if w.one(30) {
		w.late = append(w.late, late{slices.Clone(batch.Entries), conditions})
	}
	answer, err := r.deliver(batch.Entries, conditions)
	if met.twice {
		answer, err = r.deliver(batch.Entries, conditions)
	}
	if err != nil {
		return api.Pushed{}, err
	}
	if dead := r.between(); dead != nil {
		return api.Pushed{}, dead
	}
	if fails && met.err != nil {
		return api.Pushed{}, r.refusal(met)
	}
	for _, o := range batch.Entries {
		w.acked = append(w.acked, debt{r.id, o.Key, text{o.Content, o.Sum}})
		delete(r.verdicts, o.Key)
	}
	return answer, nil
}

// deliver is the arrival of a batch at the server.
func (r wire) deliver(entries []api.Outgoing, conditions bool) (api.Pushed, error) {
	w := r.w
	before := w.server.changes
	unseen := promiseNothingOverwritten(w.server, entries)
	answer, err := w.server.push(entries, conditions)
	if err == nil {
		w.broke(unseen)
	}
	r.referee.mine += w.server.changes - before
	w.delayed = w.delayed || r.waits && w.server.changes != before
	w.served(before)
	return answer, err
}

// Pull returns contents, each checked as a client checks what arrives.
func (r wire) Pull(_ context.Context, keys []api.Key) (api.Pulled, error) {
	if err := r.between(); err != nil {
		return api.Pulled{}, err
	}
	met, fails := r.meets(asksPull)
	if fails && met.err != nil {
		return api.Pulled{}, r.refusal(met)
	}
	w := r.w
	if keys == nil {
		keys = w.keys
	}
	pulled := api.Pulled{At: w.server.position()}
	r.referee.pulled(pulled.At)
	r.given = w.restores
	for _, key := range keys {
		content, ok := w.server.live[key]
		switch {
		case !ok:
		case w.hostile > 0 && !w.settling:
			w.hostile--
			w.stats.fault(Hostile)
			pulled.Invalid = append(pulled.Invalid, key.String())
		default:
			pulled.Entries = append(pulled.Entries, api.Incoming{Key: key, Content: content.s, Sum: content.sum})
		}
	}
	return pulled, nil
}

// Follow is not asked by a core: notices come from the world.
func (wire) Follow(context.Context, func(api.Position)) error { return api.ErrNotFound }

// served tells everybody who follows the server that it changed, and judges it.
func (w *World) served(before int) {
	if w.server.changes == before {
		return
	}
	for _, m := range w.machines {
		if m.following {
			m.notice = true
		}
	}
	w.broke(promiseKeySetGrows(w.server))
	w.broke(promiseWholeOnServer(w))
}

// Confirm says that the machine keeps nothing of what was redacted.
func (r wire) Confirm(_ context.Context, at api.Position, _ api.Checksum) error {
	if err := r.between(); err != nil {
		return err
	}
	if met, fails := r.meets(asksHashes); fails && met.err != nil {
		return r.refusal(met)
	}
	r.w.stats.Confirmed++
	r.w.broke(promiseConfirmedClean(r.machine, at))
	return nil
}
