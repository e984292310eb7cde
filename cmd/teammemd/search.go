package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/server/search"
)

// The most results that a server sends for one request, and how many are shown
// where nothing else is asked for.
const (
	mostFound  = 100
	usualFound = 20
)

func (a *app) searchCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "search QUERY [PATH]",
		Short: "Find memories of the team by their words",
		Long: "Find memories of the team by their words, on the server. All words have to be in a\n" +
			"memory; where none has all, those with some are shown. In a query\n" +
			"  \"blue green\"  finds the words in a row\n" +
			"  deploy*       words that begin so\n" +
			"  -staging      leaves out memories with the word; put '--' before a query that begins so\n" +
			"  key:ops/**    looks in keys that match\n" +
			"Case and accents do not count.",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.search(cmd.Context(), args[0], args[1:], limit)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", usualFound, fmt.Sprintf("how many to show, best first; at most %d", mostFound))
	return cmd
}

func (a *app) search(ctx context.Context, query string, path []string, limit int) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	if limit < 1 || limit > mostFound {
		return fmt.Errorf("%w: --limit is from 1 to %d", api.ErrUsage, mostFound)
	}
	if _, err := search.Parse(query); err != nil {
		return withHint(fmt.Errorf("%w: %s", api.ErrUsage, strings.TrimPrefix(err.Error(), api.ErrBadRequest.Error()+": ")), "see 'teammemd search --help'")
	}
	root, err := m.one(path)
	if err != nil {
		return err
	}
	if err := askableQuery(ctx, query); err != nil {
		return err
	}
	client, err := m.dial(root)
	if err != nil {
		return err
	}
	answer, err := client.Search(ctx, query, limit, 0)
	if err != nil {
		return asNoAccess(offlineSearch(err))
	}
	answer.Results = slices.DeleteFunc(answer.Results, func(r api.SearchResult) bool {
		_, err := api.ParseKey(r.Key)
		return err != nil // no key of ours is called so
	})
	if a.json {
		return a.printFoundJSON(root.Repo, answer)
	}
	return a.printFound(root.Repo, answer)
}

// offlineSearch says what an unreachable server means here.
func offlineSearch(err error) error {
	if errors.Is(err, api.ErrOffline) {
		return withHint(err, "the search is the server's; the files of your team directory can be searched by any other means")
	}
	return err
}

// askableQuery refuses a query that must not be sent.
func askableQuery(ctx context.Context, query string) error {
	if len(query) < shortestSecret {
		return nil
	}
	findings, err := scanner.New(scanner.Options{}).Scan(ctx, query, query)
	if err != nil {
		return fmt.Errorf("looking for secrets in the query: %w", err)
	}
	if slices.ContainsFunc(findings, func(f scanner.Finding) bool { return f.Tier.Holds() }) {
		return withHint(fmt.Errorf("%w: the query has a secret in it, which is not sent", api.ErrUsage), "search for the words around it")
	}
	return nil
}

func (a *app) printFoundJSON(repo api.Repo, answer api.SearchAnswer) error {
	if answer.Results == nil {
		answer.Results = []api.SearchResult{}
	}
	return a.printJSON(struct {
		Schema   int                `json:"schema"`
		Repo     api.Repo           `json:"repo"`
		From     string             `json:"from"` // who searched: "server"
		Version  uint64             `json:"version"`
		Match    string             `json:"match"`
		Total    int                `json:"total"`
		Searched int                `json:"searched"`
		Cut      int                `json:"cut,omitempty"`
		Results  []api.SearchResult `json:"results"`
	}{schema, repo, "server", answer.Version, answer.Match, answer.Total, answer.Searched, answer.Cut, answer.Results})
}

// printFound prints one line for each memory. What was found is bold on a
// terminal, where lines are cut to its width.
func (a *app) printFound(repo api.Repo, answer api.SearchAnswer) error {
	if len(answer.Results) == 0 {
		a.printf("nothing found in the %d memories of %s\n", answer.Searched, repo)
		return nil
	}
	show := shownSnippet{}
	if a.canRedraw(a.out.w) {
		show.columns, _ = sizeOf(a.out.w)
		show.bold = true
	}
	widest := 0
	for _, r := range answer.Results {
		widest = max(widest, len([]rune(whereFound(r))))
	}
	show.columns -= widest + 2
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, r := range answer.Results {
		fmt.Fprintf(table, "%s\t%s\n", whereFound(r), show.text(r))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if answer.Match != string(search.MatchAll) {
		a.sayf("teammemd: no memory has all of it; these have a part\n")
	}
	if n := len(answer.Results); answer.Total > n {
		a.sayf("teammemd: %d of %d; --limit shows more, more words fewer\n", n, answer.Total)
	}
	if answer.Cut > 0 {
		a.sayf("teammemd: of %d long memories only the beginning was searched\n", answer.Cut)
	}
	return nil
}

// whereFound is where a result is, as editors open it.
func whereFound(r api.SearchResult) string {
	if r.Line <= 0 {
		return r.Key
	}
	return fmt.Sprintf("%s:%d", r.Key, r.Line)
}

// Control sequences of ECMA-48 for a text that stands out. They are no colour.
const (
	boldOn  = "\x1b[1m"
	boldOff = "\x1b[22m"
)

// shownSnippet is how snippets are shown.
type shownSnippet struct {
	bold    bool
	columns int // only for a terminal
}

// text is the snippet of a result: without the characters that could move the
// cursor, whatever the server sent.
func (s shownSnippet) text(r api.SearchResult) string {
	var out strings.Builder
	marks := r.Marks
	inside, width, at := false, 0, 0
	for _, c := range r.Snippet {
		for len(marks) > 0 && at >= marks[0][1] {
			marks = marks[1:]
		}
		if is := s.bold && len(marks) > 0 && at >= marks[0][0]; is != inside {
			out.WriteString(map[bool]string{true: boldOn, false: boldOff}[is])
			inside = is
		}
		at++
		if unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			continue
		}
		if width += widthOf(c); s.bold && width > max(s.columns, 20) {
			break
		}
		out.WriteRune(c)
	}
	if inside {
		out.WriteString(boldOff)
	}
	return out.String()
}
