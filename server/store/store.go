package store

import (
	"context"
	"errors"
	"time"

	"github.com/teammem/teammemd/api"
)

// Errors of the contract. A backend wraps them; nothing else may be matched.
var (
	// ErrNoRepo says that the repo was never written.
	ErrNoRepo = errors.New("no such repo")
	// ErrNoVersion says that the version does not exist or was redacted.
	ErrNoVersion = errors.New("no such version")
	// ErrNoCredential says that no live token or join code has this hash.
	ErrNoCredential = errors.New("no such credential")
	// ErrNoEntry says that a repo's scan policy has no such entry that counts.
	ErrNoEntry = errors.New("no such entry of the scan policy")
	// ErrLocked says that another process serves this store.
	ErrLocked = errors.New("store is in use by another process")
	// ErrFull says that a write found no room on the disk. Nothing of it was kept,
	// and what is there can be read.
	ErrFull = errors.New("the disk of the database is full")
	// ErrNewerSchema says that a newer release wrote this store.
	ErrNewerSchema = errors.New("store was written by a newer release")
)

// Store keeps repos. See the package documentation for what each method
// promises.
type Store interface {
	// Update changes one repo. It returns the head after the change, which is
	// the head before it when the change was empty or decide failed. When ctx
	// ends before decide was called, nothing is changed and the error is ctx's;
	// once committed, the answer is a success.
	Update(ctx context.Context, repo api.Repo, decide func(Tx) (Change, error)) (*Head, error)
	// Head returns the current snapshot, or [ErrNoRepo].
	Head(ctx context.Context, repo api.Repo) (*Head, error)
	// Bodies returns the contents with these sums that some unredacted version
	// of the repo has or had; missing ones are left out of the map. The order
	// and repetition of sums do not matter. [ErrNoRepo] if the repo was never
	// written.
	Bodies(ctx context.Context, repo api.Repo, sums []api.Checksum) (map[api.Checksum]string, error)
	// History returns versions, newest first, at most limit (0 = all), of one
	// key, or of all keys for the zero Key; those of one change in the order of
	// their ordinals, which is that of their keys. [ErrNoRepo] if the repo was never
	// written; an unknown key has an empty history, and redacted versions are in that
	// of all keys alone.
	History(ctx context.Context, repo api.Repo, key api.Key, limit int) ([]Version, error)
}

// Tx is what decide may look at.
type Tx interface {
	// Head is the state that the change will build on, never nil: a repo that
	// was never written has a head of version 0.
	Head() *Head
	// Had reports whether a version of key ever had this content.
	Had(key api.Key, sum api.Checksum) (bool, error)
}

// Change is what one committed update does. Puts and Retire name each key at
// most once between them.
type Change struct {
	Puts   []Put
	Retire []api.Key // keys to turn into tombstones; live or never seen
	Actor  api.Actor
	At     time.Time // the server's clock, UTC; stored with millisecond precision
	// Rules names the scanner's rule set (version and hash) that passed it.
	Rules string
	// Redact names contents that leave the repo for good: every version that has
	// one loses content, checksum, size, key and what was allowed in it, and the
	// repo's ledger gets the checksum. What the ledger has cannot be put. A live entry with such a content must be put or retired by the same
	// change, which may be the change's only effect; a content that the repo never
	// had is an effect as well, so that it can be kept out. One that the ledger has
	// already is none.
	Redact []api.Checksum
	// Action is what the audit row is called, [ActionWrite] for "", and Detail what
	// it says beside the versions: JSON without contents.
	Action, Detail string
}

// Put sets one entry. A put of the content that the key already has is an
// effect as well: the caller leaves such puts out.
type Put struct {
	Key     api.Key
	Content string
	Sum     api.Checksum // of Content; computed once, at the door
	// Allowed says which findings in it people let pass. It is the core's to read;
	// "" for none.
	Allowed string
}

// Version is one row of a key's history.
type Version struct {
	Key      api.Key
	Version  uint64 // the repo's version that this write made
	Op       Op
	Sum      api.Checksum // zero for OpRetire and for a redacted version
	Bytes    int
	At       time.Time
	Actor    api.Actor
	Rules    string
	Allowed  string // as in [Put]
	Redacted bool   // content, checksum, size, key and Allowed are gone: Key is zero
	Pruned   bool   // the content is gone by retention
	// ActorID is the pseudonym of Actor in the repo's chain; Salt is zero once the
	// version was redacted. See [Version.Seal].
	ActorID string
	Salt    [16]byte
}

// Op is what a version did to its key. The values are stored.
type Op string

// The operations.
const (
	OpPut    Op = "put"
	OpRetire Op = "retire"
)

// Credentials keeps tokens and join codes.
type Credentials interface {
	// AddToken stores a token; its ID must be new.
	AddToken(ctx context.Context, t Token) error
	// TokenByHash returns the token with this hash, expired and revoked ones
	// included, or [ErrNoCredential].
	TokenByHash(ctx context.Context, hash [32]byte) (Token, error)
	// Tokens lists all tokens, oldest first, without those of sign-ins.
	Tokens(ctx context.Context) ([]Token, error)
	// RevokeToken marks a token as revoked at a time; revoking twice keeps the
	// first time. [ErrNoCredential] if there is no such ID. The zero time is
	// refused: it is how a live token looks.
	RevokeToken(ctx context.Context, id string, at time.Time) error
	// AddJoinCode stores a code.
	AddJoinCode(ctx context.Context, c JoinCode) error
	// RedeemJoinCode takes the live code with this hash away, so that only one
	// caller ever gets it, and stores the token that mint makes for it in the
	// same transaction. A hash that no live code has counts one wrong try
	// against every live code and burns those that reach maxTries; the answer
	// is then [ErrNoCredential].
	RedeemJoinCode(ctx context.Context, hash [32]byte, now time.Time, maxTries int, mint func(JoinCode) (Token, error)) error
	// Generation returns a number that differs after every revocation of a token,
	// made by whichever process. Adding one need not change it.
	Generation(ctx context.Context) (uint64, error)
}

// Token is a bearer credential. The secret itself is not here.
type Token struct {
	ID        string
	Name      string
	Hash      [32]byte // SHA-256 of the secret
	Repos     string   // pattern of repos, as in `server token create --repo`
	Role      api.Role
	CreatedAt time.Time
	ExpiresAt time.Time // zero = never
	RevokedAt time.Time // zero = live
	// User and Family are those of a sign-in, "" for a service token. What the token
	// allows is then the user's access, and Role and Repos bound it: zero and "" do
	// not. A family without a user is a machine's; its tokens are like service tokens.
	User   string
	Family string
	// Generation is the family's that the token was given out in.
	Generation uint64
	// Used is when the token was first used, zero before; kept for sign-ins, where it
	// proves that a refreshed token arrived.
	Used time.Time
}

// JoinCode is a single-use invitation to one repo.
type JoinCode struct {
	Hash      [32]byte // SHA-256 of the canonical code
	Repo      api.Repo
	Role      api.Role
	ExpiresAt time.Time
	Tries     int // wrong tries while it was live
}

// Backend is everything that a database offers the server.
type Backend interface {
	Store
	Credentials
	Policies
	Rescans
	Audits
	Names
	Devices
	Keeper
	// Close finishes what Update has begun and releases the files.
	Close() error
}
