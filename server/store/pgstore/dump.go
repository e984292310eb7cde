package pgstore

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// dumped says how tables are read for another store: as sqlitestore's Dump lends
// them, which [Store.Take] reads as well. Rows of versions come in their order.
var dumped = map[string]string{
	"meta":       "SELECT name, value FROM meta",
	"repos":      "SELECT repo AS id, name, version, modified_ms, nullif(identity, '') AS identity, audit_number AS chain, audit_hash AS chain_hash FROM repos ORDER BY repo",
	"bodies":     "SELECT repo, sum, content FROM bodies",
	"entries":    "SELECT repo, key, sum, bytes, version, modified_ms, allowed FROM entries",
	"tombs":      "SELECT repo, key, version FROM tombs",
	"redactions": "SELECT repo, sum, at_ms FROM redactions",
	"actors":     "SELECT repo, decode(id, 'hex') AS id, actor FROM actors",
	"versions": `SELECT repo, version, ordinal, key, op, sum, bytes, at_ms, decode(actor, 'hex') AS actor, rules, allowed, redacted, pruned, salt,
		CASE WHEN redacted THEN seal END AS seal FROM versions ORDER BY repo, version, ordinal`,
	// The digest of a row that never had a detail is that of 16 zeros.
	"audit": `SELECT repo, number, action, decode(actor, 'hex') AS actor, at_ms, version, salt, detail,
		nullif(digest, sha256(decode(repeat('00', 16), 'hex'))) AS digest, hash FROM audit ORDER BY repo, number`,
	"scan_policy": `SELECT repo, id, rule, keys, reason, decode(actor, 'hex') AS actor, at_ms, expires_ms, ended_ms, decode(ended_by, 'hex') AS ended_by,
		number FROM scan_policy ORDER BY repo, number`,
	"devices":        "SELECT repo, id, decode(actor, 'hex') AS actor, nameless, first_ms, seen_ms, epoch, pulled, cleaned, cleaned_ms FROM devices",
	"rescans":        "SELECT repo, rules, at_ms, marks FROM rescans",
	"former_names":   "SELECT n.name, n.repo FROM repo_names n JOIN repos r ON r.repo = n.repo WHERE r.name <> n.name",
	"tokens":         `SELECT id, name, hash, repos, role, created_ms, expires_ms, revoked_ms, account AS "user", family, generation, used_ms FROM tokens`,
	"join_codes":     "SELECT hash, repo, role, expires_ms, tries FROM join_codes",
	"users":          "SELECT id, issuer, subject, login, name, email, user_groups, members, upstream, created_ms, seen_ms FROM users",
	"sign_ins":       `SELECT kind, hash, user_hash, client, account AS "user", denied, device, challenge, redirect, family, created_ms, expires_ms, polled_ms, interval_ms, tries FROM sign_ins`,
	"families":       `SELECT id, account AS "user", client, device, generation, proven, created_ms, rotated_ms, expires_ms, revoked_ms, why FROM families`,
	"refresh_tokens": "SELECT hash, family, generation, spent_ms FROM refresh_tokens",
}

// remade are the rows that mean the same there in another form.
var remade = map[string]func(theirs) error{
	"meta":   numbered,
	"bodies": textIn("content"),
	"actors": spread,
}

// Dump lends use a way to read whole tables, all of one moment, beside servers
// that write: the rows are those that sqlitestore's Dump lends of the same store, so
// that one can be made of the other. The rows of a table end with an error, if any,
// and must be read to their end, or to where the reader stops, before the next
// table's.
func (s *Store) Dump(ctx context.Context, use func(table func(name string) iter.Seq2[map[string]any, error]) error) error {
	if s.isClosed() {
		return fmt.Errorf("reading the tables: %w", errClosed)
	}
	// Not tried again: the rows can be read once.
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		return use(func(name string) iter.Seq2[map[string]any, error] {
			return func(yield func(map[string]any, error) bool) {
				if err := rowsOf(ctx, tx, name, yield); err != nil {
					yield(nil, fmt.Errorf("table %s: %w", name, err))
				}
			}
		})
	})
	if err != nil {
		return fmt.Errorf("reading the tables: %w", err)
	}
	return nil
}

// rowsOf returns an error only where the reader has not stopped.
func rowsOf(ctx context.Context, tx pgx.Tx, name string, yield func(map[string]any, error) bool) error {
	query, known := dumped[name]
	if !known {
		return fmt.Errorf("there is no table %q", name)
	}
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		row, err := rowOf(rows, remade[name])
		if err != nil {
			return err
		}
		if !yield(row, nil) {
			return nil
		}
	}
	return rows.Err()
}

// rowOf reads a row in the types that SQLite has.
func rowOf(rows pgx.Rows, remake func(theirs) error) (theirs, error) {
	values, err := rows.Values()
	if err != nil {
		return nil, err
	}
	row := make(theirs, len(values))
	for i, field := range rows.FieldDescriptions() {
		switch v := values[i].(type) {
		case int32:
			row[field.Name] = int64(v)
		case bool:
			row[field.Name] = int64(0)
			if v {
				row[field.Name] = int64(1)
			}
		default:
			row[field.Name] = v
		}
	}
	if remake != nil {
		err = remake(row)
	}
	return row, err
}

func textIn(column string) func(theirs) error {
	return func(r theirs) error {
		content, _ := r[column].([]byte)
		r[column] = string(content)
		return nil
	}
}

// numbered makes a number of what is one.
func numbered(r theirs) (err error) {
	if text, ok := r["value"].(string); ok && r["name"] == "credential_generation" {
		r["value"], err = strconv.ParseInt(text, 10, 64)
	}
	return err
}

// spread makes columns of an actor; one who was erased has none.
func spread(r theirs) error {
	text, _ := r["actor"].(string)
	a, err := readActor(text)
	r["erased"] = int64(0)
	if text == "" {
		r["erased"] = int64(1)
	}
	delete(r, "actor")
	for column, name := range map[string]string{"token": a.Token, "account": a.User, "person": a.Person, "device": a.Device, "agent": a.Agent, "session": a.Session} {
		r[column] = name
	}
	return err
}
