package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner"
)

func (a *app) scrubCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "scrub FILE:LINE",
		Short: "Replace a found secret in place",
		Long: "Replace what the scanner finds in a line by a placeholder that names the rule,\n" +
			"until nothing is found there; a key over many lines goes as a whole. The value is\n" +
			"gone from the file; whether it was shared before is for you to know: if it was,\n" +
			"rotate it.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.scrub(cmd.Context(), args[0]) },
	}
}

func (a *app) scrub(ctx context.Context, place string) error {
	name, number, _ := cutLast(place, ":")
	line, err := strconv.Atoi(number)
	if err != nil || line < 1 || name == "" {
		return withHint(fmt.Errorf("%w: scrub takes FILE:LINE", api.ErrUsage), "as 'teammemd scan' and 'teammemd status' print it")
	}
	file, err := a.locate(name)
	if err != nil {
		return err
	}
	text, err := readRegular(file)
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, cause(err))
	}
	clean, line, rules, left, err := scrubbed(ctx, scanner.New(scanner.Options{}), text, line)
	if err != nil {
		return fmt.Errorf("scanning %s: %w", name, err)
	}
	if len(rules) == 0 {
		return withHint(fmt.Errorf("%w: nothing is found in line %d of %s", api.ErrUsage, line, name), "see 'teammemd scan %s'", name)
	}
	if err := replaceText(file, text, clean); err != nil {
		return fmt.Errorf("scrubbing %s: %w", name, err)
	}
	if len(left) > 0 {
		a.worse(api.ExitHeld)
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "file": file, "line": line, "rules": rules, "left": append([]string{}, left...)})
	}
	a.printf("scrubbed  %s:%d  %s  ->  rotate it if it was ever shared\n", name, line, strings.Join(rules, ", "))
	if len(left) > 0 {
		a.printf("left      %s:%d  %s  ->  take it out by hand\n", name, line, strings.Join(left, ", "))
	}
	return nil
}

// scrubRounds bounds how often a line is scanned again: what stood beside a value
// may be found once the value is gone.
const scrubRounds = 10

// scrubbed takes out what is found in a line, again until nothing is. It returns
// the line at which that began, the rules of what was taken out, and those of what
// is left all the same.
func scrubbed(ctx context.Context, sc *scanner.Scanner, text string, line int) (clean string, first int, rules, left []string, err error) {
	for range scrubRounds {
		findings, err := sc.Scan(ctx, "", text)
		if err != nil {
			return text, line, nil, nil, err
		}
		line = beginsAt(text, line, findings)
		next, found := scrubLine(text, line, findings)
		if len(found) == 0 {
			return text, line, rules, nil, nil
		}
		for _, rule := range found {
			if !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
		text = next
	}
	findings, err := sc.Scan(ctx, "", text)
	if err != nil {
		return text, line, nil, nil, err
	}
	_, left = scrubLine(text, line, findings)
	return text, line, rules, left, nil
}

// beginsAt returns the line at which the finding begins that reaches into a line:
// a key over many lines goes as a whole, whichever of them is named.
func beginsAt(text string, line int, findings []scanner.Finding) int {
	first := line
	for _, f := range findings {
		start, end := f.Span()
		if last := f.Line + strings.Count(text[start:end], "\n"); !f.InName && f.Line < first && last >= line {
			first = f.Line
		}
	}
	return first
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// locate finds a file by its path, or by its key in the team directory of this
// checkout.
func (a *app) locate(name string) (string, error) {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		return name, nil
	}
	m, err := a.machine()
	if err != nil {
		return "", err
	}
	roots, err := m.pick(nil)
	if err != nil {
		return "", err
	}
	if key, err := api.ParseKey(name); err == nil {
		for _, root := range roots {
			file := fileOf(root.Dir, key)
			if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("%w: there is no file %s, here or in the team directory", api.ErrUsage, name)
}

// scrubLine replaces what was found in a line, from its end to its beginning so
// that earlier places stay right. Findings that overlap are replaced as one: of
// none may a piece be left.
func scrubLine(text string, line int, findings []scanner.Finding) (clean string, rules []string) {
	type span struct{ from, to int }
	var spans []span
	var named []string           // the rule of each span
	for _, f := range findings { // sorted by place
		if f.InName || f.Line != line {
			continue
		}
		from, to := f.Span()
		if last := len(spans) - 1; last >= 0 && from < spans[last].to {
			spans[last].to = max(spans[last].to, to)
		} else if from < to {
			spans = append(spans, span{from, to})
			named = append(named, f.Rule)
		}
		if !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	for i, s := range slices.Backward(spans) {
		text = text[:s.from] + "<" + named[i] + " removed>" + text[s.to:]
	}
	return text, rules
}
