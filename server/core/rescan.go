package core

import (
	"context"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// restShare is how long [Core.Rescan] rests for each unit of time that it scans:
// writers find most of a processor free.
const restShare = 3

// Rescan judges the live entries of every repo that was not judged by the present
// rules yet, and marks those that would be refused today. It changes and deletes
// no entry, and takes a quarter of one processor at most. It returns when all is
// done or ctx ends; what it has done by then is kept. The error says that the
// store or the scanner cannot be used. believed is what the caller takes for the
// name of the present rules, "" for nothing: where nothing is to be done, they are
// not loaded.
func (c *Core) Rescan(ctx context.Context, believed string) error {
	if c.o.Rescans == nil {
		return nil
	}
	repos, err := c.due(ctx, believed)
	rules := ""
	if len(repos) > 0 { // only now: naming the rules loads them
		rules = c.o.Rules()
	}
	if err != nil || rules == "" {
		return err
	}
	if rules != believed {
		if repos, err = c.due(ctx, rules); err != nil {
			return err
		}
	}
	c.o.Meter.Rescanning(len(repos))
	began, done, entries, marks := time.Now(), 0, 0, 0
	for _, repo := range repos {
		scanned, found, err := c.rescanRepo(ctx, repo, rules)
		if err != nil {
			return err
		}
		done, entries, marks = done+1, entries+scanned, marks+found
		c.o.Meter.Rescanning(len(repos) - done)
		c.o.Meter.Rescanned(scanned, found)
	}
	if done > 0 {
		c.o.Log.InfoContext(ctx, "live entries scanned by other rules than before", "rules", rules, "repos", done,
			"entries", entries, "marked", marks, "duration_ms", time.Since(began).Milliseconds())
	}
	return nil
}

// due lists the repos whose live entries were not judged by rules.
func (c *Core) due(ctx context.Context, rules string) (due []api.Repo, err error) {
	repos, err := c.o.Rescans.Repos(ctx)
	if err != nil {
		return nil, storeError("listing repos", err)
	}
	for _, repo := range repos {
		last, err := c.o.Rescans.Rescan(ctx, repo)
		if err != nil {
			return nil, storeError("reading marks", err)
		}
		if last.Rules != rules {
			due = append(due, repo)
		}
	}
	return due, nil
}

// rescanRepo judges the live entries of one repo, and records the outcome.
func (c *Core) rescanRepo(ctx context.Context, repo api.Repo, rules string) (entries, marked int, err error) {
	head, err := c.o.Store.Head(ctx, repo)
	if err != nil {
		return 0, 0, storeError("reading the head", err)
	}
	policy, err := c.policy(ctx, repo)
	if err != nil {
		return 0, 0, err
	}
	outcome := store.Rescan{Rules: rules, At: c.o.Now().UTC().Truncate(time.Millisecond), Marks: []api.Mark{}}
	for rest := head.Items; len(rest) > 0; {
		var chunk []store.Item
		chunk, rest = cutChunk(rest)
		sums := make([]api.Checksum, len(chunk))
		for i := range chunk {
			sums[i] = chunk[i].Sum
		}
		bodies, err := c.o.Store.Bodies(ctx, repo, sums)
		if err != nil {
			return 0, 0, storeError("reading contents", err)
		}
		for _, item := range chunk {
			body, ok := bodies[item.Sum]
			if !ok {
				continue // redacted meanwhile
			}
			found, err := c.rescanItem(ctx, rules, item, body, policy.Entries)
			if err != nil {
				return 0, 0, err
			}
			if len(found) > 0 {
				marked++
			}
			outcome.Marks = append(outcome.Marks, found...)
		}
	}
	if err := c.o.Rescans.RecordRescan(ctx, repo, outcome); err != nil {
		return 0, 0, storeError("recording marks", err)
	}
	return len(head.Items), marked, nil
}

// rescanItem judges one entry as a write of it would be judged, and rests.
func (c *Core) rescanItem(ctx context.Context, rules string, item store.Item, body string, policy []api.PolicyEntry) ([]api.Mark, error) {
	began := time.Now()
	faults, _, err := c.judge(ctx, rules, item.Key.String(), body, item.Sum)
	if err != nil {
		return nil, err
	}
	allowed := currentAllowed(item.Allowed, func() string { return generationOf(rules) })
	var marks []api.Mark
	for _, f := range faults {
		if c.lets(f, item.Key.String(), policy, allowed) == "" {
			marks = append(marks, api.Mark{
				Key: f.Key, Version: item.Version, Line: f.Line, Column: f.Column, Rule: f.Rule, Tier: f.Tier, Reason: f.Reason,
			})
		}
	}
	return marks, rest(ctx, restShare*time.Since(began))
}

func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Marks returns the live entries of a repo in which scanning again found what
// would be refused today, for maintainers. What was written anew since is left
// out.
func (c *Core) Marks(ctx context.Context, repo api.Repo, role api.Role) (api.MarksAnswer, error) {
	if role < api.Reader {
		return api.MarksAnswer{}, NotFound()
	}
	if role < api.Maintainer {
		return api.MarksAnswer{}, api.Errorf(api.ErrForbidden, "what was found is for maintainers of the repo to see")
	}
	answer := api.MarksAnswer{Repo: repo, Current: c.o.Rules(), Marks: []api.Mark{}}
	if c.o.Rescans == nil {
		return answer, nil
	}
	head, err := c.o.Store.Head(ctx, repo)
	if err != nil {
		return api.MarksAnswer{}, storeError("reading the head", err)
	}
	outcome, err := c.o.Rescans.Rescan(ctx, repo)
	if err != nil {
		return api.MarksAnswer{}, storeError("reading marks", err)
	}
	policy, err := c.policy(ctx, repo)
	if err != nil {
		return api.MarksAnswer{}, err
	}
	answer.Rules = outcome.Rules
	now := c.o.Now()
	for _, mark := range outcome.Marks {
		if stands(head, mark) && !api.Allows(policy.Entries, mark.Rule, mark.Key, now) {
			answer.Marks = append(answer.Marks, mark)
		}
	}
	return answer, nil
}

// stands reports whether what a mark is about is still there. The key of a mark
// is masked where the finding is in it: such a one stands while anything of its
// version does.
func stands(head *store.Head, mark api.Mark) bool {
	if key, err := api.ParseKey(mark.Key); err == nil {
		if item, live := head.Item(key); live {
			return item.Version == mark.Version
		}
	}
	if mark.Line != 0 {
		return false
	}
	for i := range head.Items {
		if head.Items[i].Version == mark.Version {
			return true
		}
	}
	return false
}
