package sqlitestore

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
)

// signedIn are the tables of people and their sign-ins, whole but for tokens.
var signedIn = []string{"users", "families", "refresh_tokens"}

// accounts takes people and sign-ins as they are in the old store: a refresh token
// that was spent since the backup must not live again, nor a person who was
// dropped. Where that cannot be read every sign-in ends. Requests under way end in
// any case.
func (p *replay) accounts(ctx context.Context) error {
	return p.next.write(ctx, func(conn *sqlite.Conn) error {
		if err := exec(conn, "DELETE FROM sign_ins"); err != nil {
			return err
		}
		taken, err := p.oldAccounts(ctx)
		if !p.readable(err) {
			return endSignIns(conn, toMillis(p.at))
		}
		for _, statement := range []string{"DELETE FROM users", "DELETE FROM families", "DELETE FROM refresh_tokens", "DELETE FROM tokens WHERE family <> ''"} {
			if err := exec(conn, statement); err != nil {
				return err
			}
		}
		for _, row := range taken {
			if err := insertRow(conn, row.table, row.values); err != nil {
				return err
			}
		}
		return touchCredentials(conn)
	})
}

// endSignIns revokes every family with its tokens.
func endSignIns(conn *sqlite.Conn, at int64) error {
	if err := exec(conn, "UPDATE families SET revoked_ms = ?, why = 'restore', address = '' WHERE revoked_ms = 0", at); err != nil {
		return err
	}
	if err := exec(conn, "UPDATE tokens SET revoked_ms = ? WHERE family <> '' AND revoked_ms = 0", at); err != nil {
		return err
	}
	return touchCredentials(conn)
}

type tableRow struct {
	table  string
	values Row
}

func (p *replay) oldAccounts(ctx context.Context) (taken []tableRow, err error) {
	err = p.old.Dump(ctx, func(table func(string) iter.Seq2[Row, error]) error {
		for _, name := range append(slices.Clone(signedIn), "tokens") {
			for row, err := range table(name) {
				if err != nil {
					return err
				}
				if name != "tokens" || row["family"] != "" {
					taken = append(taken, tableRow{name, row})
				}
			}
		}
		return nil
	})
	return taken, err
}

func insertRow(conn *sqlite.Conn, table string, row Row) error {
	columns := slices.Sorted(maps.Keys(row))
	values := make([]any, len(columns))
	for i, column := range columns {
		values[i] = row[column]
	}
	return exec(conn, "INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES (?"+strings.Repeat(", ?", len(columns)-1)+")", values...)
}
