package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

const (
	timingPairs  = 1_000
	timingRounds = 5
	timingBound  = 0.10
)

// TestTiming measures whether the time of an answer tells what exists. Requests
// about repos that exist beyond the caller's reach and about such that nobody ever
// wrote take turns, and so does who begins; their medians are compared within the
// same round. A machine that is busy spoils a round, a difference that the server
// makes spoils all: one round within the bound is enough.
func TestTiming(t *testing.T) {
	c := newTown(t, "[[rules]]\nrepos = [\"else/*\"]\nusers = [\"*\"]\nrole = \"reader\"\n", options{})
	admin := c.token("*", api.Admin)
	const repos = 20
	for i := range repos {
		c.put(admin, fmt.Sprintf("other/exists%02d", i), entries{"k": strings.Repeat("text ", 2_000)})
		c.hub.Repo(fmt.Sprintf("other/exists%02d", i), "private")
	}
	bearers := map[string]string{"a person": c.signIn("ada"), "a service token": c.token("own/*", api.Maintainer)}
	doors := map[string]func(repo string) *http.Request{
		"everything": func(repo string) *http.Request {
			return httptest.NewRequest(http.MethodGet, memory(repo), nil)
		},
		"PUT": func(repo string) *http.Request {
			return httptest.NewRequest(http.MethodPut, memory(repo), strings.NewReader(`{"entries":{"k":"v"}}`))
		},
		"search": func(repo string) *http.Request {
			return httptest.NewRequest(http.MethodGet, api.PathSearch+"?q=text&repo="+repo, nil)
		},
		"history": func(repo string) *http.Request {
			return httptest.NewRequest(http.MethodGet, api.PathHistory+"?repo="+repo, nil)
		},
	}
	for who, token := range bearers {
		for door, request := range doors {
			ask := func(repo string) time.Duration {
				r := request(repo)
				r.Header.Set("Authorization", "Bearer "+token)
				rec := httptest.NewRecorder()
				began := time.Now()
				c.server.Handler().ServeHTTP(rec, r)
				took := time.Since(began)
				if rec.Code != http.StatusNotFound {
					t.Fatalf("%s by %s about %s: %d", door, who, repo, rec.Code)
				}
				return took
			}
			best := 1.0
			for range timingRounds {
				ratio := timingRatio(func(i int) (exists, missing time.Duration) {
					a, b := fmt.Sprintf("other/exists%02d", i%repos), fmt.Sprintf("other/absent%02d", i%repos)
					if i%2 == 0 {
						return ask(a), ask(b)
					}
					missing = ask(b)
					return ask(a), missing
				})
				best = min(best, max(ratio-1, 1-ratio))
				if best <= timingBound {
					break
				}
			}
			if best > timingBound {
				t.Errorf("%s by %s: what exists and what does not differ by %.0f %% in the best of %d rounds", door, who, best*100, timingRounds)
			}
			t.Logf("%s by %s: %.1f %%", door, who, best*100)
		}
	}
}

// timingRatio returns the median of what exists in terms of the median of what
// does not.
func timingRatio(pair func(i int) (exists, missing time.Duration)) float64 {
	var exists, missing []time.Duration
	for i := range timingPairs + timingPairs/10 {
		a, b := pair(i)
		if i >= timingPairs/10 { // the first ones warm caches
			exists, missing = append(exists, a), append(missing, b)
		}
	}
	slices.Sort(exists)
	slices.Sort(missing)
	return float64(exists[timingPairs/2]) / float64(missing[timingPairs/2])
}
