package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/signin"
	"github.com/teammem/teammemd/sync/remote"
)

func (a *app) signInsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "signins [URL]",
		Short: "List your sign-ins to a server, on all machines",
		Long: "List your sign-ins to a server, on all machines: which machine, since when, when\n" +
			"it was last used (true to an hour) and from where. 'signins end' ends them. Without\n" +
			"a URL the server is found as by login.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.listSignIns(cmd.Context(), args) },
	}
	cmd.AddCommand(a.endSignInsCommand())
	return cmd
}

// signedInAt is a server at which somebody is signed in.
type signedInAt struct {
	server string
	keeper *signin.Keeper
	client *remote.Client
}

// Token is an [oauth2.TokenSource] of the sign-in alone: no service token has
// sign-ins.
func (s *signedInAt) Token() (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(context.Background(), tokenTime)
	defer cancel()
	token, err := s.keeper.Token(ctx, s.server)
	if err != nil {
		return nil, err
	}
	return &oauth2.Token{AccessToken: token, TokenType: "Bearer"}, nil
}

func (s *signedInAt) renew(ctx context.Context, refused string) error {
	return s.keeper.Renew(ctx, s.server, refused)
}

func (a *app) signedInTo(args []string) (*signedInAt, error) {
	m, err := a.machine()
	if err != nil {
		return nil, err
	}
	s := &signedInAt{keeper: m.keeper}
	if s.server, err = m.server(args); err != nil {
		return nil, err
	}
	s.client, err = remote.New(remote.Options{URL: s.server, Token: s, Renew: s.renew, UserAgent: "teammemd/" + versionText()})
	return s, err
}

// list returns the sign-ins, oldest first.
func (s *signedInAt) list(ctx context.Context) ([]api.SignIn, error) {
	list, err := s.client.SignIns(ctx)
	if errors.Is(err, api.ErrNotFound) {
		return nil, fmt.Errorf("%w: this server does not list sign-ins", api.ErrUsage)
	}
	return list, err
}

func (a *app) listSignIns(ctx context.Context, args []string) error {
	s, err := a.signedInTo(args)
	if err != nil {
		return err
	}
	list, err := s.list(ctx)
	if err != nil {
		return err
	}
	return a.printSignIns(list, false)
}

// printSignIns prints sign-ins, with whose they are where people says so.
func (a *app) printSignIns(list []api.SignIn, people bool) error {
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "sign_ins": append([]api.SignIn{}, list...)})
	}
	if len(list) == 0 {
		a.sayf("there are no sign-ins\n")
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	head := "ID\tDEVICE\tSINCE\tLAST USED\tFROM\tENDS UNUSED"
	if people {
		head = "PERSON\t" + head
	}
	fmt.Fprintln(w, head)
	at := func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
	for _, s := range list {
		device := api.CleanText(s.Device, api.MaxActorBytes)
		if s.Current {
			device += " (this one)"
		}
		if people {
			fmt.Fprintf(w, "%s\t", api.CleanText(s.Login, api.MaxActorBytes))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, device, at(s.CreatedAt), at(s.UsedAt), orDash(s.Address), at(s.ExpiresAt))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the list of sign-ins: %w", err)
	}
	return nil
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return api.CleanText(text, api.MaxActorBytes)
}

// endFlags say which sign-ins are to end.
type endFlags struct {
	server      string
	all, others bool
}

func (a *app) endSignInsCommand() *cobra.Command {
	var flags endFlags
	cmd := &cobra.Command{
		Use:   "end [ID...]",
		Short: "End sign-ins of yours, also those of other machines",
		Long: "End sign-ins of yours, by the ids that 'signins' shows, or their beginnings. What\n" +
			"is open with them ends within a second. --all ends that of this machine as well.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.endSignIns(cmd.Context(), flags, args) },
	}
	cmd.Flags().StringVar(&flags.server, "server", "", "the server's URL; found as by login")
	cmd.Flags().BoolVar(&flags.others, "others", false, "end all but that of this machine")
	cmd.Flags().BoolVar(&flags.all, "all", false, "end all")
	return cmd
}

var errWhichSignIn = fmt.Errorf("%w: name sign-ins by their ids, or say --others or --all", api.ErrUsage)

func (a *app) endSignIns(ctx context.Context, flags endFlags, ids []string) error {
	given := 0
	for _, one := range []bool{len(ids) > 0, flags.others, flags.all} {
		if one {
			given++
		}
	}
	if given != 1 {
		return withHint(errWhichSignIn, "see 'teammemd signins'")
	}
	var at []string
	if flags.server != "" {
		at = []string{flags.server}
	}
	s, err := a.signedInTo(at)
	if err != nil {
		return err
	}
	list, err := s.list(ctx)
	if err != nil {
		return err
	}
	chosen, err := chooseSignIns(list, flags, ids)
	if err != nil {
		return err
	}
	for _, one := range chosen {
		if _, err := s.client.EndSignIns(ctx, one.ID); err != nil && !errors.Is(err, api.ErrNotFound) {
			return err
		}
		if one.Current {
			if _, _, err := s.keeper.Forget(ctx, s.server, false); err != nil {
				return err
			}
		}
	}
	if a.json {
		return a.printSignIns(chosen, false)
	}
	a.printf("ended %d sign-ins\n", len(chosen))
	return nil
}

// chooseSignIns returns those that are meant, that of this machine last: with it
// no other can be ended any more. What was typed goes nowhere.
func chooseSignIns(list []api.SignIn, flags endFlags, ids []string) (chosen []api.SignIn, err error) {
	for _, id := range ids {
		var found []api.SignIn
		for _, s := range list {
			if strings.HasPrefix(s.ID, id) && id != "" {
				found = append(found, s)
			}
		}
		if len(found) != 1 {
			return nil, withHint(fmt.Errorf("%w: no one sign-in of yours has such an id", api.ErrUsage), "see 'teammemd signins'")
		}
		chosen = append(chosen, found[0])
	}
	for _, s := range list {
		if flags.all || flags.others && !s.Current {
			chosen = append(chosen, s)
		}
	}
	slices.SortStableFunc(chosen, func(a, b api.SignIn) int {
		switch {
		case a.Current == b.Current:
			return strings.Compare(a.ID, b.ID)
		case a.Current:
			return 1
		}
		return -1
	})
	return slices.CompactFunc(chosen, func(a, b api.SignIn) bool { return a.ID == b.ID }), nil
}
