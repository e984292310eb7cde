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
	case me.Renews:
		a.printf("ends     %s, renewed before\n", me.ExpiresAt.Local().Format(time.DateTime))
	case !me.ExpiresAt.IsZero():
		a.printf("ends     %s\n", me.ExpiresAt.Local().Format(time.DateTime))
	}
	for _, root := range me.Roots {
		role := root.Role
		if role == "" {
			role = "as the server's policy or forge says"
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
	token, from, err := source.find()
	for i := 0; i < len(roots) && errors.Is(err, api.ErrSignedOut); i++ {
		source = tokens{m, roots[i]}
		if t, f, rootErr := source.find(); rootErr == nil {
			token, from, err = t, f, nil
		}
	}
	if err != nil {
		return identity{}, err
	}
	who, err := m.ask(ctx, source)
	if err != nil {
		return identity{}, err
	}
	me := identity{
		Schema: schema, Server: server, Name: who.Name, Login: who.Login, Issuer: who.Issuer, User: who.User,
		ExpiresAt: who.ExpiresAt, Renews: from == keptSignIn, Roots: []identityRoot{},
	}
	if me.Kept, me.File, err = m.keptIn(server, from); err != nil {
		return identity{}, err
	}
	asked := map[string]api.WhoAmI{token: who}
	for _, root := range roots {
		me.Roots = append(me.Roots, identityRoot{root.Repo.String(), m.roleIn(ctx, root, asked)})
	}
	return me, nil
}

// ask asks the server whom it takes a token for.
func (m machine) ask(ctx context.Context, source tokens) (api.WhoAmI, error) {
	client, err := remote.New(remote.Options{URL: source.root.Server, Token: source, UserAgent: "teammemd/" + versionText()})
	if err != nil {
		return api.WhoAmI{}, err
	}
	return client.WhoAmI(ctx)
}

// roleIn is the role in a root's repo, "" where the server does not tell: a
// person's differs by repo. asked has the answers so far, by token.
func (m machine) roleIn(ctx context.Context, root config.Root, asked map[string]api.WhoAmI) string {
	source := tokens{m, root}
	token, _, err := source.find()
	if err != nil {
		return ""
	}
	who, ok := asked[token]
	if !ok {
		if who, err = m.ask(ctx, source); err != nil {
			return ""
		}
		asked[token] = who
	}
	if who.Role == api.NoRole {
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
