package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner"
)

// scanFinding is one finding as `scan --json` prints it.
type scanFinding struct {
	ID     string `json:"id"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Length int    `json:"length"`
	Rule   string `json:"rule"`
	Tier   string `json:"tier"`
	// Allowed is why a person let it pass on this machine, "" for nobody did.
	Allowed string `json:"allowed,omitempty"`
	reason  string
	region  *sarifRegion // nil for a finding in the name
}

// holds reports whether the finding keeps its file here.
func (f scanFinding) holds() bool { return scanner.Tier(f.Tier).Holds() && f.Allowed == "" }

type scanRefusal struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
	detail string
}

type scanResult struct {
	Schema   int           `json:"schema"`
	Files    int           `json:"files"`
	Findings []scanFinding `json:"findings"`
	Refused  []scanRefusal `json:"refused"`
}

// scanning is one call of scan: what was asked for.
type scanning struct {
	stdin, staged, sarif bool
	name                 string
}

func (a *app) scanCommand() *cobra.Command {
	var f scanning
	cmd := &cobra.Command{
		Use:   "scan [PATH...]",
		Short: "Look for secrets, show no value",
		Long: "Look for secrets in files and directories; without a path, in the team directory\n" +
			"of this checkout. Of a directory the memory files (*.md, *.txt) are read. With\n" +
			"--staged, as a hook of git: the memory files that the next commit would change,\n" +
			"as they are staged. Exit code 3 says that something was found that must not\n" +
			"travel, or that something could not be judged.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if wrong := f.wrong(a.json, args); wrong != "" {
				return misused(cmd, errors.New(wrong))
			}
			return a.scan(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.sarif, "sarif", false, "print a SARIF 2.1.0 log: rules and regions, no text")
	flags.BoolVar(&f.stdin, "stdin", false, "scan one text on standard input")
	flags.StringVar(&f.name, "name", "", "with --stdin: the name of the text, scanned as well")
	flags.BoolVar(&f.staged, "staged", false, "scan what is staged for the next commit")
	return cmd
}

// wrong says what does not go together, "" where all does.
func (f scanning) wrong(json bool, args []string) string {
	switch {
	case f.sarif && json:
		return "--sarif and --json exclude each other"
	case f.stdin && (f.staged || len(args) > 0):
		return "--stdin takes no paths, and no --staged"
	case f.name != "" && !f.stdin:
		return "--name belongs to --stdin"
	}
	return ""
}

func (a *app) scan(ctx context.Context, f scanning, args []string) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	texts, err := a.toScan(m, f, args)
	if err != nil {
		return err
	}
	s := scanner.New(scanner.Options{})
	allowed := newAllowances(m.paths.StateDir, slog.New(slog.DiscardHandler))
	scan := textScan{scanner: s, key: findingKey(m.paths.StateDir), allowances: allowed, now: time.Now()}
	result := scanResult{Schema: schema, Findings: []scanFinding{}, Refused: []scanRefusal{}}
	for _, text := range texts {
		if err := scan.add(ctx, &result, text); err != nil {
			return err
		}
	}
	if len(result.Refused) > 0 || slices.ContainsFunc(result.Findings, scanFinding.holds) {
		a.worse(api.ExitHeld)
	}
	switch {
	case f.sarif:
		return a.printJSON(result.sarif(s.RuleSet()))
	case a.json:
		return a.printJSON(result)
	}
	a.printScan(result)
	return nil
}

// toScan returns the texts that are asked for.
func (a *app) toScan(m machine, f scanning, args []string) ([]scanned, error) {
	switch {
	case f.stdin:
		return []scanned{a.stdinText(m, f.name)}, nil
	case f.staged:
		return m.stagedToScan(args)
	case len(args) == 0:
		roots, err := m.pick(nil)
		if err != nil {
			return nil, err
		}
		for _, root := range roots {
			args = append(args, root.Dir)
		}
	}
	return m.filesToScan(args)
}

func (a *app) printScan(result scanResult) {
	for _, f := range result.Findings {
		if f.Allowed != "" {
			a.printf("allowed  %s:%d:%d  %s  %s\n", f.File, f.Line, f.Column, f.Rule, f.Allowed)
			continue
		}
		a.printf("found  %s:%d:%d  %s  %s\n", f.File, f.Line, f.Column, f.Rule, f.reason)
	}
	for _, r := range result.Refused {
		a.printf("refused  %s  %s: %s\n", r.File, r.Reason, r.detail)
	}
	a.printf("%s, %s, %d refused\n", count(result.Files, "file"), count(len(result.Findings), "finding"), len(result.Refused))
}

// textScan is what scanning a text takes.
type textScan struct {
	scanner    *scanner.Scanner
	key        []byte
	allowances *allowances
	now        time.Time
}

// add scans one text. A secret in its name is masked wherever the name is shown,
// also where the text itself cannot be scanned.
func (t textScan) add(ctx context.Context, r *scanResult, one scanned) error {
	r.Files++
	name := one.name
	text, reading := one.read()
	findings, err := t.scanner.Scan(ctx, name, text)
	refusal, refused := errors.AsType[*scanner.Refusal](err)
	if reading != nil {
		refusal, refused = &scanner.Refusal{Reason: scanner.Unreadable, Detail: "the file cannot be read"}, true
	}
	if refused { // its name is shown, and judged alone for that
		name, text = strings.ToValidUTF8(name, "?"), ""
		findings, err = t.scanner.Scan(ctx, name, text)
	}
	if _, unjudged := errors.AsType[*scanner.Refusal](err); unjudged {
		r.Refused = append(r.Refused, scanRefusal{unshowable, refusal.Reason, refusal.Detail})
		return nil
	}
	if err != nil {
		return fmt.Errorf("scanning: %w", err)
	}
	shown := scanner.MaskName(name, findings)
	if shown == "" {
		shown = onStdin
	}
	if refused {
		r.Refused = append(r.Refused, scanRefusal{shown, refusal.Reason, refusal.Detail})
	}
	for _, f := range findings {
		r.Findings = append(r.Findings, scanFinding{
			ID: findingID(t.key, f, name, text), File: shown, Line: f.Line, Column: f.Column, Length: f.Length,
			Rule: f.Rule, Tier: string(f.Tier), Allowed: t.allowed(one, f, text), reason: f.Reason, region: regionOf(f, text),
		})
	}
	return nil
}

// allowed says why a person let a finding pass in the repo of its text, "" where
// nobody did.
func (t textScan) allowed(one scanned, f scanner.Finding, text string) string {
	if f.Tier != scanner.Block3 || len(t.allowances.all()) == 0 {
		return ""
	}
	repo := one.repo()
	mac := allowanceMAC(t.key, repo, f.Rule, valueOf(f, one.name, text))
	for _, w := range t.allowances.of(repo, t.now, generationOf(t.scanner.RuleSet())) {
		if w.MAC == mac {
			return w.Reason
		}
	}
	return ""
}

// unshowable stands for a name that cannot be judged, onStdin for a text without one.
const (
	unshowable = "<a name that cannot be scanned>"
	onStdin    = "<stdin>"
)
