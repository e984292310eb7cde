package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
)

// Login is how a person is signed in to one server.
type Login struct {
	// Server is canonical.
	Server string `json:"server"`
	// Keyring says that the secrets are in the system's keyring and not here.
	Keyring bool `json:"keyring,omitempty"`
	// Serial grows with every renewal, so that a copy of the keyring's secrets in
	// memory is known to be old.
	Serial uint64 `json:"serial"`
	// Ended says that the server ended the sign-in: there are no secrets.
	Ended bool `json:"ended,omitempty"`
	Secrets
}

// Secrets are the tokens of a sign-in. They belong in no output, log or error.
type Secrets struct {
	Access  string `json:"access_token,omitempty"`
	Refresh string `json:"refresh_token,omitempty"`
	// Expires is when the access token ends, by this machine's clock.
	Expires time.Time `json:"expires_at,omitzero"`
}

// Pending is a sign-in that a person has yet to approve in a browser.
type Pending struct {
	Server string `json:"server"`
	// DeviceCode is the secret that the answer is fetched with.
	DeviceCode string `json:"device_code"`
	// UserCode is what the person types at URI; Complete has both.
	UserCode string    `json:"user_code"`
	URI      string    `json:"verification_uri"`
	Complete string    `json:"verification_uri_complete,omitempty"`
	Interval int       `json:"interval"` // seconds between two questions
	Expires  time.Time `json:"expires_at"`
	// Asked is when the server was last asked for the answer.
	Asked time.Time `json:"asked_at,omitzero"`
}

// Kept is what is stored for one server.
type Kept struct {
	SignIn  *Login   // nil for none
	Pending *Pending // nil for none
	// Tokens are those of join and up, by the repo that they are kept for; "" for
	// the whole server.
	Tokens map[string]string
}

// Servers lists the servers that anything is kept for, sorted.
func (c Credentials) Servers() ([]string, error) {
	file, err := c.read()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, t := range file.Tokens {
		out = append(out, t.Server)
	}
	for _, s := range file.SignIns {
		out = append(out, s.Server)
	}
	for _, p := range file.Pending {
		out = append(out, p.Server)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Kept returns what is stored for a server.
func (c Credentials) Kept(server string) (Kept, error) {
	server, err := CanonicalServer(server)
	if err != nil {
		return Kept{}, fmt.Errorf("%w: %w", api.ErrConfig, err)
	}
	file, err := c.read()
	if err != nil {
		return Kept{}, err
	}
	return file.kept(server), nil
}

// Change replaces what is stored for a server durably, by what edit makes of it
// while no other process writes. An error of edit leaves everything as it was.
func (c Credentials) Change(server string, edit func(*Kept) error) error {
	server, err := CanonicalServer(server)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrConfig, err)
	}
	return locked(c.file+".lock", func() error {
		file, err := c.read()
		if err != nil {
			return err
		}
		have := file.kept(server)
		if err := edit(&have); err != nil {
			return err
		}
		file.put(server, have)
		return c.write(file)
	})
}

func (f *credentialsFile) kept(server string) Kept {
	k := Kept{Tokens: map[string]string{}}
	for _, t := range f.Tokens {
		if t.Server == server {
			k.Tokens[t.Repo] = t.Token
		}
	}
	for _, s := range f.SignIns {
		if s.Server == server {
			k.SignIn = &s
		}
	}
	for _, p := range f.Pending {
		if p.Server == server {
			k.Pending = &p
		}
	}
	return k
}

func (f *credentialsFile) put(server string, k Kept) {
	f.Tokens = slices.DeleteFunc(f.Tokens, func(t credential) bool {
		_, stays := k.Tokens[t.Repo]
		return t.Server == server && !stays
	})
	f.SignIns = slices.DeleteFunc(f.SignIns, func(s Login) bool { return s.Server == server })
	if k.SignIn != nil {
		k.SignIn.Server = server
		f.SignIns = append(f.SignIns, *k.SignIn)
	}
	f.Pending = slices.DeleteFunc(f.Pending, func(p Pending) bool { return p.Server == server })
	if k.Pending != nil {
		k.Pending.Server = server
		f.Pending = append(f.Pending, *k.Pending)
	}
}

// File is where everything is kept that is in no keyring.
func (c Credentials) File() string { return c.file }

// RenewalLock is a file whose lock the one process has that renews the sign-in
// to a server.
func (c Credentials) RenewalLock(server string) string {
	sum := sha256.Sum256([]byte(server))
	return c.file + "." + hex.EncodeToString(sum[:4]) + ".lock"
}
