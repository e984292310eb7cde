package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/teammem/teammemd/api"
)

// Credentials are the tokens that the program keeps for the user, in one file
// that only the user can read. Safe for concurrent use, also by several
// processes.
type Credentials struct{ file string }

// CredentialsAt returns the tokens of one machine and user.
func CredentialsAt(p Paths) Credentials { return Credentials{p.Credentials()} }

// The schemas of the file. One without sign-ins is written in the first, which
// earlier programs read.
const (
	tokensSchema  = 1
	signInsSchema = 2
)

type credentialsFile struct {
	Schema  int          `json:"schema"`
	Tokens  []credential `json:"tokens"`
	SignIns []Login      `json:"sign_ins,omitempty"`
	Pending []Pending    `json:"pending,omitempty"`
}

type credential struct {
	Server string `json:"server"`
	// Repo is "" for a token that serves every repo of the server.
	Repo  string `json:"repo,omitempty"`
	Token string `json:"token"`
}

// SaveToken keeps a token durably, in place of an earlier one. The zero repo
// stands for every repo of the server.
func (c Credentials) SaveToken(server string, repo api.Repo, token string) error {
	token = strings.TrimSpace(token)
	if err := checkToken(token); err != nil {
		return fmt.Errorf("%w: saving a token: %w", api.ErrUsage, err)
	}
	return c.change(server, repo, func(all []credential, server string) []credential {
		return append(all, credential{server, repo.String(), token})
	})
}

// DropToken forgets a token durably; absence is a success.
func (c Credentials) DropToken(server string, repo api.Repo) error {
	return c.change(server, repo, func(all []credential, _ string) []credential { return all })
}

// Token returns the token for a repo, else the one for its whole server. It
// wraps [api.ErrSignedOut] when there is none.
func (c Credentials) Token(server string, repo api.Repo) (string, error) {
	server, err := CanonicalServer(server)
	if err != nil {
		return "", fmt.Errorf("%w: %w", api.ErrConfig, err)
	}
	file, err := c.read()
	if err != nil {
		return "", err
	}
	for _, name := range []string{repo.String(), ""} {
		for _, t := range file.Tokens {
			if t.Server == server && t.Repo == name {
				return t.Token, nil
			}
		}
	}
	return "", fmt.Errorf("%w: no token for %s is stored; run teammemd login or join, or give one by --token-file", api.ErrSignedOut, server)
}

// change rewrites the file without the token of server and repo, then with
// what add appends.
func (c Credentials) change(server string, repo api.Repo, add func([]credential, string) []credential) error {
	server, err := CanonicalServer(server)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrConfig, err)
	}
	return locked(c.file+".lock", func() error {
		file, err := c.read()
		if err != nil {
			return err
		}
		file.Tokens = add(slices.DeleteFunc(file.Tokens, func(t credential) bool {
			return t.Server == server && t.Repo == repo.String()
		}), server)
		return c.write(file)
	})
}

func (c Credentials) write(file credentialsFile) error {
	file.Schema = tokensSchema
	if len(file.SignIns)+len(file.Pending) > 0 {
		file.Schema = signInsSchema
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding tokens: %w", err)
	}
	if err := writeFile(c.file, append(text, '\n')); err != nil {
		return fmt.Errorf("writing %q: %w", c.file, err)
	}
	return nil
}

// read returns the file, empty when there is none. Errors quote nothing of it.
func (c Credentials) read() (credentialsFile, error) {
	empty := credentialsFile{Schema: tokensSchema}
	text, err := os.ReadFile(c.file)
	if errors.Is(err, os.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, ProblemErrors{{c.file, "reading it: " + cause(err)}}
	}
	var file credentialsFile
	if err := json.Unmarshal(text, &file); err != nil {
		return empty, ProblemErrors{{c.file, "it is not the JSON that was written; restore it, or remove it and sign in again"}}
	}
	if file.Schema < tokensSchema || file.Schema > signInsSchema {
		return empty, ProblemErrors{{c.file, fmt.Sprintf("its schema is %d, this program reads up to %d; use the newer program that wrote it", file.Schema, signInsSchema)}}
	}
	return file, nil
}

var errToken = errors.New("a token is one word of visible ASCII characters")

// checkToken refuses what cannot travel in an Authorization header.
func checkToken(token string) error {
	if token == "" {
		return errEmpty
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return errToken
		}
	}
	return nil
}

// ReadTokenFile returns the token that a file holds, trimmed. It wraps
// [api.ErrConfig]; no part of the file is in the error.
func ReadTokenFile(file string) (string, error) {
	token, err := readSmall(file)
	if err == nil {
		if err = checkToken(token); err != nil {
			err = fmt.Errorf("reading %s: %w", file, err)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", api.ErrConfig, err)
	}
	return token, nil
}

// TokenFor returns the token for a root and where it came from, strongest
// first: TEAMMEMD_TOKEN, the root's token file, a stored token for the root's
// server and repo, the sign-in to the server (nil for none is asked), the
// configured token file. A token of the environment or of the configuration goes
// to no server but the configured one, where one is configured. It wraps
// [api.ErrSignedOut] when there is none.
func TokenFor(p Paths, client Client, root Root, signIn func() (token, source string, err error)) (token, source string, err error) {
	mine := meantFor(client.Server, root.Server)
	if client.Token != "" && mine {
		if err := checkToken(client.Token); err != nil {
			return "", "", fmt.Errorf("%w: TEAMMEMD_TOKEN: %w", api.ErrConfig, err)
		}
		return client.Token, "TEAMMEMD_TOKEN", nil
	}
	if root.TokenFile != "" {
		token, err := ReadTokenFile(root.TokenFile)
		return token, root.TokenFile, err
	}
	creds := CredentialsAt(p)
	source = creds.file
	token, err = creds.Token(root.Server, root.Repo)
	if errors.Is(err, api.ErrSignedOut) && signIn != nil {
		token, source, err = signIn()
	}
	if errors.Is(err, api.ErrSignedOut) && client.TokenFile != "" && mine {
		token, err := ReadTokenFile(client.TokenFile)
		return token, client.TokenFile, err
	}
	return token, source, err
}

// meantFor reports whether what is configured for one server may go to another.
func meantFor(configured, server string) bool {
	if configured == "" {
		return true
	}
	a, errA := CanonicalServer(configured)
	b, errB := CanonicalServer(server)
	return errA == nil && errB == nil && a == b
}
