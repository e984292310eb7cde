package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/teammem/teammemd/api"
)

// Audits keeps what happened: one chain of rows for each repo, and one for the
// server itself under the zero Repo. Each row's hash covers the row before it,
// so that a row cannot be changed, left out or put in without all later hashes
// changing. Rows are never deleted.
//
// A chain holds nothing that may have to be forgotten. Who acted is a
// pseudonym ([Event.Actor] is looked up, or entered, in the repo's actors); what
// was done is covered by a salted digest, so that taking away detail and salt
// leaves a chain that still verifies and tells nothing.
//
// Every change that [Store.Update] commits adds one row by itself, in the same
// transaction.
type Audits interface {
	// Audit adds one row to a chain. A repo that was never written may have one.
	Audit(ctx context.Context, repo api.Repo, e Event) error
	// Trail returns the rows of a chain after a number, oldest first, at most
	// limit (0 = all). A chain that does not exist is empty.
	Trail(ctx context.Context, repo api.Repo, after uint64, limit int) ([]AuditRow, error)
}

// Event is what happened.
type Event struct {
	Action string // such as "token.create", one of the constants
	Actor  api.Actor
	At     time.Time // UTC, stored with millisecond precision
	Detail string    // JSON without contents, "" for none
}

// AuditRow is one row of a chain.
type AuditRow struct {
	Number  uint64 // from 1, without gaps
	Action  string
	ActorID string    // the pseudonym: 32 hexadecimal digits
	Actor   api.Actor // what the pseudonym stands for; empty once it was erased
	At      time.Time
	Version uint64 // of the repo, that the action made; 0 for none
	// Keys are those that the change put or retired, in its order. Those of contents
	// that were redacted are gone.
	Keys   []api.Key
	Salt   [16]byte // zero once Detail was taken away, and where there was none
	Detail string
	Digest [32]byte // [DigestDetail] of Salt and Detail, as they were at first
	Seals  [32]byte // [SealAll] of the versions that the change made; zero for none
	Hash   [32]byte // [AuditRow.Chain] with the hash of the row before
}

// DigestDetail is SHA-256 over salt and detail.
func DigestDetail(salt [16]byte, detail string) [32]byte {
	return sha256.Sum256(append(salt[:], detail...))
}

// Chain returns the hash of the row that follows one with the hash before
// (zero for the first row): SHA-256 over before, the numbers in big-endian
// order, and the texts, each with its length before it. The repo is not in it: it
// may be renamed.
func (r *AuditRow) Chain(before [32]byte) [32]byte {
	buf := append([]byte(nil), before[:]...)
	buf = binary.BigEndian.AppendUint64(buf, r.Number)
	buf = binary.BigEndian.AppendUint64(buf, uint64(r.At.UnixMilli()))
	buf = binary.BigEndian.AppendUint64(buf, r.Version)
	for _, text := range []string{r.Action, r.ActorID} {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(text)))
		buf = append(buf, text...)
	}
	buf = append(buf, r.Digest[:]...)
	buf = append(buf, r.Seals[:]...)
	return sha256.Sum256(buf)
}

// Seal is what stands for a version in the chain: SHA-256 over its salt and all
// that [Version] says of it except its actor, which the row has. It is stored with
// the version and stays when the rest is redacted.
func (v *Version) Seal() [32]byte {
	buf := append([]byte(nil), v.Salt[:]...)
	buf = binary.BigEndian.AppendUint64(buf, v.Version)
	buf = binary.BigEndian.AppendUint64(buf, uint64(v.Bytes))
	for _, text := range []string{v.Key.String(), string(v.Op), v.Rules, v.Allowed} {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(text)))
		buf = append(buf, text...)
	}
	return sha256.Sum256(append(buf, v.Sum[:]...))
}

// SealAll is SHA-256 over seals in the order of their versions' ordinals.
func SealAll(seals [][32]byte) [32]byte {
	if len(seals) == 0 {
		return [32]byte{}
	}
	sum := sha256.New()
	for _, s := range seals {
		sum.Write(s[:])
	}
	return [32]byte(sum.Sum(nil))
}

// The actions of a chain. They are stored.
const (
	ActionWrite        = "write" // of entries: puts and retirements
	ActionRestore      = "restore"
	ActionRedact       = "redact"
	ActionPrune        = "prune"
	ActionRename       = "rename"
	ActionAllow        = "allow"
	ActionEndAllow     = "allow.end"
	ActionTokenCreate  = "token.create"
	ActionTokenRevoke  = "token.revoke"
	ActionJoin         = "join"
	ActionSignIn       = "sign-in"
	ActionSignOut      = "sign-out"
	ActionReuse        = "refresh.reuse" // a spent refresh token came again: its family is revoked
	ActionErase        = "erase"
	ActionServerChange = "server.restore"
)
