package seal

import "sync"

// maxHeld bounds the data keys in memory, about a kilobyte each.
const maxHeld = 10_000

// Ring keeps data keys that were unwrapped, at most ten thousand. The zero value
// is empty. It is safe for concurrent use.
type Ring struct {
	mu     sync.Mutex
	held   map[slot]*DataKey // guarded by mu
	newest map[int64]Newest  // guarded by mu
}

type slot struct{ repo, number int64 }

// Newest is the data key that seals what a repo is given.
type Newest struct {
	*DataKey

	Since uint64 // the repo's first version that it sealed for
}

// Get returns a repo's data key, nil where it is not in memory.
func (r *Ring) Get(repo, number int64) *DataKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[slot{repo, number}]
}

// Put takes in a data key.
func (r *Ring) Put(repo int64, key *DataKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = room(r.held)
	r.held[slot{repo, key.number}] = key
}

// Newest returns the key that seals for a repo; its DataKey is nil where it is not
// known.
func (r *Ring) Newest(repo int64) Newest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest[repo]
}

// SetNewest says which key seals for a repo, and takes it in.
func (r *Ring) SetNewest(repo int64, key Newest) {
	r.Put(repo, key.DataKey)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest = room(r.newest)
	r.newest[repo] = key
}

// Doubt forgets which key seals for a repo: another may by now.
func (r *Ring) Doubt(repo int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.newest, repo)
}

// Forget drops everything.
func (r *Ring) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held, r.newest = nil, nil
}

// room makes sure that one more fits: what goes is whatever the map's random order
// gives, so that reading maintains nothing.
func room[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		m = make(map[K]V)
	}
	for k := range m {
		if len(m) < maxHeld {
			break
		}
		delete(m, k)
	}
	return m
}
