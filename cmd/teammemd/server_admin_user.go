package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

func (a *app) userExportCommand() *cobra.Command {
	var server serverFlags
	var flags whoFlags
	cmd := &cobra.Command{
		Use:   "export [USER]",
		Short: "Print all that a server keeps about a person, as JSON",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.exportUser(cmd.Context(), &server, &flags, args)
		},
	}
	server.register(cmd)
	flags.register(cmd)
	return cmd
}

// actRow is one thing that a person did: a row of a chain, or of history.
type actRow struct {
	Repo    string    `json:"repo,omitempty"` // "" for the server's own chain
	Key     string    `json:"key,omitempty"`
	Version uint64    `json:"version,omitempty"`
	Action  string    `json:"action"`
	At      time.Time `json:"at"`
	Actor   api.Actor `json:"actor"`
}

func (a *app) exportUser(ctx context.Context, server *serverFlags, flags *whoFlags, args []string) error {
	return a.withStore(ctx, server, func(s store.Backend) error {
		person, err := flags.find(ctx, s, args)
		if err != nil {
			return err
		}
		acts, err := actsOf(ctx, s, person)
		if err != nil {
			return err
		}
		devices, err := devicesOf(ctx, s, person)
		if err != nil {
			return err
		}
		out := map[string]any{"schema": schema, "acts": acts, "devices": devices}
		if person.user != nil {
			out["user"] = describeUser(*person.user)
			if _, out["sign_ins"], err = signInsIn(ctx, s, []string{person.user.ID}); err != nil {
				return err
			}
		}
		return a.printJSON(out)
	})
}

// deviceRow is a checkout of a person's.
type deviceRow struct {
	Repo      string    `json:"repo"`
	Actor     api.Actor `json:"actor"`
	First     time.Time `json:"first"`
	Seen      time.Time `json:"seen"`
	Pulled    uint64    `json:"pulled"`
	CleanedAt time.Time `json:"cleaned_at,omitzero"`
}

// devicesOf lists the checkouts of a person.
func devicesOf(ctx context.Context, s store.Backend, person someone) ([]deviceRow, error) {
	rows := []deviceRow{}
	repos, err := s.Repos(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing repos: %w", err)
	}
	for _, repo := range repos {
		devices, err := s.Devices(ctx, repo)
		if err != nil {
			return nil, fmt.Errorf("listing devices: %w", err)
		}
		for _, d := range devices {
			if person.is(d.Actor) {
				rows = append(rows, deviceRow{repo.String(), d.Actor, d.First, d.Seen, d.Pulled, d.CleanedAt})
			}
		}
	}
	return rows, nil
}

// actsOf lists what a person did: in the server's chain, and in every repo. Texts
// belong to the repo and are not repeated.
func actsOf(ctx context.Context, s store.Backend, person someone) ([]actRow, error) {
	acts := []actRow{}
	repos, err := s.Repos(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing repos: %w", err)
	}
	for _, repo := range append([]api.Repo{{}}, repos...) {
		trail, err := s.Trail(ctx, repo, 0, 0)
		if err != nil {
			return nil, fmt.Errorf("reading an audit chain: %w", err)
		}
		for _, row := range trail {
			if person.is(row.Actor) {
				acts = append(acts, actRow{Repo: repo.String(), Version: row.Version, Action: row.Action, At: row.At, Actor: row.Actor})
			}
		}
		if repo.IsZero() {
			continue
		}
		history, err := s.History(ctx, repo, api.Key{}, 0)
		if err != nil {
			return nil, fmt.Errorf("reading a history: %w", err)
		}
		for _, row := range history {
			if person.is(row.Actor) {
				acts = append(acts, actRow{Repo: repo.String(), Key: row.Key.String(), Version: row.Version, Action: string(row.Op), At: row.At, Actor: row.Actor})
			}
		}
	}
	return acts, nil
}

func (a *app) userEraseCommand() *cobra.Command {
	var server serverFlags
	var flags whoFlags
	var yes bool
	cmd := &cobra.Command{
		Use:   "erase [USER]",
		Short: "Forget who a person is; their texts stay, and the audit chains stay whole",
		Long: "Forget who a person is: their account and sign-ins, and their names in every\n" +
			"history and audit chain, which keep a pseudonym. Their texts belong to the repos\n" +
			"and stay. The database is rewritten, so that no file of it has the names. It\n" +
			"cannot be undone; earlier backups still have them. A server that runs does it\n" +
			"itself.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return fmt.Errorf("%w: erasing a person cannot be undone; say --yes", api.ErrUsage)
			}
			return a.eraseUser(cmd.Context(), &server, &flags, args)
		},
	}
	server.register(cmd)
	flags.register(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}

// erasing is a request to erase a person.
type erasing struct {
	User   []string `json:"user"` // an id or login, or nothing
	Person string   `json:"person"`
}

// erased is what it did.
type erased struct{ Actors int }

func (r erasing) run(ctx context.Context, s store.Backend) (done erased, err error) {
	flags := whoFlags{r.Person}
	person, err := flags.find(ctx, s, r.User)
	if err != nil {
		return done, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	if done.Actors, err = s.Erase(ctx, person.is, api.Actor{Token: adminActor}, now); err != nil {
		return done, err
	}
	// The account goes last: until then the same words find it again.
	if person.user != nil {
		if err := s.DropUser(ctx, person.user.ID, now); err != nil {
			return done, fmt.Errorf("dropping the account: %w", err)
		}
	}
	return done, s.Scrub(ctx)
}

func (a *app) eraseUser(ctx context.Context, server *serverFlags, flags *whoFlags, args []string) error {
	request := erasing{args, flags.person}
	done, err := alone(ctx, a, server, "/erase", request, request.run)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "actors": done.Actors})
	}
	a.printf("erased: %d names of actors are gone\n", done.Actors)
	return nil
}
