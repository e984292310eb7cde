package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// moveMembers lets what people, join codes and tokens may do in one repo follow it
// to another name.
func moveMembers(ctx context.Context, tx pgx.Tx, from, to api.Repo) error {
	if from == to {
		return nil
	}
	rows, err := tx.Query(ctx, "SELECT "+userColumns+" FROM users WHERE position($1 IN members) > 0 ORDER BY id", from.String())
	if err != nil {
		return err
	}
	all, err := pgx.CollectRows(rows, scanUser)
	if err != nil {
		return err
	}
	for _, u := range all {
		next := u
		var any bool
		if next.Member, any = store.MoveMembership(u.Member, from, to); !any {
			continue // the name is a part of another
		}
		if _, err := writeUser(ctx, tx, u, next); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, "UPDATE join_codes SET repo = $2 WHERE repo = $1", from.String(), to.String()); err != nil {
		return err
	}
	done, err := tx.Exec(ctx, "UPDATE tokens SET repos = $2 WHERE repos = $1", from.String(), to.String())
	if err != nil || done.RowsAffected() == 0 {
		return err
	}
	return touchCredentials(ctx, tx)
}

// settleMembers is moveMembers for what still has a name that was given up, in
// stores of earlier releases: it belongs to the data that the name stands for.
func (b *binder) settleMembers(ctx context.Context) error {
	if _, err := b.tx.Exec(ctx, lockAccounts); err != nil {
		return err
	}
	var name string
	err := b.tx.QueryRow(ctx, "SELECT r.name FROM repo_names n JOIN repos r ON r.repo = n.repo WHERE n.name = $1 AND r.name <> $1", b.name.String()).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	home, err := api.ParseRepo(name)
	if err != nil {
		return err
	}
	return moveMembers(ctx, b.tx, b.name, home)
}
