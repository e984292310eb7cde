package pgstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// ErrNotEmpty says that a database has data already.
var ErrNotEmpty = errors.New("the database is not empty")

// Tables gives the rows of the tables of another store by their names, as
// sqlitestore's Dump lends them.
type Tables = func(name string) iter.Seq2[map[string]any, error]

// Take fills an empty database with the tables of a store on SQLite: repos with
// their history, ledgers and chains, names, policies, credentials and accounts, and
// the epoch, so that clients go on as before. It is one transaction: all of it or
// nothing. [ErrNotEmpty] where anything is there already.
func (s *Store) Take(ctx context.Context, from Tables) error {
	// Not tried again: the rows can be read once.
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "LOCK TABLE repos, tokens IN EXCLUSIVE MODE"); err != nil {
			return err
		}
		some, err := hasData(ctx, tx)
		if err != nil {
			return err
		}
		if some {
			return ErrNotEmpty
		}
		if _, err := tx.Exec(ctx, "DELETE FROM repos"); err != nil {
			return err
		}
		t := taker{tx: tx, from: from, ids: map[int64]int64{serverRepo: serverRepo}}
		return t.all(ctx)
	})
	if err != nil {
		return fmt.Errorf("filling the database: %w", err)
	}
	return nil
}

func hasData(ctx context.Context, tx pgx.Tx) (some bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM repos WHERE repo <> 0) OR EXISTS (SELECT FROM repo_names) OR EXISTS (SELECT FROM audit)
		OR EXISTS (SELECT FROM tokens) OR EXISTS (SELECT FROM join_codes) OR EXISTS (SELECT FROM users) OR EXISTS (SELECT FROM families)`).Scan(&some)
	return some, err
}

// taker copies tables inside a transaction.
type taker struct {
	tx   pgx.Tx
	from Tables
	ids  map[int64]int64 // the numbers of repos there, and here
}

// theirs is one row of the other store.
type theirs map[string]any

// copied is a table and what becomes of a row of it. Columns that are named alike
// on both sides need no word.
type copied struct {
	table   string
	source  string // "" for the same name
	columns []string
	change  func(row theirs) error
}

func (t *taker) all(ctx context.Context) error {
	if err := t.repos(ctx); err != nil {
		return err
	}
	versions := []string{"repo", "version", "ordinal", "key", "op", "sum", "bytes", "at_ms", "actor", "rules", "allowed", "redacted", "pruned", "salt", "seal"}
	sign := []string{"kind", "hash", "user_hash", "client", "account", "denied", "device", "challenge", "redirect", "family", "created_ms", "expires_ms", "polled_ms", "interval_ms", "tries"}
	for _, c := range []copied{
		{table: "bodies", columns: []string{"repo", "sum", "content"}, change: t.ofRepo(bytesIn("content"))},
		{table: "entries", columns: []string{"repo", "key", "sum", "bytes", "version", "modified_ms", "allowed"}, change: t.ofRepo()},
		{table: "tombs", columns: []string{"repo", "key", "version"}, change: t.ofRepo()},
		{table: "redactions", columns: []string{"repo", "sum", "at_ms"}, change: t.ofRepo()},
		{table: "actors", columns: []string{"repo", "id", "digest", "actor"}, change: t.ofRepo(hexIn("id"), t.actor)},
		{table: "versions", columns: versions, change: t.ofRepo(sealed, hexIn("actor"), flagIn("redacted"), flagIn("pruned"))},
		{
			table: "audit", columns: []string{"repo", "number", "action", "actor", "at_ms", "version", "salt", "detail", "digest", "seals", "hash"},
			change: t.ofRepo(hexIn("actor"), zeroIn("seals"), digested),
		},
		{
			table: "scan_policy", columns: []string{"repo", "number", "id", "rule", "keys", "reason", "actor", "at_ms", "expires_ms", "ended_ms", "ended_by"},
			change: t.ofRepo(hexIn("actor"), hexIn("ended_by")),
		},
		{table: "rescans", columns: []string{"repo", "rules", "at_ms", "marks"}, change: t.ofRepo()},
		{
			table: "devices", columns: []string{"repo", "id", "actor", "nameless", "first_ms", "seen_ms", "epoch", "pulled", "cleaned", "cleaned_ms"},
			change: t.ofRepo(hexIn("actor"), flagIn("nameless")),
		},
		{table: "repo_names", source: "former_names", columns: []string{"name", "repo"}, change: t.ofRepo()},
		{
			table: "tokens", columns: []string{"id", "name", "hash", "repos", "role", "created_ms", "expires_ms", "revoked_ms", "account", "family", "generation", "used_ms"},
			change: accountIn,
		},
		{table: "join_codes", columns: []string{"hash", "repo", "role", "expires_ms", "tries"}},
		{table: "users", columns: []string{"id", "issuer", "subject", "login", "name", "email", "user_groups", "members", "upstream", "created_ms", "seen_ms"}},
		{table: "sign_ins", columns: sign, change: func(r theirs) error { return errors.Join(accountIn(r), flagIn("denied")(r)) }},
		{
			table: "families", columns: []string{"id", "account", "client", "device", "generation", "proven", "created_ms", "rotated_ms", "expires_ms", "revoked_ms", "why", "address"},
			change: accountIn,
		},
		{table: "refresh_tokens", columns: []string{"hash", "family", "generation", "spent_ms"}},
	} {
		if err := t.copy(ctx, c); err != nil {
			return err
		}
	}
	if _, err := t.tx.Exec(ctx, sealRows); err != nil {
		return fmt.Errorf("sealing the chains: %w", err)
	}
	return t.meta(ctx)
}

// sealRows gives each audit row the seals of the versions that its change made, as
// store.SealAll does.
const sealRows = `UPDATE audit t SET seals = v.seals FROM (
		SELECT repo, version, sha256(string_agg(seal, ''::bytea ORDER BY ordinal)) AS seals FROM versions GROUP BY repo, version
	) v WHERE t.repo = v.repo AND t.version = v.version`

// repos copies the repos' own rows, gives them numbers, and enters names and
// identities.
func (t *taker) repos(ctx context.Context) error {
	var names, identities [][]any
	err := t.copy(ctx, copied{
		table: "repos", columns: []string{"repo", "name", "identity", "version", "modified_ms", "audit_number", "audit_hash"},
		change: func(r theirs) error {
			id, _ := r["id"].(int64)
			if _, known := t.ids[id]; !known {
				t.ids[id] = newRepoID()
			}
			r["repo"], r["audit_number"], r["audit_hash"] = t.ids[id], r["chain"], r["chain_hash"]
			if r["identity"] == nil {
				r["identity"] = ""
			}
			if r["audit_hash"] == nil { // the chain has no row
				r["audit_hash"] = make([]byte, 32)
			}
			if id != serverRepo {
				names = append(names, []any{r["name"], r["repo"]})
			}
			if r["identity"] != "" {
				identities = append(identities, []any{r["identity"], r["repo"]})
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	if _, err := t.tx.CopyFrom(ctx, pgx.Identifier{"repo_names"}, []string{"name", "repo"}, pgx.CopyFromRows(names)); err != nil {
		return fmt.Errorf("names: %w", err)
	}
	if _, err := t.tx.CopyFrom(ctx, pgx.Identifier{"repo_identities"}, []string{"identity", "repo"}, pgx.CopyFromRows(identities)); err != nil {
		return fmt.Errorf("identities: %w", err)
	}
	return nil
}

// meta takes over the epoch and the generation of credentials.
func (t *taker) meta(ctx context.Context) error {
	for r, err := range t.from("meta") {
		if err != nil {
			return err
		}
		if _, err := t.tx.Exec(ctx, "UPDATE meta SET value = $2 WHERE name = $1", r["name"], fmt.Sprint(r["value"])); err != nil {
			return err
		}
	}
	return nil
}

func (t *taker) copy(ctx context.Context, c copied) error {
	source := c.source
	if source == "" {
		source = c.table
	}
	next, stop := iter.Pull2(t.from(source))
	defer stop()
	values := make([]any, len(c.columns))
	_, err := t.tx.CopyFrom(ctx, pgx.Identifier{c.table}, c.columns, pgx.CopyFromFunc(func() ([]any, error) {
		r, err, more := next()
		if !more || err != nil {
			return nil, err
		}
		if c.change != nil {
			if err := c.change(r); err != nil {
				return nil, err
			}
		}
		for i, column := range c.columns {
			values[i] = r[column]
		}
		return slices.Clone(values), nil
	}))
	if err != nil {
		return fmt.Errorf("table %s: %w", c.table, err)
	}
	return nil
}

// ofRepo puts the repo's number here in place of the one there, and makes more
// changes.
func (t *taker) ofRepo(more ...func(theirs) error) func(theirs) error {
	return func(r theirs) error {
		id, _ := r["repo"].(int64)
		here, known := t.ids[id]
		if !known {
			return fmt.Errorf("a row belongs to the repo number %d, which there is not: run fsck", id)
		}
		for _, change := range more {
			if err := change(r); err != nil {
				return err
			}
		}
		r["repo"] = here
		return nil
	}
}

// hexIn writes a pseudonym as text.
func hexIn(column string) func(theirs) error {
	return func(r theirs) error {
		if id, ok := r[column].([]byte); ok {
			r[column] = hex.EncodeToString(id)
		}
		return nil
	}
}

func bytesIn(column string) func(theirs) error {
	return func(r theirs) error {
		text, _ := r[column].(string)
		r[column] = []byte(text)
		return nil
	}
}

func flagIn(column string) func(theirs) error {
	return func(r theirs) error {
		number, _ := r[column].(int64)
		r[column] = number != 0
		return nil
	}
}

// zeroIn writes a hash of zeros for none.
func zeroIn(column string) func(theirs) error {
	return func(r theirs) error {
		if r[column] == nil {
			r[column] = make([]byte, 32)
		}
		return nil
	}
}

// digested gives a row that never had a detail the digest of none.
func digested(r theirs) error {
	if r["digest"] == nil {
		none := store.DigestDetail([16]byte{}, "")
		r["digest"] = none[:]
	}
	return nil
}

// sealed computes the seal of a version that was not redacted.
func sealed(r theirs) error {
	if r["seal"] != nil {
		return nil
	}
	text := func(column string) string { s, _ := r[column].(string); return s }
	number := func(column string) int64 { n, _ := r[column].(int64); return n }
	key, err := api.ParseKey(text("key"))
	if err != nil {
		return fmt.Errorf("a stored key is damaged: %w", err)
	}
	v := store.Version{
		Key: key, Version: uint64(number("version")), Op: store.Op(text("op")), Bytes: int(number("bytes")), Rules: text("rules"), Allowed: text("allowed"),
	}
	if stored, ok := r["sum"].([]byte); ok {
		if v.Sum, err = sumOf(stored); err != nil {
			return err
		}
	}
	if salt, ok := r["salt"].([]byte); ok {
		copy(v.Salt[:], salt)
	}
	seal := v.Seal()
	r["seal"] = seal[:]
	return nil
}

func accountIn(r theirs) error {
	r["account"] = r["user"]
	return nil
}

// actor makes an actor of its columns; an erased one is empty and has no digest.
func (t *taker) actor(r theirs) error {
	if erased, _ := r["erased"].(int64); erased != 0 {
		r["actor"], r["digest"] = "", nil
		return nil
	}
	text := func(column string) string { s, _ := r[column].(string); return s }
	id, _ := r["repo"].(int64)
	a, err := newActor(t.ids[id], api.Actor{
		Token: text("token"), User: text("account"), Person: text("person"), Device: text("device"), Agent: text("agent"), Session: text("session"),
	})
	r["actor"], r["digest"] = a.text, a.digest[:]
	return err
}
