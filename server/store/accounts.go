package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
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
// gave is sealed by the caller. Times are UTC, with millisecond precision.
//
// The functions named decide are pure: they may be called again, and the last
// call counts. They run in the transaction that stores what they return. What
// they return beside an error is stored all the same, unless it is the zero
// value: a refusal may change something.
//
// [Credentials.Generation] moves with every revocation, and when a user changes
// in anything but SeenAt and Upstream. Tokens that are given out leave it alone.
type Accounts interface {
	People
	Requests
	Families
}

// People keeps users.
type People interface {
	// SaveUser stores a user by issuer and subject: ID, CreatedAt and Member of one
	// that is there stay, all else is replaced. It returns what is stored.
	SaveUser(ctx context.Context, u User) (User, error)
	// JoinUser takes the live join code with this hash away and adds what it gives
	// to the memberships of the user with u's issuer and subject, whom u makes if
	// there is none. A hash that no live code has counts as in
	// [Credentials.RedeemJoinCode]; the answer is then [ErrNoCredential].
	JoinUser(ctx context.Context, hash [32]byte, now time.Time, maxTries int, u User) (User, error)
	// ChangeUser stores what decide makes of the user with this id, or [ErrNoUser].
	// ID, Issuer, Subject and CreatedAt stay.
	ChangeUser(ctx context.Context, id string, decide func(User) (User, error)) error
	// User returns a user by id, or [ErrNoUser].
	User(ctx context.Context, id string) (User, error)
	// Users lists all, oldest first.
	Users(ctx context.Context) ([]User, error)
	// DropUser deletes a user and revokes the families and tokens that are theirs.
	// Absence is a success.
	DropUser(ctx context.Context, id string, at time.Time) error
}

// Requests keeps what is under way.
type Requests interface {
	// AddRequest stores a request; its hashes must be new. Those that expired more
	// than [KeepExpired] before r.CreatedAt are deleted.
	AddRequest(ctx context.Context, r Request) error
	// ChangeRequest lets decide answer the request of this kind whose Hash it is:
	// expired ones, too. The error is decide's, or [ErrNoRequest].
	ChangeRequest(ctx context.Context, kind RequestKind, hash [32]byte, decide func(Request) (RequestChange, error)) error
	// ChangeDevice is ChangeRequest for the code that a person types, which belongs
	// to a request of kind [DeviceRequest].
	ChangeDevice(ctx context.Context, userHash [32]byte, decide func(Request) (RequestChange, error)) error
	// MissDevice counts a typed code that no request has against every request of
	// kind [DeviceRequest] that nobody has answered, and deletes those that reach
	// maxTries.
	MissDevice(ctx context.Context, maxTries int) error
}

// Families keeps the tokens of sign-ins.
type Families interface {
	// AddFamily stores a family with its first tokens. Families that expired more
	// than [KeepExpired] before its CreatedAt are deleted with all that is theirs.
	AddFamily(ctx context.Context, i Issue) error
	// ChangeFamily lets decide answer a refresh token, live or spent. The error is
	// decide's, or [ErrNoFamily].
	ChangeFamily(ctx context.Context, refresh [32]byte, decide func(Family, Refresh) (Issue, error)) error
	// Families lists the families of a user that were not revoked, of all users for
	// "", oldest first.
	Families(ctx context.Context, user string) ([]Family, error)
	// RevokeFamily ends a family and its access tokens. Absence, and a family that
	// was revoked before, are a success and change nothing.
	RevokeFamily(ctx context.Context, id, why string, at time.Time) error
	// UseToken records the first use of an access token, and that its family's
	// generation arrived. Absence is a success.
	UseToken(ctx context.Context, id string, at time.Time) error
}

const (
	// KeepExpired is how long what expired is kept at least, so that who comes late
	// is told why.
	KeepExpired = 24 * time.Hour
	// KeepSpent is how long a spent refresh token is known. Later than that it
	// would have expired anyway.
	KeepSpent = 90 * 24 * time.Hour
)

// User is a person who has signed in.
type User struct {
	ID      string // ours: random, never given twice
	Issuer  string // who vouches for them: "https://github.com", an OIDC issuer, or [IssuerLocal]
	Subject string // the issuer's stable id of them
	Login   string // how they are called there; may change
	Name    string // for people to read; may be ""
	Email   string // as the issuer verified it; may be ""
	// Groups are the issuer's at the last sign-in, for policies.
	Groups []string
	// Member lists what join codes gave, at most one row for a repo.
	Member []Membership
	// Upstream is what the issuer gave for asking it about access, sealed; nil for
	// none.
	Upstream  []byte
	CreatedAt time.Time
	SeenAt    time.Time // of the last sign-in
}

// IssuerLocal vouches for people who signed in by a join code.
const IssuerLocal = "local"

// Membership is a role in one repo that a join code gave.
type Membership struct {
	Repo api.Repo `json:"repo"`
	Role api.Role `json:"role"`
}

// MoveMembership returns members with those in from moved to to, where the stronger
// role counts, and whether there were any. It leaves what it is given alone.
func MoveMembership(members []Membership, from, to api.Repo) (moved []Membership, any bool) {
	at := slices.IndexFunc(members, func(m Membership) bool { return m.Repo == from })
	if at < 0 || from == to {
		return members, false
	}
	moved = slices.Clone(members)
	there := slices.IndexFunc(moved, func(m Membership) bool { return m.Repo == to })
	if there < 0 {
		moved[at].Repo = to
		return moved, true
	}
	moved[there].Role = max(moved[there].Role, moved[at].Role)
	return slices.Delete(moved, at, at+1), true
}

// RequestKind says what a [Request] is. The values are stored.
type RequestKind string

// The kinds of requests.
const (
	DeviceRequest   RequestKind = "device"   // a device grant: Hash is the device code's
	CodeRequest     RequestKind = "code"     // an authorization code
	UpstreamRequest RequestKind = "upstream" // a trip to an issuer: Hash is the state's
	BrowserRequest  RequestKind = "browser"  // a person at our pages: Hash is the cookie's
)

// Request is a sign-in under way.
type Request struct {
	Kind      RequestKind
	Hash      [32]byte // SHA-256 of the secret that the client comes back with
	UserHash  [32]byte // of the code that a person types; zero for none
	Client    string   // client id; of a trip the provider's name
	User      string   // who approved it, "" while nobody has
	Denied    bool
	Device    string // how the client calls its machine
	Challenge string // PKCE's S256; of a trip what binds it to a browser
	Redirect  string // where the browser goes when it ends
	Family    string // that came of it, "" for none yet
	CreatedAt time.Time
	ExpiresAt time.Time
	PolledAt  time.Time     // zero = never
	Interval  time.Duration // between polls, at least; whole milliseconds
	Tries     int           // wrong codes that were typed while it was open
	Done      bool          // set by decide: delete it
}

// RequestChange is what became of a request.
type RequestChange struct {
	Request Request // its zero value, without Hash, changes nothing
	Issue   Issue   // a new family that comes of it
}

// Family is one sign-in on one machine: a chain of generations of refresh tokens
// of which the newest counts. Each has as many tokens as were asked for at once.
type Family struct {
	ID     string
	User   string // "" for a machine's, which has no refresh tokens
	Client string
	Device string
	// Address is where the newest tokens were asked for from, as the server counts
	// requests: an address, or the network of one. "" where that is not known, and
	// once the family was revoked.
	Address string
	// Generation is the newest that was given out, from 1.
	Generation uint64
	// Proven is the newest of which somebody used a token.
	Proven    uint64
	CreatedAt time.Time
	RotatedAt time.Time // when Generation was first given out: in use, once an hour
	ExpiresAt time.Time
	RevokedAt time.Time // zero = live
	Why       string    // it was revoked
}

// Refresh is the refresh token that is presented.
type Refresh struct {
	Generation uint64
	// SpentAt is when the generation after it was first given out, zero for a token
	// of the newest.
	SpentAt time.Time
}

// Issue is a family and the tokens that are given out in its newest generation.
type Issue struct {
	Family  Family   // its zero value, without ID, changes nothing
	Refresh [32]byte // SHA-256 of a new refresh token; zero for none
	// Access is a new access token, none without ID. Earlier ones live until they
	// expire, or are deleted a while after.
	Access Token
}
