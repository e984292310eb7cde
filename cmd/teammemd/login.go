package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/signin"
	"github.com/teammem/teammemd/sync/remote"
)

func (a *app) loginCommand() *cobra.Command {
	var noWait bool
	var device string
	cmd := &cobra.Command{
		Use:   "login [URL]",
		Short: "Sign in to a server, in a browser here or elsewhere",
		Long: "Sign in to a server: open the address that is shown in any browser and compare\n" +
			"the code. Without a URL it is the server of this checkout, else the configured\n" +
			"one. With --no-wait nothing is waited for: the next login, sync, or the daemon\n" +
			"goes on once you have approved.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.login(cmd.Context(), args, device, noWait) },
	}
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "show address and code, and return")
	cmd.Flags().StringVar(&device, "device", deviceName(), "how the server calls this machine")
	return cmd
}

func (a *app) login(ctx context.Context, args []string, device string, noWait bool) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	server, err := m.server(args)
	if err != nil {
		return err
	}
	s, err := signin.NewServer(server, remote.NewTransport())
	if err != nil {
		return err
	}
	before, err := m.keeper.Kept(server)
	if err != nil {
		return err
	}
	earlier := m.keeper.RefreshToken(server)
	pending, done, err := a.pendingLogin(ctx, m, s, before, device)
	if err != nil {
		return err
	}
	if !done {
		if noWait {
			return a.showPending(m, pending)
		}
		if err := a.approved(ctx, m, s, pending); err != nil {
			return err
		}
	}
	if earlier != "" {
		_ = s.Revoke(ctx, earlier) // it is no harm if that fails: nobody has its tokens any more
	}
	return a.signedIn(ctx, m, server, before)
}

// pendingLogin goes on with a sign-in that is pending, or begins one. done says
// that it was approved meanwhile.
func (a *app) pendingLogin(ctx context.Context, m machine, s *signin.Server, before config.Kept, device string) (p config.Pending, done bool, err error) {
	if before.Pending != nil {
		// Why it is not done shows when it is waited for.
		if done, err := m.keeper.Resume(ctx, s.URL()); done {
			return p, true, err
		}
		kept, err := m.keeper.Kept(s.URL())
		if err != nil {
			return p, false, err
		}
		if kept.Pending != nil {
			return *kept.Pending, false, nil
		}
		a.sayf("teammemd: the earlier code was denied or expired; here is another\n")
	}
	if err := s.Offers(ctx); err != nil {
		if errors.Is(err, api.ErrUsage) {
			err = withHint(err, "ask its maintainer for a join code or a token: 'teammemd join %s', or --token-file", s.URL())
		}
		return p, false, err
	}
	p, err = s.Begin(ctx, device)
	return p, false, err
}

// showPending keeps what is pending and says how to go on.
func (a *app) showPending(m machine, p config.Pending) error {
	if err := m.keeper.Await(p); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			Schema   int       `json:"schema"`
			Server   string    `json:"server"`
			State    string    `json:"state"`
			URI      string    `json:"verification_uri"`
			Complete string    `json:"verification_uri_complete,omitempty"`
			UserCode string    `json:"user_code"`
			Interval int       `json:"interval"`
			Expires  time.Time `json:"expires_at"`
		}{schema, p.Server, "pending", p.URI, p.Complete, p.UserCode, p.Interval, p.Expires.Truncate(time.Second)})
	}
	a.printf("open     %s\ncode     %s\nexpires  %s\n", p.URI, p.UserCode, p.Expires.Local().Format("15:04"))
	a.sayf("teammemd: approve it there; the next 'teammemd login' or 'teammemd sync' goes on\n")
	return nil
}

// approved waits for the person. A sign-in that is interrupted goes on with the
// next login.
func (a *app) approved(ctx context.Context, m machine, s *signin.Server, p config.Pending) error {
	// The daemon would ask beside us, and the server tell both to slow down.
	if err := m.keeper.Drop(s.URL()); err != nil {
		return err
	}
	address := p.Complete
	if address == "" {
		address = p.URI
	}
	// Also with --quiet: without it nothing goes on.
	fmt.Fprintf(a.err, "teammemd: open %s and compare the code %s\n", address, p.UserCode)
	if a.mayOpenBrowser() {
		openBrowser(address)
	}
	secrets, err := s.Wait(ctx, p)
	if err != nil && !errors.Is(err, api.ErrSignedOut) { // interrupted, or offline
		return errors.Join(err, m.keeper.Await(p))
	}
	if err != nil {
		return err
	}
	return m.keeper.Accept(s.URL(), secrets)
}

// signedIn says who signed in.
func (a *app) signedIn(ctx context.Context, m machine, server string, before config.Kept) error {
	roots, err := m.rootsAt(server)
	if err != nil {
		return err
	}
	me, err := m.identify(ctx, server, roots)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(me)
	}
	a.printf("signed in to %s as %s\n", server, me.who())
	if len(before.Tokens) > 0 {
		a.sayf("teammemd: what 'join' and 'up' stored for this server still comes first; 'teammemd logout --all' forgets both\n")
	}
	return nil
}

// server is the one that a verb about sign-ins means: what is named, that of the
// checkout, the configured one, else the only one that is known.
func (m machine) server(args []string) (string, error) {
	if len(args) > 0 {
		server, err := config.CanonicalServer(args[0])
		if err != nil {
			return "", fmt.Errorf("%w: %w", api.ErrUsage, err)
		}
		return server, nil
	}
	roots, err := m.roots()
	if err != nil {
		return "", err
	}
	if root, ok := rootFor(roots, "."); ok {
		return config.CanonicalServer(root.Server)
	}
	if m.client.Config.Server != "" {
		return config.CanonicalServer(m.client.Config.Server)
	}
	known, err := config.CredentialsAt(m.paths).Servers()
	if err != nil {
		return "", err
	}
	for _, root := range roots {
		if server, err := config.CanonicalServer(root.Server); err == nil {
			known = append(known, server)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if len(known) == 1 {
		return known[0], nil
	}
	return "", withHint(fmt.Errorf("%w: which server?", api.ErrUsage), "name its URL, or set server in the configuration (or TEAMMEMD_URL)")
}
