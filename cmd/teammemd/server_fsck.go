package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/server/store"
)

func (a *app) fsckCommand() *cobra.Command {
	var server serverFlags
	cmd := &cobra.Command{
		Use:   "fsck",
		Short: "Read everything that a server keeps and report what contradicts",
		Long: "Read everything that a server keeps, beside one that may be running, and report\n" +
			"what contradicts: the database's own check, contents against their checksums,\n" +
			"states against history, audit chains against their hashes, encrypted contents by opening\n" +
			"each. It counts what is encrypted and what is plain. One problem a line;\n" +
			"the exit code is 1 where there is any. Nothing is changed.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.fsck(cmd.Context(), &server) },
	}
	server.register(cmd)
	return cmd
}

// problemRow is one problem in JSON.
type problemRow struct {
	Repo string `json:"repo"` // "" for the server's own
	Key  string `json:"key,omitempty"`
	What string `json:"what"`
}

func (a *app) fsck(ctx context.Context, flags *serverFlags) error {
	rows := []problemRow{}
	var kept store.Sealing
	err := a.withStore(ctx, flags, func(s store.Backend) (err error) {
		if sealed, ok := s.(store.Sealed); ok {
			if kept, err = sealed.Sealing(ctx); err != nil {
				return err
			}
		}
		return s.Check(ctx, func(p store.Problem) {
			row := problemRow{p.Repo.String(), p.Key.String(), p.What}
			rows = append(rows, row)
			if !a.json {
				a.printf("%s\n", row)
			}
		})
	})
	if err != nil {
		return err
	}
	if a.json {
		if err := a.printJSON(map[string]any{"schema": schema, "sound": len(rows) == 0, "problems": rows, "plain": kept.Plain, "encrypted": kept.Sealed, "data_keys": kept.Keys}); err != nil {
			return err
		}
	}
	if !a.json && kept.Keys > 0 {
		a.printf("contents: %d encrypted, %d plain\n", kept.Sealed, kept.Plain)
	}
	if len(rows) > 0 {
		a.worse(exitOfProblems)
		a.sayf("%d problems; restore a backup, or ask for help with this list\n", len(rows))
		return nil
	}
	if !a.json {
		a.printf("sound\n")
	}
	return nil
}

// exitOfProblems is that of any failure.
const exitOfProblems = 1

// String is the row as a line.
func (r problemRow) String() string {
	where := r.Repo
	if where == "" {
		where = "server"
	}
	if r.Key != "" {
		where += ": " + r.Key
	}
	return fmt.Sprintf("%s: %s", where, r.What)
}
