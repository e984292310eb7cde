package core

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// policyCache keeps the policies that were asked for. What other servers change is
// dropped by [Core.Follow].
type policyCache struct {
	mu    sync.RWMutex
	known map[api.Repo]knownPolicy // guarded by mu
	// changes counts what was dropped, so that a reader does not put an older
	// policy back; guarded by mu.
	changes uint64
}

// knownPolicy is a policy, and its revision ready to be put into a header, nil
// for a repo that never had one.
type knownPolicy struct {
	store.Policy
	header []string
}

func (p *policyCache) get(repo api.Repo) (known knownPolicy, ok bool, changes uint64) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	known, ok = p.known[repo]
	return known, ok, p.changes
}

func (p *policyCache) keep(repo api.Repo, known knownPolicy, changes uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changes != changes {
		return
	}
	if p.known == nil {
		p.known = make(map[api.Repo]knownPolicy)
	}
	p.known[repo] = known
}

func (p *policyCache) drop(repo api.Repo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes++
	delete(p.known, repo)
}

func (p *policyCache) dropAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes++
	clear(p.known)
}

// policy returns a repo's policy.
func (c *Core) policy(ctx context.Context, repo api.Repo) (knownPolicy, error) {
	known, ok, changes := c.policies.get(repo)
	if ok || c.o.Policies == nil {
		return known, nil
	}
	p, err := c.o.Policies.Policy(ctx, repo)
	if err != nil {
		return knownPolicy{}, storeError("reading the scan policy", err)
	}
	known.Policy = p
	if p.Revision > 0 {
		known.header = []string{strconv.FormatUint(p.Revision, 10)}
	}
	c.policies.keep(repo, known, changes)
	return known, nil
}

// PolicyHeader returns the value of [api.HeaderPolicy], a slice of one, or nil
// where there is nothing to say. Do not change it. A policy that cannot be read
// is not told: clients are stricter then.
func (c *Core) PolicyHeader(ctx context.Context, repo api.Repo) []string {
	known, err := c.policy(ctx, repo)
	if err != nil {
		return nil
	}
	return known.header
}

// ScanPolicy returns a repo's scan policy: the entries in force, or all that ever
// were.
func (c *Core) ScanPolicy(ctx context.Context, repo api.Repo, all bool) (api.PolicyAnswer, error) {
	known, err := c.policy(ctx, repo)
	if err != nil {
		return api.PolicyAnswer{}, err
	}
	now := c.o.Now()
	answer := api.PolicyAnswer{Repo: repo, Revision: known.Revision, Entries: []api.PolicyEntry{}}
	for _, e := range known.Entries {
		if all || e.InForce(now) {
			answer.Entries = append(answer.Entries, e)
		}
	}
	return answer, nil
}

// ruleName is what an id of a rule may be.
var ruleName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,99}$`)

// mayRule returns nil for a maintainer.
func mayRule(role api.Role) error {
	switch {
	case role < api.Reader:
		return NotFound()
	case role < api.Maintainer:
		return api.Errorf(api.ErrForbidden, "the scan policy is for maintainers of the repo to change")
	}
	return nil
}

// AllowRule adds an entry to a repo's scan policy, in the place of one about the
// same rule and keys, and returns it.
func (c *Core) AllowRule(ctx context.Context, role api.Role, actor api.Actor, r api.PolicyRequest) (api.PolicyEntry, error) {
	if err := mayRule(role); err != nil {
		return api.PolicyEntry{}, err
	}
	if c.o.Policies == nil {
		return api.PolicyEntry{}, api.Errorf(api.ErrUnavailable, "this server keeps no policies")
	}
	now := c.o.Now().UTC().Truncate(time.Millisecond)
	e := api.PolicyEntry{
		ID: strings.ToLower(rand.Text()[:10]), Rule: r.Rule, Keys: r.Keys, At: now,
		Reason: c.CleanText(ctx, api.CleanText(r.Reason, api.MaxActorBytes)), Actor: c.CleanActor(ctx, actor),
	}
	if !r.ExpiresAt.IsZero() {
		e.ExpiresAt = r.ExpiresAt.UTC().Truncate(time.Millisecond)
	}
	switch err := api.ParseKeyPattern(r.Keys); {
	case !ruleName.MatchString(r.Rule):
		return e, api.Errorf(api.ErrBadRequest, "the member rule is not the id of a rule")
	case err != nil:
		return e, api.Errorf(api.ErrBadRequest, "the member keys is no pattern of keys")
	case c.CleanText(ctx, r.Keys) != r.Keys:
		return e, api.Errorf(api.ErrBadRequest, "the member keys holds what looks like a secret")
	case e.Reason == "":
		return e, api.Errorf(api.ErrBadRequest, "the member reason is missing: say why it may pass")
	case !e.ExpiresAt.IsZero() && !e.ExpiresAt.After(now):
		return e, api.Errorf(api.ErrBadRequest, "the member expires_at is in the past")
	}
	if err := c.o.Policies.AddPolicyEntry(ctx, r.Repo, e); err != nil {
		return e, storeError("storing the scan policy", err)
	}
	c.policyChanged(ctx, r.Repo, "rule allowed", e, actor)
	return e, nil
}

// EndAllow ends an entry of a repo's scan policy.
func (c *Core) EndAllow(ctx context.Context, repo api.Repo, role api.Role, actor api.Actor, id string) error {
	if err := mayRule(role); err != nil {
		return err
	}
	known, err := c.policy(ctx, repo)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(known.Entries, func(e api.PolicyEntry) bool { return e.ID == id && e.EndedAt.IsZero() })
	if i < 0 {
		return api.Errorf(api.ErrNotFound, "the scan policy has no such entry")
	}
	now := c.o.Now().UTC().Truncate(time.Millisecond)
	err = c.o.Policies.EndPolicyEntry(ctx, repo, id, now, c.CleanActor(ctx, actor))
	if errors.Is(err, store.ErrNoEntry) {
		return api.Errorf(api.ErrNotFound, "the scan policy has no such entry")
	}
	if err != nil {
		return fmt.Errorf("%w: changing the scan policy: %w", api.ErrUnavailable, err)
	}
	c.policyChanged(ctx, repo, "rule allowed no more", known.Entries[i], actor)
	return nil
}

// policyChanged makes a change count at once, and logs it.
func (c *Core) policyChanged(ctx context.Context, repo api.Repo, what string, e api.PolicyEntry, actor api.Actor) {
	c.policies.drop(repo)
	c.o.Log.WarnContext(ctx, "scan policy changed", "what", what, "repo", repo.String(), "rule", e.Rule, "keys", e.Keys,
		"entry", e.ID, "token", actor.Token)
}
