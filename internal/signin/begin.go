package signin

import (
	"context"
	"errors"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

// askable reports whether the server may be asked for the answer to p again.
func askable(p config.Pending) bool {
	since := time.Since(p.Asked)
	return since >= time.Duration(p.Interval)*time.Second || since < 0 // the clock was set back
}

// Await keeps that a person has to approve p.
func (k *Keeper) Await(p config.Pending) error {
	return k.o.Credentials.Change(p.Server, func(kept *config.Kept) error {
		kept.Pending = &p
		return nil
	})
}

// Kept returns what is stored for a server.
func (k *Keeper) Kept(server string) (config.Kept, error) { return k.o.Credentials.Kept(server) }

// Resume asks once for the answer to the sign-in that is pending. It is kept
// until there is one; [ErrPending] when there is none.
func (k *Keeper) Resume(ctx context.Context, server string) (signedIn bool, err error) {
	err = k.alone(ctx, server, func() error {
		kept, err := k.Kept(server)
		if err != nil || kept.Pending == nil {
			return err
		}
		p := *kept.Pending
		if !time.Now().Before(p.Expires) {
			return errors.Join(errExpired, k.drop(p))
		}
		if !askable(p) {
			return ErrPending
		}
		s, err := NewServer(server, k.o.Transport)
		if err != nil {
			return err
		}
		secrets, err := s.Ask(ctx, p)
		switch {
		case err == nil:
			signedIn = true
			return k.Accept(server, secrets)
		case errors.Is(err, ErrPending) || passing(err):
			p.Asked = time.Now().UTC()
			return errors.Join(err, k.Await(p))
		case errors.Is(err, api.ErrSignedOut):
			return errors.Join(err, k.drop(p))
		}
		return err
	})
	return signedIn, err
}

// drop forgets p, unless another one took its place.
func (k *Keeper) drop(p config.Pending) error {
	return k.o.Credentials.Change(p.Server, func(kept *config.Kept) error {
		if kept.Pending != nil && kept.Pending.DeviceCode == p.DeviceCode {
			kept.Pending = nil
		}
		return nil
	})
}

// Drop forgets the sign-in that is pending for a server.
func (k *Keeper) Drop(server string) error {
	return k.o.Credentials.Change(server, func(kept *config.Kept) error { kept.Pending = nil; return nil })
}

// Accept keeps the first tokens of a sign-in, in place of an earlier one.
func (k *Keeper) Accept(server string, s config.Secrets) error {
	return k.o.Credentials.Change(server, func(kept *config.Kept) error {
		// Never a number that was in use before a sign-out: some process may
		// remember what it stood for.
		next := config.Login{Serial: uint64(time.Now().UnixMicro())}
		if kept.SignIn != nil {
			next.Serial = max(next.Serial, kept.SignIn.Serial+1)
		}
		store(k.o.Keyring, k.name(server), &next, s)
		kept.SignIn, kept.Pending = &next, nil
		return nil
	})
}

// RefreshToken returns the stored refresh token of a server, "" where there is
// none that can be read.
func (k *Keeper) RefreshToken(server string) string {
	kept, err := k.Kept(server)
	if err != nil || kept.SignIn == nil {
		return ""
	}
	secrets, err := k.secrets(server, kept.SignIn, false)
	if err != nil {
		return ""
	}
	return secrets.Refresh
}

// Forgotten is what Forget forgot.
type Forgotten struct {
	SignIn bool // a sign-in, or one that was pending
	Tokens int  // of join and up
	Stay   int  // of those, that were not to be forgotten
}

// Forget forgets the sign-in that is kept for a server, and ends it there first;
// with all also what join and up stored for the server. What is kept goes also when
// the server cannot be told; revoking is then why.
func (k *Keeper) Forget(ctx context.Context, server string, all bool) (f Forgotten, revoking, err error) {
	err = k.alone(ctx, server, func() error {
		kept, err := k.Kept(server)
		if err != nil {
			return err
		}
		f = Forgotten{SignIn: kept.SignIn != nil && !kept.SignIn.Ended || kept.Pending != nil, Stay: len(kept.Tokens)}
		if all {
			f.Tokens, f.Stay = f.Stay, 0
		}
		if kept.SignIn != nil && !kept.SignIn.Ended {
			revoking = k.revoke(ctx, server, *kept.SignIn)
		}
		return k.o.Credentials.Change(server, func(kept *config.Kept) error {
			if kept.SignIn != nil && kept.SignIn.Keyring && k.o.Keyring != nil {
				_ = k.o.Keyring.Delete(k.name(server))
			}
			kept.SignIn, kept.Pending = nil, nil
			if all {
				kept.Tokens = nil
			}
			return nil
		})
	})
	return f, revoking, err
}

func (k *Keeper) revoke(ctx context.Context, server string, l config.Login) error {
	secrets, err := k.secrets(server, &l, false)
	if err != nil {
		return err
	}
	s, err := NewServer(server, k.o.Transport)
	if err != nil {
		return err
	}
	return s.Revoke(ctx, secrets.Refresh)
}
