package core

import (
	"context"
	"encoding/hex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Audit returns rows of a repo's chain, or of the server's own for the zero Repo,
// after a number, oldest first, at most limit. Who may read them is the caller's
// to see to. The error is [NotFound] for a repo that has none.
func (c *Core) Audit(ctx context.Context, repo api.Repo, after uint64, limit int) (api.AuditAnswer, error) {
	if c.o.Audits == nil {
		return api.AuditAnswer{}, api.Errorf(api.ErrNotFound, "this server keeps no audit chain")
	}
	trail, err := c.o.Audits.Trail(ctx, repo, after, limit+1)
	if err != nil {
		return api.AuditAnswer{}, storeError("reading an audit chain", err)
	}
	if len(trail) == 0 && after == 0 && !repo.IsZero() {
		return api.AuditAnswer{}, NotFound()
	}
	answer := api.AuditAnswer{Repo: repo, Rows: make([]api.AuditRow, 0, len(trail))}
	if len(trail) > limit {
		trail = trail[:limit]
		answer.Next = trail[limit-1].Number
	}
	for _, row := range trail {
		answer.Rows = append(answer.Rows, DescribeAudit(row))
	}
	return answer, nil
}

// DescribeAudit is a row as people read it.
func DescribeAudit(row store.AuditRow) api.AuditRow {
	shown := api.AuditRow{
		Number: row.Number, Action: row.Action, At: row.At, Actor: row.Actor, ActorID: row.ActorID, Version: row.Version,
		Detail: row.Detail, Hash: hex.EncodeToString(row.Hash[:]),
	}
	for _, key := range row.Keys {
		shown.Keys = append(shown.Keys, key.String())
	}
	return shown
}
