package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

// allowTeam lets a rule pass for the whole team. The server asks for a
// maintainer; here it takes a person, as any allowance does.
func (a *app) allowTeam(ctx context.Context, m machine, f allowing) error {
	root, err := m.one(nil)
	if err != nil {
		return err
	}
	if f.reason == "" {
		return withHint(fmt.Errorf("%w: --team takes a reason", api.ErrUsage), "say in a few words why it may pass: --reason WHY")
	}
	if err := api.ParseKeyPattern(f.keys); err != nil {
		return fmt.Errorf("%w: %w", api.ErrUsage, err)
	}
	request := api.PolicyRequest{Rule: f.team, Keys: f.keys, Reason: f.reason}
	until := "for good; --expires sets an end"
	if f.expires != "" {
		if request.ExpiresAt, err = parseExpiry(f.expires, time.Now()); err != nil {
			return err
		}
		until = "until " + request.ExpiresAt.Local().Format(time.DateTime)
	}
	keys := "all"
	if f.keys != "" {
		keys = f.keys
	}
	fmt.Fprintf(a.err, "  repo   %s\n  rule   %s, on every machine and whatever it finds\n  keys   %s\n         %s\n", root.Repo, f.team, keys, until)
	if err := a.askTyped(bufio.NewReader(a.in), f.team); err != nil {
		return err
	}
	client, err := m.dial(root)
	if err != nil {
		return err
	}
	entry, err := client.AllowRule(ctx, request)
	if err != nil {
		return asNoAccess(err)
	}
	if a.json {
		err = a.printJSON(map[string]any{"schema": schema, "repo": root.Repo, "entry": entry})
	} else {
		a.printf("allowed  %s  %s  for the team of %s; every machine knows it with its next sync\n", entry.ID, entry.Rule, root.Repo)
	}
	a.followUp(ctx, m, root)
	return err
}

// teamPolicy asks for what a repo's maintainers let pass.
func (m machine) teamPolicy(ctx context.Context, root config.Root) ([]api.PolicyEntry, error) {
	client, err := m.dial(root)
	if err != nil {
		return nil, err
	}
	answer, err := client.ScanPolicy(ctx, false)
	return answer.Entries, err
}

// revokeForTeam ends an entry of the policy of whichever repo has it.
func (m machine) revokeForTeam(ctx context.Context, id string) (found bool, err error) {
	roots, err := m.roots()
	if err != nil {
		return false, err
	}
	var unknown error // why a policy could not be read
	for _, root := range roots {
		entries, err := m.teamPolicy(ctx, root)
		if err != nil {
			unknown = errors.Join(unknown, err)
			continue
		}
		if !slices.ContainsFunc(entries, func(e api.PolicyEntry) bool { return e.ID == id }) {
			continue
		}
		client, err := m.dial(root)
		if err != nil {
			return false, err
		}
		return true, client.EndAllow(ctx, id)
	}
	return false, unknown
}
