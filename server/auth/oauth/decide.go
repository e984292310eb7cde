package oauth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"time"

	"github.com/teammem/teammemd/server/store"
)

// The life of what is given out.
const (
	deviceLife   = 10 * time.Minute
	codeLife     = time.Minute
	tripLife     = 10 * time.Minute
	browserLife  = 15 * time.Minute
	accessLife   = time.Hour
	refreshLife  = 90 * 24 * time.Hour // from the last rotation on
	exchangeLife = 15 * time.Minute

	pollInterval = 5 * time.Second
	slowerBy     = 5 * time.Second // RFC 8628, section 3.5
	slowest      = time.Minute
	// pollJitter is how much earlier than asked a poll may come: the way of the
	// last answer and of this request differ.
	pollJitter = time.Second

	// leeway is how long after its successor was first given out a refresh token
	// may still be presented by somebody who raced, whatever the successor was used
	// for meanwhile.
	leeway = 10 * time.Second

	// maxUserCodeTries is how many wrong typed codes all open requests survive.
	// Only who has signed in can type one, and ten in ten minutes.
	maxUserCodeTries = 100
)

// mint makes the first tokens of a family; it is not pure, and what it made is
// thrown away where the transaction is tried again.
type mint func(r store.Request) store.Issue

// poll answers a client that asks whether its device was approved.
func poll(r store.Request, client string, now time.Time, mint mint) (store.RequestChange, error) {
	ended := r
	ended.Done = true
	switch {
	case r.Client != client:
		return store.RequestChange{}, errGrant
	case !now.Before(r.ExpiresAt):
		return store.RequestChange{}, errExpired
	case r.Denied:
		return store.RequestChange{Request: ended}, errDenied
	case r.User != "":
		return store.RequestChange{Request: ended, Issue: mint(r)}, nil
	}
	early := !r.PolledAt.IsZero() && now.Before(r.PolledAt.Add(r.Interval-pollJitter))
	r.PolledAt = now
	if !early {
		return store.RequestChange{Request: r}, errPending
	}
	r.Interval = min(r.Interval+slowerBy, slowest)
	return store.RequestChange{Request: r}, errSlowDown
}

// look finds the open request of a typed code.
func look(r store.Request, now time.Time) (store.RequestChange, error) {
	if !now.Before(r.ExpiresAt) || r.Denied || r.User != "" {
		return store.RequestChange{}, errCodeUnknown
	}
	return store.RequestChange{}, nil
}

// answerDevice lets a person approve a device, or deny it.
func answerDevice(r store.Request, user string, approve bool, now time.Time) (store.RequestChange, error) {
	if _, err := look(r, now); err != nil {
		return store.RequestChange{}, err
	}
	if approve {
		r.User = user
	} else {
		r.Denied = true
	}
	return store.RequestChange{Request: r}, nil
}

// presentedCode is how a client redeems an authorization code.
type presentedCode struct{ client, redirect, verifier string }

// redeem answers an authorization code. It works once: a wrong try ends it, and
// who brings it again after it worked ends what came of it.
func redeem(r store.Request, p presentedCode, now time.Time, mint mint) (store.RequestChange, error) {
	if r.Family != "" {
		return store.RequestChange{}, errReplayed
	}
	if !now.Before(r.ExpiresAt) || r.Client != p.client || r.Redirect != p.redirect || !provesChallenge(p.verifier, r.Challenge) {
		r.Done = true
		return store.RequestChange{Request: r}, errGrant
	}
	issue := mint(r)
	r.Family = issue.Family.ID
	return store.RequestChange{Request: r, Issue: issue}, nil
}

// provesChallenge is PKCE's S256, the only method here.
func provesChallenge(verifier, challenge string) bool {
	if !isVerifier(verifier) || challenge == "" {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	got := base64.RawURLEncoding.EncodeToString(sum[:])
	return subtle.ConstantTimeCompare([]byte(got), []byte(challenge)) == 1
}

// isVerifier reports whether s is spelled like a code verifier: RFC 7636,
// section 4.1.
func isVerifier(s string) bool {
	if len(s) < 43 || len(s) > 128 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_', c == '~':
		default:
			return false
		}
	}
	return true
}

// isChallenge reports whether s can be an S256 challenge.
func isChallenge(s string) bool {
	sum, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(sum) == sha256.Size
}

// refresh answers a refresh token of a family.
//
// A token of the newest generation begins the next one. One of the generation
// before gets a sibling in the newest, as long as nobody has used a token of the
// newest: the answer was lost, or two asked at once. For a moment after the
// rotation it gets one in any case, since who raced may come second. Any other
// use of a spent token means that two have it, and one is a thief: the family
// ends.
func refresh(f store.Family, r store.Refresh, client string, now time.Time, mint func(store.Family) store.Issue) (store.Issue, error) {
	newest := r.Generation == f.Generation
	unseen := r.Generation+1 == f.Generation && f.Proven < f.Generation
	raced := !r.SpentAt.IsZero() && now.Sub(r.SpentAt) <= leeway
	switch {
	case f.Client != client, !f.RevokedAt.IsZero(), !now.Before(f.ExpiresAt):
		return store.Issue{}, errGrant
	case newest:
		f.Proven = f.Generation
		f.Generation++
		f.RotatedAt, f.ExpiresAt = now, now.Add(refreshLife)
		return mint(f), nil
	case unseen || raced:
		return mint(f), nil
	}
	f.RevokedAt, f.Why = now, "a spent refresh token was used again"
	return store.Issue{Family: f}, errReused
}

// trip is what a browser brings back from an issuer.
type trip struct{ provider, binding string }

// arrive ends a trip to an issuer, if it is the same browser that began it.
func arrive(r store.Request, t trip, now time.Time) (store.RequestChange, error) {
	r.Done = true
	same := subtle.ConstantTimeCompare([]byte(r.Challenge), []byte(t.binding)) == 1
	if !same || r.Client != t.provider || !now.Before(r.ExpiresAt) {
		return store.RequestChange{Request: r}, errOtherBrowser
	}
	return store.RequestChange{Request: r}, nil
}
