package chaos

import (
	"fmt"
	"math/rand/v2"
)

// Fault is one way in which a request fails.
type Fault uint8

// The faults.
const (
	// None lets a request through untouched.
	None Fault = iota
	// Refuse resets a connection as soon as it is made.
	Refuse
	// ResetBefore resets the connection when the request has come, which the
	// server never sees.
	ResetBefore
	// ResetAfter resets the connection when the server has answered: it has
	// acted, and the client cannot know.
	ResetAfter
	// Delay holds the request back for a while.
	Delay
	// HalfClose sends half of the answer's body, then the end of the stream.
	HalfClose
	// Trickle sends the answer a few bytes at a time.
	Trickle
	// Duplicate sends the request twice; the client gets the second answer.
	Duplicate
	// BadGateway answers 502 with a page for people.
	BadGateway
	// Unavailable answers 503 with Retry-After.
	Unavailable
	// TooMany answers 429 with Retry-After.
	TooMany
	// Portal answers 200 with a page for people.
	Portal
	// NoContent answers 204.
	NoContent
	// Truncated answers with half of the body as if it were all.
	Truncated
	// Silent never answers; the server never sees the request.
	Silent
	// Reject answers 400, as if the content could never be stored. Clients
	// believe it, so it does not pass when the fault does.
	Reject

	faults // how many there are
)

var names = [faults]string{
	"none", "refuse", "reset-before", "reset-after", "delay", "half-close", "trickle", "duplicate", "bad-gateway",
	"unavailable", "too-many", "portal", "no-content", "truncated", "silent", "reject",
}

// String returns the fault's name.
func (f Fault) String() string {
	if f >= faults {
		return fmt.Sprintf("fault(%d)", uint8(f))
	}
	return names[f]
}

// All returns every fault that leaves nothing behind: all but [None] and
// [Reject].
func All() []Fault {
	all := make([]Fault, 0, faults-2)
	for f := None + 1; f < Reject; f++ {
		all = append(all, f)
	}
	return all
}

// Mix says how many of a thousand requests meet each fault; of connections for
// [Refuse]. The others go through.
type Mix map[Fault]int

// draw picks a fault for one request.
func (m Mix) draw(random *rand.Rand) Fault {
	n := random.IntN(1000)
	for f := Refuse + 1; f < faults; f++ { // in a fixed order: a seed decides
		if n -= m[f]; n < 0 {
			return f
		}
	}
	return None
}

// refuses decides about one connection.
func (m Mix) refuses(random *rand.Rand) bool { return random.IntN(1000) < m[Refuse] }

// Even returns a mix in which perMille of a thousand requests meet some fault
// of those given, each as often as the others.
func Even(perMille int, of ...Fault) Mix {
	m := make(Mix, len(of))
	for _, f := range of {
		m[f] = perMille / len(of)
	}
	return m
}
