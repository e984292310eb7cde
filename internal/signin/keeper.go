package signin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

const (
	// lockTime bounds the wait for another process that renews.
	lockTime = 45 * time.Second
	// pauseAfter is how long a renewal is not tried again while the present token is
	// still good, whatever came of it.
	pauseAfter = 15 * time.Second
	// A token is renewed so long before its end, plus up to as much again, so that
	// processes and machines do not all come at once.
	early = 4 * time.Minute
)

var errNoKeyring = fmt.Errorf("%w: the sign-in is in the keyring, which cannot be read now; unlock it, or run teammemd login", api.ErrSignedOut)

// Options configure [NewKeeper].
type Options struct {
	Credentials config.Credentials
	// Keyring is nil for none: everything is in the file of Credentials.
	Keyring Keyring
	// Transport is nil for the default one.
	Transport http.RoundTripper
}

// Keeper keeps the sign-ins of one user on one machine. Safe for concurrent use,
// also by several processes.
type Keeper struct {
	o     Options
	early time.Duration

	mu     sync.Mutex
	cached map[string]cachedSecrets // of the keyring, by server; guarded by mu
	tried  map[string]time.Time     // the last renewal; guarded by mu
}

type cachedSecrets struct {
	serial  uint64
	secrets config.Secrets
}

// NewKeeper returns a Keeper. It reads nothing.
func NewKeeper(o Options) *Keeper {
	return &Keeper{o: o, early: early + rand.N(early), cached: map[string]cachedSecrets{}, tried: map[string]time.Time{}}
}

// Token returns an access token for a server that is good now, renewed where its
// end is near, and fetched where somebody approved a sign-in that was pending.
// Other processes that want the same wait for the one that does it. The error
// wraps [api.ErrSignedOut] when there is none and somebody has to sign in.
func (k *Keeper) Token(ctx context.Context, server string) (string, error) {
	kept, err := k.o.Credentials.Kept(server)
	if err != nil {
		return "", err
	}
	if p := kept.Pending; p != nil && askable(*p) {
		if _, err := k.Resume(ctx, server); err != nil && (kept.SignIn == nil || kept.SignIn.Ended) {
			return "", err
		}
		if kept, err = k.o.Credentials.Kept(server); err != nil {
			return "", err
		}
	}
	if kept.SignIn == nil && kept.Pending != nil {
		return "", ErrPending
	}
	secrets, err := k.secrets(server, kept.SignIn, true)
	if err != nil {
		return "", err
	}
	left := time.Until(secrets.Expires)
	if left > k.early {
		return secrets.Access, nil
	}
	if left > 0 && k.paused(server) {
		return secrets.Access, nil
	}
	fresh, err := k.renew(ctx, server, secrets.Access)
	k.pause(server)
	if err == nil {
		return fresh.Access, nil
	}
	if left > 0 && !errors.Is(err, api.ErrSignedOut) {
		return secrets.Access, nil
	}
	return "", err
}

// Renew renews the sign-in now, unless its access token is another than the one
// that is named: then somebody else did.
func (k *Keeper) Renew(ctx context.Context, server, access string) error {
	_, err := k.renew(ctx, server, access)
	return err
}

func (k *Keeper) renew(ctx context.Context, server, access string) (fresh config.Secrets, err error) {
	err = k.alone(ctx, server, func() error {
		kept, err := k.o.Credentials.Kept(server)
		if err != nil {
			return err
		}
		// Another process may have renewed while we waited: only what is stored
		// now counts, not what memory has.
		have, err := k.secrets(server, kept.SignIn, false)
		if err != nil {
			return err
		}
		if have.Access != access && time.Until(have.Expires) > 0 {
			fresh = have
			return nil
		}
		s, err := NewServer(server, k.o.Transport)
		if err != nil {
			return err
		}
		next, err := s.Refresh(ctx, have.Refresh)
		if errors.Is(err, errEnded) {
			return errors.Join(err, k.end(server, kept.SignIn.Serial))
		}
		if err != nil {
			return err // the old token is good until somebody used the new one: try it again
		}
		fresh = next
		return k.put(server, kept.SignIn.Serial, next)
	})
	return fresh, err
}

// put stores what a renewal gave, durably, before anybody uses it. Where a person
// signed in or out meanwhile theirs counts.
func (k *Keeper) put(server string, serial uint64, s config.Secrets) error {
	return k.o.Credentials.Change(server, func(kept *config.Kept) error {
		if kept.SignIn == nil || kept.SignIn.Serial != serial || kept.SignIn.Ended {
			return fmt.Errorf("%w: the sign-in was changed meanwhile", api.ErrConflict)
		}
		next := config.Login{Serial: serial + 1}
		store(k.ringFor(*kept.SignIn), k.name(server), &next, s)
		kept.SignIn = &next
		return nil
	})
}

// ringFor keeps a sign-in where it is.
func (k *Keeper) ringFor(l config.Login) Keyring {
	if l.Keyring {
		return k.o.Keyring
	}
	return nil
}

// end notes that the server ended a sign-in, so that its token is never sent again.
func (k *Keeper) end(server string, serial uint64) error {
	return k.o.Credentials.Change(server, func(kept *config.Kept) error {
		if kept.SignIn == nil || kept.SignIn.Serial != serial {
			return nil
		}
		if ring := k.ringFor(*kept.SignIn); ring != nil {
			_ = ring.Delete(k.name(server)) // nothing opens with it
		}
		kept.SignIn = &config.Login{Serial: serial + 1, Ended: true}
		return nil
	})
}

// secrets returns those of a sign-in; memory may be asked for those of a keyring.
func (k *Keeper) secrets(server string, l *config.Login, memory bool) (config.Secrets, error) {
	switch {
	case l == nil:
		return config.Secrets{}, fmt.Errorf("%w: nobody is signed in to %s; run teammemd login", api.ErrSignedOut, server)
	case l.Ended:
		return config.Secrets{}, errEnded
	case !l.Keyring:
		return l.Secrets, nil
	}
	k.mu.Lock()
	have, ok := k.cached[server]
	k.mu.Unlock()
	if memory && ok && have.serial == l.Serial {
		return have.secrets, nil
	}
	secrets, err := load(k.o.Keyring, k.name(server), *l)
	if err != nil {
		return secrets, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cached[server] = cachedSecrets{l.Serial, secrets}
	return secrets, nil
}

// name is what the secrets of a server are called in the keyring, which is the
// user's: another state directory is another sign-in.
func (k *Keeper) name(server string) string {
	return server + " " + filepath.Dir(k.o.Credentials.File())
}

// alone runs do while no other process or goroutine does the same for the server.
func (k *Keeper) alone(ctx context.Context, server string, do func() error) error {
	server, err := config.CanonicalServer(server)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrConfig, err)
	}
	file := k.o.Credentials.RenewalLock(server)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	lock := flock.New(file, flock.SetPermissions(0o600))
	waiting, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	if _, err := lock.TryLockContext(waiting, 5*time.Millisecond); err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%w: another process has been renewing the sign-in for %s", api.ErrUnavailable, lockTime)
		}
		return fmt.Errorf("locking %q: %w", file, err)
	}
	return errors.Join(do(), lock.Unlock())
}

func (k *Keeper) paused(server string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Since(k.tried[server]) < pauseAfter
}

func (k *Keeper) pause(server string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tried[server] = time.Now()
}
