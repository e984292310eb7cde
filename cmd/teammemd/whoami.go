package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/sync/remote"
)

func (a *app) whoamiCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "whoami [URL]",
		Short: "Say who is signed in, and where the token is kept",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return a.whoami(cmd.Context(), args) },
	}
}

// identity is what whoami says.
type identity struct {
	Schema int    `json:"schema"`
	Server string `json:"server"`
	Name   string `json:"name"`
	Login  string `json:"login,omitempty"`
	Issuer string `json:"issuer,omitempty"`
	User   string `json:"user,omitempty"`
	// Kept is "keyring", "file" or "environment"; File is the path of a file.
	Kept string `json:"kept"`
	File string `json:"file,omitempty"`
	// ExpiresAt is when the token ends; Renews says that it is renewed before.
	ExpiresAt time.Time      `json:"expires_at,omitzero"`
	Renews    bool           `json:"renews"`
	SignIn    *api.SignIn    `json:"sign_in,omitempty"` // of a person
	Roots     []identityRoot `json:"roots"`
}

type identityRoot struct {
	Repo string `json:"repo"`
	Role string `json:"role,omitempty"` // left out where the server does not tell
}

func (a *app) whoami(ctx context.Context, args []string) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	server, err := m.server(args)
	if err != nil {
		return err
	}
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
	a.printf("server   %s\nuser     %s\n", me.Server, me.who())
	kept := me.Kept
	if me.File != "" {
		kept += ", " + a.tilde(me.File)
	}
	a.printf("kept in  %s\n", kept)
	switch {
	case me.SignIn != nil:
		a.printf("sign-in  %s, since %s\n", me.SignIn.Device, me.SignIn.CreatedAt.Local().Format(time.DateTime))
		a.printf("ends     %s unless it is used before; its token %s, renewed before\n",
			me.SignIn.ExpiresAt.Local().Format(time.DateTime), me.ExpiresAt.Local().Format(time.DateTime))
	case me.Renews:
		a.printf("ends     %s, renewed before\n", me.ExpiresAt.Local().Format(time.DateTime))
	case !me.ExpiresAt.IsZero():
		a.printf("ends     %s\n", me.ExpiresAt.Local().Format(time.DateTime))
	}
	for _, root := range me.Roots {
		role := root.Role
		if role == "" {
			role = "not known: the server does not say"
		}
		a.printf("repo     %s  %s\n", root.Repo, role)
	}
	return nil
}

// rootsAt lists the registered roots of a server.
func (m machine) rootsAt(server string) ([]config.Root, error) {
	all, err := m.roots()
	if err != nil {
		return nil, err
	}
	var out []config.Root
	for _, root := range all {
		if at, err := config.CanonicalServer(root.Server); err == nil && at == server {
			out = append(out, root)
		}
	}
	return out, nil
}

// identify says who the token for the whole server is, else that of the first
// root that has one.
func (m machine) identify(ctx context.Context, server string, roots []config.Root) (identity, error) {
	source := tokens{m, config.Root{Server: server}}
	_, from, err := source.find()
	for i := 0; i < len(roots) && errors.Is(err, api.ErrSignedOut); i++ {
		source = tokens{m, roots[i]}
		if _, f, rootErr := source.find(); rootErr == nil {
			from, err = f, nil
		}
	}
	if err != nil {
		return identity{}, err
	}
	who, err := m.ask(ctx, source, api.Repo{})
	if err != nil {
		return identity{}, err
	}
	me := identity{
		Schema: schema, Server: server, Name: who.Name, Login: who.Login, Issuer: who.Issuer, User: who.User,
		ExpiresAt: who.ExpiresAt, Renews: from == keptSignIn, SignIn: who.SignIn, Roots: []identityRoot{},
	}
	if me.Kept, me.File, err = m.keptIn(server, from); err != nil {
		return identity{}, err
	}
	for _, root := range roots {
		me.Roots = append(me.Roots, identityRoot{root.Repo.String(), m.roleIn(ctx, root)})
	}
	return me, nil
}

// ask asks the server whom it takes a token for, and what it allows in repo unless
// that is zero.
func (m machine) ask(ctx context.Context, source tokens, repo api.Repo) (api.WhoAmI, error) {
	client, err := remote.New(remote.Options{
		URL: source.root.Server, Repo: repo, Token: source, Renew: source.renew, UserAgent: "teammemd/" + versionText(),
	})
	if err != nil {
		return api.WhoAmI{}, err
	}
	who, err := client.WhoAmI(ctx)
	if errors.Is(err, api.ErrSignedOut) {
		if _, _, ended := source.find(); ended != nil {
			return who, ended // it says what to do
		}
	}
	return who, err
}

// roleIn is the role in a root's repo, "none" for no access, "" where the server
// does not tell.
func (m machine) roleIn(ctx context.Context, root config.Root) string {
	who, err := m.ask(ctx, tokens{m, root}, root.Repo)
	switch {
	case errors.Is(err, api.ErrNotFound):
		return api.NoRole.String()
	case err != nil, who.Role == api.NoRole:
		return ""
	}
	return who.Role.String()
}

// keptIn says where a token is.
func (m machine) keptIn(server, source string) (kind, file string, err error) {
	if source != keptSignIn {
		if source == "TEAMMEMD_TOKEN" {
			return "environment", "", nil
		}
		return "file", source, nil
	}
	kept, err := m.keeper.Kept(server)
	if err != nil || kept.SignIn != nil && kept.SignIn.Keyring {
		return "keyring", "", err
	}
	return "file", m.paths.Credentials(), nil
}

// who is the name of a person or of a service token.
func (i identity) who() string {
	if i.Login == "" {
		return i.Name
	}
	return api.CleanText(i.Login, api.MaxActorBytes)
}
