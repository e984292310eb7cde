package accesstest

import (
	"context"
	"sync"

	"github.com/teammem/teammemd/server/auth/access"
	"github.com/teammem/teammemd/server/store"
)

// People is who has signed in, by the user's id.
type People struct {
	mu     sync.Mutex
	byID   map[string]access.Person
	broken error
}

// NewPeople returns a People with nobody.
func NewPeople() *People { return &People{byID: map[string]access.Person{}} }

// Add adds or replaces somebody. token is what their issuer gave, "" for nothing.
func (p *People) Add(user string, who access.Person, token string) {
	if token != "" {
		who.Token = func(context.Context) (string, error) { return token, nil }
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byID[user] = who
}

// Break makes every question fail, until it is called with nil.
func (p *People) Break(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = err
}

// Of is an [access.People].
func (p *People) Of(_ context.Context, user string) (access.Person, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken != nil {
		return access.Person{}, p.broken
	}
	who, ok := p.byID[user]
	if !ok {
		return access.Person{}, store.ErrNoUser
	}
	return who, nil
}
