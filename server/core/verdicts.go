package core

import (
	"sync"

	"github.com/teammem/teammemd/api"
)

// maxVerdicts bounds each of the two generations of remembered verdicts: 65,536
// checksums are about 4 MB.
const maxVerdicts = 1 << 16

// verdicts remembers what one rule set found clean, so that a content that is
// sent again, or restored, is not scanned again. Only clean verdicts are kept:
// findings are rare and must be made anew to be placed.
type verdicts struct {
	mu       sync.Mutex
	rules    string
	now, old map[api.Checksum]struct{}
}

func newVerdicts() *verdicts { return &verdicts{now: map[api.Checksum]struct{}{}} }

func (v *verdicts) clean(rules string, sum api.Checksum) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.rules != rules {
		return false
	}
	if _, ok := v.now[sum]; ok {
		return true
	}
	_, ok := v.old[sum]
	return ok
}

func (v *verdicts) remember(rules string, sum api.Checksum) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.rules != rules {
		v.rules, v.now, v.old = rules, map[api.Checksum]struct{}{}, nil
	}
	if len(v.now) >= maxVerdicts {
		v.now, v.old = map[api.Checksum]struct{}{}, v.now
	}
	v.now[sum] = struct{}{}
}
