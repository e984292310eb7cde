package main

import (
	"context"
	"errors"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/internal/config"
)

// tokenTime bounds the way to a token, with a renewal that another process has
// begun.
const tokenTime = time.Minute

// tokens is an [oauth2.TokenSource] over what is stored on this machine.
type tokens struct {
	machine machine
	root    config.Root
}

// Token returns the token that counts now; that of a sign-in is renewed where its
// end is near.
func (t tokens) Token() (*oauth2.Token, error) {
	token, _, err := t.find()
	if err != nil {
		return nil, err
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token, TokenType: "Bearer"}).Token()
}

// keptSignIn is the source of tokens that a person signed in for.
const keptSignIn = "sign-in"

// find returns the token that counts now and where it came from.
func (t tokens) find() (token, source string, err error) {
	return config.TokenFor(t.machine.paths, t.machine.client.Config, t.root, t.signIn())
}

// signIn asks the keeper; nil without one.
func (t tokens) signIn() func() (token, source string, err error) {
	if t.machine.keeper == nil {
		return nil
	}
	return func() (string, string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), tokenTime)
		defer cancel()
		token, err := t.machine.keeper.Token(ctx, t.root.Server)
		return token, keptSignIn, err
	}
}

// errNotRenewed says that a token is none of a sign-in.
var errNotRenewed = errors.New("only the tokens of sign-ins are renewed")

// renew renews the sign-in whose access token a server refused.
func (t tokens) renew(ctx context.Context, refused string) error {
	_, source, err := t.find()
	if err != nil {
		return err
	}
	if source != keptSignIn {
		return errNotRenewed
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTime)
	defer cancel()
	return t.machine.keeper.Renew(ctx, t.root.Server, refused)
}

// renewRefused renews a sign-in whose access token the server refused though its
// time is not over, so that an end of the sign-in is noticed now.
func (t tokens) renewRefused(ctx context.Context) error {
	token, source, err := t.find()
	if err != nil || source != keptSignIn {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTime)
	defer cancel()
	return t.machine.keeper.Renew(ctx, t.root.Server, token)
}
