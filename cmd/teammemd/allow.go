package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/scanner"
)

func (a *app) allowCommand() *cobra.Command {
	var f allowing
	cmd := &cobra.Command{
		Use:   "allow FILE:LINE",
		Short: "Let a finding pass that you reviewed",
		Long: "Let a finding of the third tier pass that you reviewed, for one of three reasons:\n" +
			"  false-positive  it is no secret at all\n" +
			"  example         it looks like one on purpose: a sample, a placeholder\n" +
			"  revoked         it was one, and opens nothing any more\n" +
			"It takes a person at a terminal, who types the rule's name. It counts for that\n" +
			"value and rule in this repo, wherever it stands, for 90 days, and on this machine;\n" +
			"teammates get the text with it. The first two tiers pass by the team's policy\n" +
			"alone, which maintainers of the repo change with --team.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.allow(cmd, f, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.rule, "rule", "", "the rule, where several find something in the line")
	flags.StringVar(&f.reason, "reason", "", "false-positive, example or revoked; with --team a few words")
	flags.StringVar(&f.team, "team", "", "let this rule pass for the whole team, whatever its tier")
	flags.StringVar(&f.keys, "key", "", "with --team: only in keys that match, such as docs/*.md or docs/**")
	flags.StringVar(&f.expires, "expires", "", "with --team: for how long, as 30d, 12h or a date; for good without it")
	// The one error is that of a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("reason", cobra.FixedCompletions(api.AllowReasons, cobra.ShellCompDirectiveNoFileComp))
	list := &cobra.Command{
		Use: "list", Short: "List what may pass, here and for the team", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.allowList(cmd.Context()) },
	}
	revoke := &cobra.Command{
		Use: "revoke ID", Short: "Take back what was let pass, here or for the team", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.allowRevoke(cmd.Context(), args[0]) },
	}
	cmd.AddCommand(list, revoke)
	return cmd
}

// allowing is one call of allow: what was asked for, and what is found out.
type allowing struct {
	rule, reason        string
	team, keys, expires string

	root config.Root
	key  string // the name in the team directory
	line int
	text string
}

func (a *app) allow(cmd *cobra.Command, f allowing, args []string) error {
	ctx := cmd.Context()
	switch {
	case f.team != "" && len(args) > 0, f.team == "" && len(args) == 0:
		return misused(cmd, errors.New("allow takes FILE:LINE, or --team RULE"))
	case f.team == "" && (f.keys != "" || f.expires != ""):
		return misused(cmd, errors.New("--key and --expires belong to --team"))
	case f.team != "" && f.rule != "":
		return misused(cmd, errors.New("--rule belongs to FILE:LINE; --team names the rule itself"))
	}
	if !isTerminal(a.in) || !isTerminal(a.err) {
		return withHint(fmt.Errorf("%w: to let a finding pass takes a person at a terminal", api.ErrUsage),
			"run it yourself in a terminal; 'teammemd scrub FILE:LINE' takes the value out instead")
	}
	m, err := a.machine()
	if err != nil {
		return err
	}
	if f.team != "" {
		return a.allowTeam(ctx, m, f)
	}
	name, number, _ := cutLast(args[0], ":")
	if f.line, err = strconv.Atoi(number); err != nil || f.line < 1 || name == "" {
		return withHint(fmt.Errorf("%w: allow takes FILE:LINE", api.ErrUsage), "as 'teammemd scan' and 'teammemd status' print it")
	}
	if f.root, f.key, err = m.nameOf(name); err != nil {
		return err
	}
	file, err := a.locate(name)
	if err != nil {
		return err
	}
	if f.text, err = readRegular(file); err != nil {
		return fmt.Errorf("reading %s: %w", name, cause(err))
	}
	return a.allowFinding(ctx, m, f)
}

// allowFinding records a person's word about what one rule finds in one line.
func (a *app) allowFinding(ctx context.Context, m machine, f allowing) error {
	sc := scanner.New(scanner.Options{})
	all, err := scanText(ctx, sc, f.key, f.text)
	if err != nil {
		return fmt.Errorf("scanning: %w", err)
	}
	place := fmt.Sprintf("%s:%d", scanner.MaskName(f.key, all), f.line)
	found, err := f.choose(all, place)
	if err != nil {
		return err
	}
	if found[0].Tier != scanner.Block3 {
		return a.mustBePolicy(ctx, m, f, found[0], place)
	}
	fmt.Fprintf(a.err, "  repo   %s\n  place  %s\n  rule   %s (%s)\n         %s\n", f.root.Repo, place, found[0].Rule, found[0].Tier, found[0].Reason)
	answers := bufio.NewReader(a.in)
	reason, err := a.askReason(answers, f.reason)
	if err != nil {
		return err
	}
	if err := a.askTyped(answers, found[0].Rule); err != nil {
		return err
	}
	book, now := newAllowances(m.paths.StateDir, slog.New(slog.DiscardHandler)), time.Now().UTC().Truncate(time.Second)
	key := findingKey(m.paths.StateDir)
	var made []control.Allowance
	for _, one := range found {
		mac := allowanceMAC(key, f.root.Repo, one.Rule, valueOf(one, f.key, f.text))
		w := allowance{
			Allowance: control.Allowance{
				ID: mac[:10], Repo: f.root.Repo, Key: scanner.MaskName(f.key, all), Line: f.line, Rule: one.Rule, Tier: string(one.Tier),
				Reason: reason, At: now, ExpiresAt: now.Add(allowedFor),
			},
			MAC: mac, Generation: generationOf(sc.RuleSet()), Person: who(m.actor()),
		}
		if err := book.add(w); err != nil {
			return err
		}
		if !slices.ContainsFunc(made, func(c control.Allowance) bool { return c.ID == w.ID }) {
			made = append(made, w.Allowance)
		}
	}
	if a.json {
		err = a.printJSON(map[string]any{"schema": schema, "allowed": made})
	}
	for _, one := range made {
		if !a.json {
			a.printf("allowed  %s  %s  %s  %s  until %s\n", one.ID, place, one.Rule, one.Reason, one.ExpiresAt.Local().Format(time.DateOnly))
		}
	}
	a.followUp(ctx, m, f.root)
	return err
}

// choose returns what one rule finds in the line and would hold.
func (f allowing) choose(all []scanner.Finding, place string) ([]scanner.Finding, error) {
	byRule := make(map[string][]scanner.Finding)
	var rules []string
	for _, one := range all {
		if one.InName || one.Line != f.line || !one.Tier.Holds() || f.rule != "" && one.Rule != f.rule {
			continue
		}
		if byRule[one.Rule] == nil {
			rules = append(rules, one.Rule)
		}
		byRule[one.Rule] = append(byRule[one.Rule], one)
	}
	switch len(rules) {
	case 0:
		return nil, withHint(fmt.Errorf("%w: nothing is found at %s that would be held", api.ErrUsage, place), "see 'teammemd scan' and 'teammemd status'")
	case 1:
		return byRule[rules[0]], nil
	}
	return nil, withHint(fmt.Errorf("%w: %d rules find something at %s", api.ErrUsage, len(rules), place), "name one: --rule %s", strings.Join(rules, ", --rule "))
}

// mustBePolicy answers for the tiers that no single person lets pass.
func (a *app) mustBePolicy(ctx context.Context, m machine, f allowing, found scanner.Finding, place string) error {
	client, err := m.dial(f.root)
	if err != nil {
		return err
	}
	policy, err := client.ScanPolicy(ctx, false)
	if err == nil && api.Allows(policy.Entries, found.Rule, f.key, time.Now()) {
		a.printf("the scan policy of %s lets %s pass at %s already\n", f.root.Repo, found.Rule, place)
		return nil
	}
	return withHint(fmt.Errorf("%w: %s is of tier %s, which the team's scan policy alone lets pass, and that of %s does not", api.ErrUsage, found.Rule, found.Tier, f.root.Repo),
		"take the value out: teammemd scrub %s; a maintainer can say: teammemd allow --team %s --key %s --reason WHY", place, found.Rule, shellWord(f.key))
}

// errNotAllowed says that a person did not confirm.
var errNotAllowed = fmt.Errorf("%w: nothing was allowed", api.ErrUsage)

// askReason takes the reason of the flag, or asks for one.
func (a *app) askReason(answers *bufio.Reader, reason string) (string, error) {
	if reason == "" {
		fmt.Fprintf(a.err, "Why may it pass? [%s] ", strings.Join(api.AllowReasons, "/"))
		reason = readAnswer(answers)
	}
	if !slices.Contains(api.AllowReasons, reason) {
		return "", withHint(errNotAllowed, "a reason is %s", strings.Join(api.AllowReasons, ", "))
	}
	return reason, nil
}

// askTyped lets a person type the name of the rule: what is typed was read.
func (a *app) askTyped(answers *bufio.Reader, rule string) error {
	fmt.Fprintf(a.err, "Type the rule's name to let it pass: ")
	if readAnswer(answers) != rule {
		return withHint(errNotAllowed, "the answer was not %s", rule)
	}
	return nil
}

// readAnswer reads one line; the end of the input is an empty one.
func readAnswer(answers *bufio.Reader) string {
	line, err := answers.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return strings.TrimSpace(line)
}

// allowanceList is what `allow list --json` prints.
type allowanceList struct {
	Schema  int                             `json:"schema"`
	Allowed control.List[control.Allowance] `json:"allowed"`
	Team    control.List[teamEntry]         `json:"team"`
	// TeamErrors says why the policy of a repo could not be read.
	TeamErrors map[string]string `json:"team_errors,omitempty"`
}

// teamEntry is one entry of a repo's policy.
type teamEntry struct {
	Repo api.Repo `json:"repo"`
	api.PolicyEntry
}

func (a *app) allowList(ctx context.Context) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	out := allowanceList{Schema: schema}
	if out.Allowed, err = m.allowedHere(time.Now()); err != nil {
		return err
	}
	roots, err := m.roots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		entries, err := m.teamPolicy(ctx, root)
		if err != nil {
			if out.TeamErrors == nil {
				out.TeamErrors = make(map[string]string)
			}
			out.TeamErrors[root.Repo.String()] = errorText(err)
		}
		for _, e := range entries {
			out.Team = append(out.Team, teamEntry{root.Repo, e})
		}
	}
	if a.json {
		return a.printJSON(out)
	}
	return a.printAllowed(out)
}

func (a *app) printAllowed(out allowanceList) error {
	for _, one := range out.Allowed {
		a.printf("here  %s  %s  %s:%d  %s  %s  until %s\n", one.ID, one.Repo, one.Key, one.Line, one.Rule, one.Reason, one.ExpiresAt.Local().Format(time.DateOnly))
	}
	for _, e := range out.Team {
		until := "for good"
		if !e.ExpiresAt.IsZero() {
			until = "until " + e.ExpiresAt.Local().Format(time.DateOnly)
		}
		a.printf("team  %s  %s  %s  %s  %s  by %s: %s\n", e.ID, e.Repo, cmp.Or(e.Keys, "all keys"), e.Rule, until, who(e.Actor), e.Reason)
	}
	for repo, why := range out.TeamErrors {
		a.sayf("teammemd: the policy of %s is not known: %s\n", repo, why)
	}
	if len(out.Allowed)+len(out.Team) == 0 {
		a.printf("nothing is allowed\n")
	}
	return a.out.lost()
}

// allowedHere lists the allowances of this machine that count by the clock; those
// of other rules are left out where the rules are known.
func (m machine) allowedHere(now time.Time) ([]control.Allowance, error) {
	book := newAllowances(m.paths.StateDir, slog.New(slog.DiscardHandler))
	list, err := book.read()
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, nil
	}
	generation := generationOf(newRulesName(scanner.New(scanner.Options{}), m.paths.StateDir).get())
	var out []control.Allowance
	for _, one := range list {
		if one.inForce(now, generation) {
			out = append(out, one.Allowance)
		}
	}
	return out, nil
}

func (a *app) allowRevoke(ctx context.Context, id string) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	found, err := newAllowances(m.paths.StateDir, slog.New(slog.DiscardHandler)).revoke(id)
	if err != nil {
		return err
	}
	where := "here"
	if !found {
		if found, err = m.revokeForTeam(ctx, id); err != nil {
			return err
		}
		where = "for the team"
	}
	if !found {
		return withHint(fmt.Errorf("%w: nothing is allowed under the id %s", api.ErrUsage, id), "see 'teammemd allow list'")
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "revoked": id, "where": where})
	}
	a.printf("revoked  %s  %s; what is not on the server yet is held again\n", id, where)
	return nil
}
