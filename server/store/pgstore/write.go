package pgstore

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

// applyStatement calls the function that does all of a change.
const applyStatement = "SELECT teammemd_apply($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)"

// write is one change as the database gets it.
type write struct {
	base     *row
	next     *store.Head
	in       store.Change
	change   change
	actor    actor
	versions []store.Version         // sorted by key
	bodies   map[api.Checksum][]byte // sealed where key is not nil
	key      *seal.DataKey
	audit    auditPart
	revived  bool
}

// newWrite prepares a change, which keeps the contract, on top of a row. Contents
// are sealed with key, nil for not.
func newWrite(base *row, c store.Change, key *seal.DataKey) (*write, error) {
	w := &write{base: base, in: c, key: key, bodies: make(map[api.Checksum][]byte, len(c.Puts))}
	version := base.head.Version + 1
	add := func(v store.Version) {
		v.Version, v.Rules = version, c.Rules
		_, _ = rand.Read(v.Salt[:]) // never fails
		w.versions = append(w.versions, v)
	}
	for _, p := range c.Puts {
		add(store.Version{Key: p.Key, Op: store.OpPut, Sum: p.Sum, Bytes: len(p.Content), Allowed: p.Allowed})
		w.bodies[p.Sum] = kept(key, p)
		_, dead := base.head.Tomb(p.Key)
		w.revived = w.revived || dead
	}
	for _, key := range c.Retire {
		add(store.Version{Key: key, Op: store.OpRetire})
	}
	slices.SortFunc(w.versions, func(a, b store.Version) int { return a.Key.Compare(b.Key) })
	var err error
	if w.actor, err = newActor(base.id, c.Actor); err != nil {
		return nil, err
	}
	seals := make([][32]byte, len(w.versions))
	for i := range w.versions {
		seals[i] = w.versions[i].Seal()
	}
	w.audit = newAuditPart(c.Action, c.Detail)
	w.audit.seals = store.SealAll(seals)
	w.next = base.head.Next(c)
	return w, nil
}

// args are those of [applyStatement].
func (w *write) args() []any {
	n := len(w.versions)
	keys, ops, allowed := make([]string, n), make([]string, n), make([]string, n)
	sums, salts, seals, sizes := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([]int32, n)
	for i := range w.versions {
		v := &w.versions[i]
		seal := v.Seal()
		keys[i], ops[i], allowed[i], sizes[i] = v.Key.String(), string(v.Op), v.Allowed, int32(v.Bytes)
		salts[i], seals[i] = v.Salt[:], seal[:]
		if v.Op == store.OpPut {
			sums[i] = v.Sum[:]
		}
	}
	bodySums, contents := make([][]byte, 0, len(w.bodies)), make([][]byte, 0, len(w.bodies))
	for sum, content := range w.bodies {
		bodySums, contents = append(bodySums, bytes.Clone(sum[:])), append(contents, content)
	}
	redact := make([][]byte, len(w.in.Redact))
	for i := range w.in.Redact {
		redact[i] = w.in.Redact[i][:]
	}
	return []any{
		w.base.id, w.next.Repo.String(), int64(w.base.head.Version), [16]byte(w.change), w.in.At.UnixMilli(),
		w.actor.id, w.actor.digest[:], w.actor.text,
		w.audit.action, w.in.Rules, w.audit.storedSalt(), w.audit.detail, w.audit.digest[:], w.audit.seals[:],
		keys, ops, sums, sizes, allowed, salts, seals,
		bodySums, contents, len(w.in.Retire) > 0, w.revived, redact, w.keyNumber(),
	}
}

// kept is a content as the database gets it.
func kept(key *seal.DataKey, p store.Put) []byte {
	if key == nil {
		return []byte(p.Content)
	}
	return key.Seal(p.Sum, p.Content)
}

// keyNumber is that of the data key, 0 for none.
func (w *write) keyNumber() int64 {
	if w.key == nil {
		return 0
	}
	return w.key.Number()
}

// actor is who acted, as a repo's actors have it: text, the digest by which it is
// found, and the pseudonym that it gets if it is new there.
type actor struct {
	id, text string
	digest   [32]byte
}

func newActor(repo int64, a api.Actor) (actor, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return actor{}, fmt.Errorf("encoding an actor: %w", err)
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return actor{
		id: hex.EncodeToString(id[:]), text: string(text),
		digest: sha256.Sum256(fmt.Appendf(nil, "%d %s", repo, text)),
	}, nil
}

func readActor(text string) (a api.Actor, err error) {
	if text == "" {
		return a, nil // erased
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return a, fmt.Errorf("a stored actor is damaged: %w", err)
	}
	return a, nil
}

// auditPart is what one event adds to a chain, but for its place there.
type auditPart struct {
	action, detail string
	salt           [16]byte
	digest, seals  [32]byte
}

func newAuditPart(action, detail string) auditPart {
	if action == "" {
		action = store.ActionWrite
	}
	p := auditPart{action: action, detail: detail}
	if detail != "" {
		_, _ = rand.Read(p.salt[:]) // never fails
	}
	p.digest = store.DigestDetail(p.salt, detail)
	return p
}

// storedSalt is NULL where there is no detail to hide.
func (p *auditPart) storedSalt() []byte {
	if p.detail == "" {
		return nil
	}
	return p.salt[:]
}
