package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/oauth"
	"github.com/teammem/teammemd/server/store"
)

// adminActor names who acts on the server's machine, in audit rows.
const adminActor = "server admin"

// auditAsAdmin is auditTo for what is done on the server's machine.
func auditAsAdmin(audits store.Audits) func(context.Context, store.Event) error {
	return func(ctx context.Context, e store.Event) error {
		e.Actor.Token = adminActor
		return auditTo(audits)(ctx, e)
	}
}

func (a *app) userSignInsCommand() *cobra.Command {
	var server serverFlags
	cmd := &cobra.Command{
		Use:   "signins [USER]",
		Short: "List the sign-ins of a person, or of everybody",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var list []api.SignIn
			err := a.withStore(cmd.Context(), &server, func(s store.Backend) (err error) {
				_, list, err = signInsIn(cmd.Context(), s, args)
				return err
			})
			if err != nil {
				return err
			}
			return a.printSignIns(list, true)
		},
	}
	server.register(cmd)
	return cmd
}

// signInsIn returns the sign-ins that a store has of a person, and what ends them.
func signInsIn(ctx context.Context, s store.Backend, args []string) (all oauth.SignIns, list []api.SignIn, err error) {
	accounts, ok := s.(store.Accounts)
	if !ok {
		return all, nil, errors.New("this store keeps no people")
	}
	all = oauth.SignIns{Accounts: accounts, Audit: auditTo(s)}
	user := ""
	if len(args) > 0 {
		var who whoFlags
		person, err := who.find(ctx, s, args)
		if err != nil {
			return all, nil, err
		}
		user = person.user.ID
	}
	list, err = all.List(ctx, user)
	return all, list, err
}

func (a *app) userSignOutCommand() *cobra.Command {
	var server serverFlags
	var id string
	cmd := &cobra.Command{
		Use:   "signout USER",
		Short: "End the sign-ins of a person, or one; a running server follows within a second",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.signOutUser(cmd.Context(), &server, args, id)
		},
	}
	server.register(cmd)
	cmd.Flags().StringVar(&id, "id", "", "only the one with this id, or its beginning")
	return cmd
}

func (a *app) signOutUser(ctx context.Context, server *serverFlags, args []string, id string) error {
	ended := []api.SignIn{}
	err := a.withStore(ctx, server, func(s store.Backend) error {
		all, list, err := signInsIn(ctx, s, args)
		if err != nil {
			return err
		}
		for _, one := range list {
			if !strings.HasPrefix(one.ID, id) {
				continue
			}
			if err := all.End(ctx, one, adminActor); err != nil {
				return err
			}
			ended = append(ended, one)
		}
		if id != "" && len(ended) == 0 {
			return withHint(fmt.Errorf("%w: no sign-in of this person has such an id", api.ErrUsage), "see 'teammemd server admin user signins'")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printSignIns(ended, true)
	}
	a.printf("ended %d sign-ins\n", len(ended))
	return nil
}
