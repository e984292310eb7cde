package store

import (
	"context"
	"errors"
	"time"
)

// Errors of accounts, to be matched like those of the store.
var (
	// ErrNoUser says that there is no such user.
	ErrNoUser = errors.New("no such user")
	// ErrNoRequest says that no open request has this hash.
	ErrNoRequest = errors.New("no such request")
	// ErrNoFamily says that no refresh token, live or spent, has this hash.
	ErrNoFamily = errors.New("no such family of tokens")
)

// Accounts keeps people who sign in, their requests to do so, and the families
// of tokens that come of it. Secrets are kept by their SHA-256, what an upstream
// gave is sealed by the caller.
type Accounts interface {
	// SaveUser stores a user by issuer and subject: ID and CreatedAt of one that is
	// there stay, all else is replaced. It returns what is stored.
	SaveUser(ctx context.Context, u User) (User, error)
	// User returns a user by id, or [ErrNoUser].
	User(ctx context.Context, id string) (User, error)
	// Users lists all, oldest first.
	Users(ctx context.Context) ([]User, error)
	// DropUser deletes a user and revokes the families and tokens that are theirs.
	// Absence is a success.
	DropUser(ctx context.Context, id string, at time.Time) error

	// AddRequest stores a request; its Hash must be new. Those that expired before
	// r.CreatedAt are deleted.
	AddRequest(ctx context.Context, r Request) error
	// ChangeRequest calls decide with the request that has this hash (as Hash or
	// UserHash), stores what it returns, or deletes it where decide sets Done. The
	// error is decide's, or [ErrNoRequest]. decide is pure; see [Store.Update].
	ChangeRequest(ctx context.Context, hash [32]byte, decide func(Request) (Request, error)) error

	// AddFamily stores a family with its first tokens.
	AddFamily(ctx context.Context, f Family, access Token) error
	// ChangeFamily calls decide with the family that a refresh token belongs to, live
	// or spent, and stores what it returns. A family that is revoked takes its
	// access tokens with it. decide is pure. The error is decide's, or [ErrNoFamily].
	// With an error of decide the change that it returned is stored all the same if it
	// is not the zero value: a refusal may revoke.
	ChangeFamily(ctx context.Context, refresh [32]byte, decide func(Family) (FamilyChange, error)) error
	// Families lists the families of a user that were not revoked, of all users for
	// "", oldest first.
	Families(ctx context.Context, user string) ([]Family, error)
	// RevokeFamily ends a family and its access tokens; absence is a success.
	RevokeFamily(ctx context.Context, id, why string, at time.Time) error
}

// User is a person who has signed in.
type User struct {
	ID      string // ours: random, never given twice
	Issuer  string // who vouches for them: "https://github.com", an OIDC issuer, or "local"
	Subject string // the issuer's stable id of them
	Login   string // how they are called there; may change
	Name    string // for people to read; may be ""
	Email   string // as the issuer verified it; may be ""
	// Groups are the issuer's at the last sign-in, for policies.
	Groups []string
	// Upstream is what the issuer gave for asking it about access, sealed; nil for
	// none.
	Upstream  []byte
	CreatedAt time.Time
	SeenAt    time.Time // of the last sign-in
}

// Request is a sign-in under way: a device grant, an authorization code, or a
// trip to an upstream.
type Request struct {
	Kind      string   // "device", "code" or "upstream"
	Hash      [32]byte // SHA-256 of the secret that the client polls or redeems with
	UserHash  [32]byte // of the code that a person types; zero for none
	Client    string   // client id
	User      string   // who approved it, "" while nobody has
	Denied    bool
	Device    string // how the client calls its machine
	Challenge string // PKCE, S256; "" for a device grant
	Redirect  string
	Nonce     string // of the trip upstream
	Next      string // hex hash of the request that continues when this ends; "" for none
	CreatedAt time.Time
	ExpiresAt time.Time
	PolledAt  time.Time
	Interval  time.Duration // between polls, at least
	Tries     int           // wrong codes that were typed for it
	Done      bool          // set by decide: delete it
}

// Family is one sign-in on one machine: a chain of refresh tokens of which the
// newest counts.
type Family struct {
	ID     string
	User   string
	Client string
	Device string
	// Current is the newest refresh token's SHA-256. Previous is the one before it
	// while nobody has shown that its successor arrived; zero otherwise.
	Current, Previous [32]byte
	CreatedAt         time.Time
	RotatedAt         time.Time
	ExpiresAt         time.Time
	RevokedAt         time.Time // zero = live
	Why               string    // it was revoked
	// Role and Repos narrow what the sign-in may do; see [Token]. "" and 0: all that
	// the user may.
	Repos string
}

// FamilyChange is what became of a family.
type FamilyChange struct {
	Family Family // zero: nothing changes
	// Access is a new access token; its zero value is none. Earlier ones live until
	// they expire.
	Access Token
}
