package core

import (
	"slices"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// rights are what decide needs to know about the caller.
type rights struct {
	mayRetire bool // retire keys
	mayRevive bool // bring retired keys back
}

// limits are what decide needs to know about the server.
type limits struct {
	maxEntries int
	maxBytes   int
}

// verdict is what decide found.
type verdict struct {
	puts    []store.Put
	retire  []api.Key
	ignored []string // retired keys whose earlier content was sent again
}

// decide judges a proposal against the state inside a transaction. It is pure:
// equal arguments give equal results, and nothing but tx is looked at.
//
// In this order: faults of the request itself are reported together with those
// that the head shows; a request whose result already holds succeeds whatever
// it expected; preconditions; rights; keys and contents that the head rules
// out; the cap on entries. All faults of the first kind that occurs are named.
func decide(tx store.Tx, p *proposal, ifMatch *Match, who rights, lim limits) (verdict, error) {
	head := tx.Head()
	refused := refusal{findings: slices.Clone(p.refused.findings), keys: cloneSet(p.refused.keys)}
	v, revived, err := effects(tx, head, p, &refused)
	if err != nil {
		return verdict{}, err
	}
	if !p.refused.empty() {
		keyConflicts(head, v, &refused)
		return verdict{}, refused.err(lim.maxBytes)
	}
	if refused.empty() && len(v.puts) == 0 && len(v.retire) == 0 {
		return v, nil
	}
	if err := preconditions(head, p, v, refused.keys, ifMatch); err != nil {
		return verdict{}, err
	}
	if len(revived) > 0 && !who.mayRevive {
		return verdict{}, api.Errorf(api.ErrForbidden, "bringing back a retired key is for maintainers of the repo")
	}
	keyConflicts(head, v, &refused)
	if err := refused.err(lim.maxBytes); err != nil {
		return verdict{}, err
	}
	return v, withinCap(head, v, lim.maxEntries)
}

// effects splits the proposal into what would change something, what is left
// out, and what the head refuses whatever else holds.
func effects(tx store.Tx, head *store.Head, p *proposal, refused *refusal) (v verdict, revived []api.Key, err error) {
	for _, put := range p.puts {
		if item, live := head.Item(put.Key); live && item.Sum == put.Sum {
			continue
		}
		if slices.Contains(head.Redacted, put.Sum) {
			refused.addReason(api.ErrRedacted, put.Key.String(), "this content was redacted and is not taken back")
			continue
		}
		if _, retired := head.Tomb(put.Key); retired {
			if _, expects := p.expect[put.Key]; expects {
				revived = append(revived, put.Key) // preconditions judge whether it expects the right thing
			} else {
				had, err := tx.Had(put.Key, put.Sum)
				if err != nil {
					return verdict{}, nil, err
				}
				if had {
					v.ignored = append(v.ignored, put.Key.String())
				} else {
					refused.addReason(api.ErrKeyRetired, put.Key.String(),
						"this key was retired on purpose; a maintainer can restore it")
				}
				continue
			}
		}
		v.puts = append(v.puts, put)
	}
	for _, key := range p.retire {
		// A key that was never seen has nothing to retire.
		if _, live := head.Item(key); live {
			v.retire = append(v.retire, key)
		}
	}
	return v, revived, nil
}

// preconditions returns the 412 that names every key whose expectation fails. A
// key whose result already holds has nothing left to expect.
func preconditions(head *store.Head, p *proposal, v verdict, refused map[string]bool, ifMatch *Match) error {
	if ifMatch != nil && !ifMatch.holds(head.Version, head.Checksum) {
		return api.Errorf(api.ErrPrecondition, "the repo has changed since the checksum in If-Match")
	}
	asked := map[api.Key]bool{} // keys of the request that have no effect
	for _, put := range p.puts {
		asked[put.Key] = true
	}
	for _, key := range p.retire {
		asked[key] = true
	}
	for _, put := range v.puts {
		delete(asked, put.Key)
	}
	for _, key := range v.retire {
		delete(asked, key)
	}
	conflicts := map[string]string{}
	for key, want := range p.expect {
		if asked[key] && !refused[key.String()] {
			continue
		}
		if has := stateOf(head, key); has != want {
			conflicts[key.String()] = has.String()
		}
	}
	if len(conflicts) == 0 {
		return nil
	}
	e := api.Errorf(api.ErrPrecondition, "keys have changed since they were read")
	e.Details.Conflicts = conflicts
	return e
}

// stateOf returns the expectation that key meets now.
func stateOf(head *store.Head, key api.Key) expectation {
	if item, live := head.Item(key); live {
		return expectation{sum: item.Sum}
	}
	if tomb, retired := head.Tomb(key); retired {
		return expectation{tomb: tomb.Version}
	}
	return expectation{}
}

// withinCap refuses a change that adds entries beyond the cap. A repo that is
// above a lowered cap can still be changed and shrunk.
func withinCap(head *store.Head, v verdict, maxEntries int) error {
	before := len(head.Items)
	after := before - len(v.retire)
	for _, put := range v.puts {
		if _, live := head.Item(put.Key); !live {
			after++
		}
	}
	if after <= maxEntries || after <= before {
		return nil
	}
	e := api.Errorf(api.ErrTooManyEntries, "a repo keeps at most %d entries; this would make %d", maxEntries, after)
	e.Details.MaxEntries, e.Details.ReceivedEntries = maxEntries, after
	return e
}

func cloneSet(set map[string]bool) map[string]bool {
	out := make(map[string]bool, len(set))
	for key := range set {
		out[key] = true
	}
	return out
}
