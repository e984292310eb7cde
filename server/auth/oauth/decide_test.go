package oauth

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/server/store"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestPollIsTheClients(t *testing.T) {
	r := store.Request{Client: "one", User: "ada", ExpiresAt: noon.Add(time.Minute)}
	minted := func(store.Request) store.Issue { return store.Issue{Family: store.Family{ID: "f"}} }
	if c, err := poll(r, "other", noon, minted); !errors.Is(err, errGrant) || c.Request.Done || c.Issue.Family.ID != "" {
		t.Errorf("another client: %+v, %v", c, err)
	}
	if c, err := poll(r, "one", noon, minted); err != nil || !c.Request.Done || c.Issue.Family.ID != "f" {
		t.Errorf("its own: %+v, %v", c, err)
	}
}

func TestArrive(t *testing.T) {
	r := store.Request{Kind: store.UpstreamRequest, Client: "forge", Challenge: "binding", ExpiresAt: noon}
	for name, tt := range map[string]struct {
		trip trip
		now  time.Time
		want error
	}{
		"in time":         {trip{"forge", "binding"}, noon.Add(-time.Millisecond), nil},
		"too late":        {trip{"forge", "binding"}, noon, errOtherBrowser},
		"another issuer":  {trip{"oidc", "binding"}, noon.Add(-time.Minute), errOtherBrowser},
		"another browser": {trip{"forge", "bindinG"}, noon.Add(-time.Minute), errOtherBrowser},
		"no browser":      {trip{"forge", ""}, noon.Add(-time.Minute), errOtherBrowser},
	} {
		c, err := arrive(r, tt.trip, tt.now)
		if !errors.Is(err, tt.want) || !c.Request.Done {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// chain is a family as a store keeps it, in memory.
type chain struct {
	family store.Family
	tokens map[int]store.Refresh // by number
	last   int
	// given is when each generation was first given out, used whether somebody used
	// a token of it.
	given map[uint64]time.Time
	used  map[uint64]bool
}

func (c *chain) add() {
	c.last++
	c.tokens[c.last] = store.Refresh{Generation: c.family.Generation}
}

// present is one use of a refresh token.
func (c *chain) present(number int, now time.Time) error {
	before := c.family.Generation
	issue, err := refresh(c.family, c.tokens[number], "cli", now, func(f store.Family) store.Issue { return store.Issue{Family: f} })
	if issue.Family.ID == "" {
		return err
	}
	c.family = issue.Family
	if c.family.Generation > before {
		c.given[c.family.Generation] = now
		for n, r := range c.tokens {
			if r.SpentAt.IsZero() {
				r.SpentAt = now
				c.tokens[n] = r
			}
		}
	}
	if err == nil {
		c.add()
	}
	return err
}

// TestRefreshProperty lets tokens of a family be presented in any order, and holds
// each answer against what the design says in words.
func TestRefreshProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := noon
		c := &chain{
			family: store.Family{ID: "f", Client: "cli", Generation: 1, RotatedAt: now, ExpiresAt: now.Add(refreshLife)},
			tokens: map[int]store.Refresh{}, given: map[uint64]time.Time{1: now}, used: map[uint64]bool{},
		}
		c.add()
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int64{0, 1, 5, 10, 11, 3600}).Draw(t, "seconds")) * time.Second)
			number := rapid.IntRange(1, c.last).Draw(t, "token")
			r, newest := c.tokens[number], c.family.Generation
			if rapid.Bool().Draw(t, "access token used") {
				c.used[r.Generation] = true
				c.family.Proven = max(c.family.Proven, r.Generation)
				continue
			}
			lost := r.Generation+1 == newest && !c.used[newest]
			raced := r.Generation < newest && now.Sub(c.given[r.Generation+1]) <= leeway
			err := c.present(number, now)
			c.used[r.Generation] = true
			switch {
			case r.Generation == newest || lost || raced:
				if err != nil || !c.family.RevokedAt.IsZero() {
					t.Fatalf("a token of generation %d of %d was refused: %v", r.Generation, newest, err)
				}
			case !errors.Is(err, errReused) || c.family.RevokedAt.IsZero():
				t.Fatalf("a spent token of generation %d of %d passed: %v", r.Generation, newest, err)
			default:
				if err := c.present(c.last, now); !errors.Is(err, errGrant) {
					t.Fatalf("a revoked family gives: %v", err)
				}
				return
			}
			if want := newest; r.Generation == newest && c.family.Generation != want+1 || r.Generation < newest && c.family.Generation != want {
				t.Fatalf("generation %d after a token of %d of %d", c.family.Generation, r.Generation, newest)
			}
		}
	})
}
