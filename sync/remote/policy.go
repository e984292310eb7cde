package remote

import (
	"context"
	"net/http"
	"net/url"

	"github.com/teammem/teammemd/api"
)

// policy is the repo's scan policy as it was learned.
type policy struct {
	revision string // as the header has it
	entries  []api.PolicyEntry
}

// Policy returns the repo's scan policy as the last [Client.Hashes] learned it,
// nil for none. Do not change it.
func (c *Client) Policy() []api.PolicyEntry {
	if known := c.policy.Load(); known != nil {
		return known.entries
	}
	return nil
}

// learnPolicy asks for the policy when its revision is another than that of the
// one that is known. What cannot be had is taken for no policy at all, which is
// stricter, and asked for again with the next view.
func (c *Client) learnPolicy(ctx context.Context, revision string) {
	if known := c.policy.Load(); known != nil && known.revision == revision {
		return
	}
	if revision == "" {
		c.policy.Store(nil)
		return
	}
	answer, err := c.ScanPolicy(ctx, false)
	if err != nil {
		c.policy.Store(nil)
		return
	}
	c.policy.Store(&policy{revision, answer.Entries})
}

// ScanPolicy returns what the repo's maintainers let pass: what counts now, or all
// that ever did.
func (c *Client) ScanPolicy(ctx context.Context, all bool) (api.PolicyAnswer, error) {
	query := url.Values{"repo": {c.repo.String()}}
	if all {
		query.Set("all", "true")
	}
	var answer api.PolicyAnswer
	err := c.ask(ctx, http.MethodGet, api.PathScanPolicy, query, nil, &answer)
	return answer, err
}

// AllowRule lets a rule pass for the whole team. It is for maintainers.
func (c *Client) AllowRule(ctx context.Context, request api.PolicyRequest) (api.PolicyEntry, error) {
	request.Repo = c.repo
	var answer api.PolicyEntry
	err := c.ask(ctx, http.MethodPut, api.PathScanPolicy, nil, request, &answer)
	return answer, err
}

// EndAllow ends an entry of the policy. It is for maintainers.
func (c *Client) EndAllow(ctx context.Context, id string) error {
	query := url.Values{"repo": {c.repo.String()}, "id": {id}}
	return c.ask(ctx, http.MethodDelete, api.PathScanPolicy, query, nil, &api.PolicyAnswer{})
}
