package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

func (a *app) adminCommand() *cobra.Command {
	return group("admin", "Look after the people of a server",
		group("user", "List, export or erase the people who signed in",
			a.userListCommand(), a.userSignInsCommand(), a.userSignOutCommand(), a.userExportCommand(), a.userEraseCommand()))
}

func (a *app) userListCommand() *cobra.Command {
	var server serverFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List everybody who has signed in, oldest first",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.listUsers(cmd.Context(), &server) },
	}
	server.register(cmd)
	return cmd
}

// userRow is a person who has signed in.
type userRow struct {
	ID        string             `json:"id"`
	Issuer    string             `json:"issuer"`
	Login     string             `json:"login"`
	Name      string             `json:"name,omitempty"`
	Email     string             `json:"email,omitempty"`
	Groups    []string           `json:"groups,omitempty"`
	Member    []store.Membership `json:"member,omitempty"`
	CreatedAt time.Time          `json:"created_at"`
	SeenAt    time.Time          `json:"seen_at"`
}

func describeUser(u store.User) userRow {
	return userRow{u.ID, u.Issuer, u.Login, u.Name, u.Email, u.Groups, u.Member, u.CreatedAt, u.SeenAt}
}

func (a *app) listUsers(ctx context.Context, flags *serverFlags) error {
	rows := []userRow{}
	err := a.withStore(ctx, flags, func(s store.Backend) error {
		all, err := s.Users(ctx)
		for _, u := range all {
			rows = append(rows, describeUser(u))
		}
		return err
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "users": rows})
	}
	if len(rows) == 0 {
		a.sayf("nobody has signed in\n")
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tLOGIN\tNAME\tISSUER\tSINCE\tLAST SIGN-IN")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Login, r.Name, r.Issuer, r.CreatedAt.UTC().Format(time.DateOnly), r.SeenAt.UTC().Format(time.DateOnly))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the list of people: %w", err)
	}
	return nil
}

// someone is a person: one who signed in, or only what clients said of themselves.
type someone struct {
	user   *store.User // nil where there is no account
	person string      // as in [api.Actor], "" for none
}

// is reports whether an actor is this person.
func (w someone) is(a api.Actor) bool {
	return w.user != nil && a.User == w.user.ID || w.person != "" && a.Person == w.person
}

// whoFlags say which person is meant.
type whoFlags struct{ person string }

func (f *whoFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.person, "person", "", "also, or only, who called themselves so when they wrote")
}

var errNobody = errors.New("nobody has this id or login")

// find returns the person that args and flags mean: an id, or a login that one
// person has.
func (f *whoFlags) find(ctx context.Context, s store.Backend, args []string) (someone, error) {
	found := someone{person: f.person}
	if len(args) == 0 {
		if f.person == "" {
			return someone{}, fmt.Errorf("%w: name a person: an id or login, or --person", api.ErrUsage)
		}
		return found, nil
	}
	all, err := s.Users(ctx)
	if err != nil {
		return someone{}, err
	}
	for i := range all {
		switch {
		case all[i].ID == args[0]:
			found.user = &all[i]
			return found, nil
		case all[i].Login != args[0]:
		case found.user != nil:
			return someone{}, withHint(fmt.Errorf("%w: several people have this login", api.ErrUsage), "name one by their id: 'teammemd server admin user list'")
		default:
			found.user = &all[i]
		}
	}
	if found.user == nil {
		return someone{}, withHint(errNobody, "see 'teammemd server admin user list'")
	}
	return found, nil
}
