package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
)

func (a *app) benchSurviveCommand() *cobra.Command {
	var f benchFlags
	race := race{}
	cmd := &cobra.Command{
		Use:   "survive",
		Short: "Edit the same files on two machines at once, and count what is left of the edits",
		Long: "Edit the same files on two machines at once, and count what is left of the\n" +
			"edits. Two daemons and a server run as processes of their own, in a temporary\n" +
			"directory and on loopback; nothing of yours is touched.\n\n" +
			"lost        edits that are in no team directory and in no saved copy\n" +
			"equal       files that end the same on both machines\n" +
			"extra       files in the team directories that nobody wrote there\n" +
			"copies      saved copies that are listed\n" +
			"restorable  saved copies that came back by 'conflicts restore'\n\n" +
			"The exit code is 1 when anything is lost, unequal, extra or not restorable.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchSurvive(cmd.Context(), f, race) },
	}
	f.register(cmd)
	cmd.Flags().IntVar(&race.rounds, "rounds", 1, "how many races")
	cmd.Flags().IntVar(&race.files, "files", 40, "how many files are edited in each")
	return cmd
}

// race is 'bench survive': what to do, and how long to wait.
type race struct {
	rounds, files int
}

// raceResult adds up the races of one contender.
type raceResult struct {
	Name       string  `json:"name"`
	Rounds     int     `json:"rounds"`
	Files      int     `json:"files"`
	Edits      int     `json:"edits"`
	Lost       int     `json:"lost"`
	Equal      int     `json:"equal"`
	Extra      int     `json:"extra"`
	Copies     int     `json:"copies"`
	Restorable int     `json:"restorable"`
	Within     float64 `json:"within_ms"`  // the widest time from first edit to last
	Settled    float64 `json:"settled_ms"` // the longest time from last edit to rest
}

// asPromised reports whether everything is as it must be of teammemd.
func (r raceResult) asPromised() bool {
	return r.Lost == 0 && r.Equal == r.Files && r.Extra == 0 && r.Copies == r.Edits-r.Files && r.Restorable == r.Copies
}

func (a *app) benchSurvive(ctx context.Context, f benchFlags, race race) error {
	if err := f.check(map[string]int{"rounds": race.rounds, "files": race.files}); err != nil {
		return err
	}
	var results []raceResult
	absent, err := a.benchAll(ctx, f, func(ctx context.Context, c contender) error {
		result, err := race.run(ctx, c)
		results = append(results, result)
		return err
	})
	if err != nil {
		return err
	}
	if !results[0].asPromised() {
		a.worse(api.ExitFailure)
	}
	if a.json {
		return a.printJSON(newBenchAnswer(f, results, absent))
	}
	rows := make([][]string, 0, len(results))
	for _, r := range results {
		of := func(n int) string { return fmt.Sprintf("%d of %d", n, r.Files) }
		copies, restorable := "-", "-"
		if r.Name == results[0].Name {
			copies, restorable = strconv.Itoa(r.Copies), strconv.Itoa(r.Restorable)
		}
		rows = append(rows, []string{
			r.Name, strconv.Itoa(r.Edits), strconv.Itoa(r.Lost), of(r.Equal), strconv.Itoa(r.Extra), copies, restorable,
			fmt.Sprintf("%.1f ms", r.Within), fmt.Sprintf("%.1f s", r.Settled/1000),
		})
	}
	return a.benchTable("program | edits | lost | equal | extra | copies | restorable | written within | settled after", rows)
}
