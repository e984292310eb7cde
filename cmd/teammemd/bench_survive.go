package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/bench"
)

func (a *app) benchSurviveCommand() *cobra.Command {
	var f benchFlags
	var race bench.Race
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
	cmd.Flags().IntVar(&race.Rounds, "rounds", 1, "how many races")
	cmd.Flags().IntVar(&race.Files, "files", 40, "how many files are edited in each")
	return cmd
}

func (a *app) benchSurvive(ctx context.Context, f benchFlags, race bench.Race) error {
	if err := f.check(map[string]int{"rounds": race.Rounds, "files": race.Files}); err != nil {
		return err
	}
	o, err := a.benchOptions(f)
	if err != nil {
		return err
	}
	report, err := bench.Survive(ctx, o, race)
	if err != nil {
		return err
	}
	if !report.Results[0].AsPromised() {
		a.worse(api.ExitFailure)
	}
	if a.json {
		return a.printJSON(benchAnswer[bench.RaceResult]{schema, report})
	}
	rows := make([][]string, 0, len(report.Results))
	for _, r := range report.Results {
		of := func(n int) string { return fmt.Sprintf("%d of %d", n, r.Files) }
		copies, restorable := "-", "-"
		if r.Name == report.Results[0].Name {
			copies, restorable = strconv.Itoa(r.Copies), strconv.Itoa(r.Restorable)
		}
		rows = append(rows, []string{
			r.Name, strconv.Itoa(r.Edits), strconv.Itoa(r.Lost), of(r.Equal), strconv.Itoa(r.Extra), copies, restorable,
			fmt.Sprintf("%.1f ms", r.Within), fmt.Sprintf("%.1f s", r.Settled/1000),
		})
	}
	return a.benchTable("program | edits | lost | equal | extra | copies | restorable | written within | settled after", rows)
}
