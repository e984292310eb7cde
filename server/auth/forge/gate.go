package forge

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// A forge that has failed so often in a row, whoever asked, is left alone for
	// a while that doubles.
	failsAllowed = 3
	firstRest    = time.Second
	longRest     = 30 * time.Second
	maxGates     = 10_000
)

// gate knows before which time no request may leave: none at all, or none of one
// person's.
type gate struct {
	now func() time.Time

	mu      sync.Mutex
	all     time.Time
	fails   int // in a row
	byToken map[[32]byte]time.Time
}

func newGate(now func() time.Time) *gate { return &gate{now: now, byToken: map[[32]byte]time.Time{}} }

// pass returns nil where a request may leave now.
func (g *gate) pass(token string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if g.all.After(now) {
		return &UnreachableError{Until: g.all, Why: "it failed a moment ago"}
	}
	if until, ok := g.byToken[sha256.Sum256([]byte(token))]; ok && until.After(now) {
		return &UnreachableError{Until: until, Why: "the person's rate is used up"}
	}
	return nil
}

// closeFor closes the gate for one token and returns until when.
func (g *gate) closeFor(token string, d time.Duration) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if len(g.byToken) >= maxGates {
		for key, until := range g.byToken {
			if !until.After(now) {
				delete(g.byToken, key)
			}
		}
	}
	key := sha256.Sum256([]byte(token))
	until := now.Add(d)
	if g.byToken[key].After(until) {
		return g.byToken[key]
	}
	g.byToken[key] = until
	return until
}

// closeAll closes the gate for everyone.
func (g *gate) closeAll(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := g.now().Add(d); until.After(g.all) {
		g.all = until
	}
}

// fail notes a failure, and returns until when the forge is left alone.
func (g *gate) fail() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fails++
	if g.fails < failsAllowed {
		return g.now().Add(firstRest)
	}
	rest := min(firstRest<<min(g.fails-failsAllowed, 10), longRest)
	if until := g.now().Add(rest); until.After(g.all) {
		g.all = until
	}
	return g.all
}

func (g *gate) succeed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fails = 0
}
