package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// repoID returns the number that a name stands for, also one that was given up, or
// [store.ErrNoRepo].
func repoID(ctx context.Context, q querier, repo api.Repo) (id int64, err error) {
	err = q.QueryRow(ctx, "SELECT repo FROM repo_names WHERE name = $1", repo.String()).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = store.ErrNoRepo
	}
	return id, err
}

// namedID returns the number of the repo that has a name now, or
// [store.ErrNoRepo].
func namedID(ctx context.Context, q querier, repo api.Repo) (id int64, err error) {
	if id, err = repoID(ctx, q, repo); err != nil {
		return 0, err
	}
	var has bool
	err = q.QueryRow(ctx, "SELECT EXISTS (SELECT FROM repos WHERE repo = $1 AND name = $2)", id, repo.String()).Scan(&has)
	if err == nil && !has {
		err = store.ErrNoRepo
	}
	return id, err
}

// One statement each, so that all rows are of one moment. The row of kind h is
// the repo's own, with the epoch where others have what was allowed.
const (
	selectRepo = `SELECT 'h' AS kind, NULL AS key, NULL::bytea AS sum, 0 AS bytes, version, modified_ms, (SELECT value FROM meta WHERE name = 'epoch') AS allowed
		FROM repos WHERE repo = $1 AND name = $2
		UNION ALL SELECT 'r', NULL, sum, 0, 0, 0, '' FROM redactions WHERE repo = $1 `
	selectHead = selectRepo + `
		UNION ALL SELECT 'e', key, sum, bytes, version, modified_ms, allowed FROM entries WHERE repo = $1
		UNION ALL SELECT 't', key, NULL, 0, version, 0, '' FROM tombs WHERE repo = $1`
	// What lives or was retired since a version is what has the number of a version
	// since.
	selectSince = selectRepo + `
		UNION ALL SELECT 'e', e.key, e.sum, e.bytes, e.version, e.modified_ms, e.allowed
		FROM versions v JOIN entries e ON e.repo = v.repo AND e.key = v.key AND e.version = v.version WHERE v.repo = $1 AND v.version > $3
		UNION ALL SELECT 't', t.key, NULL, 0, t.version, 0, ''
		FROM versions v JOIN tombs t ON t.repo = v.repo AND t.key = v.key AND t.version = v.version WHERE v.repo = $1 AND v.version > $3`
)

// loadHead reads a whole head.
func loadHead(ctx context.Context, q querier, repo api.Repo, id int64) (*row, error) {
	head, err := readHead(ctx, q, selectHead, id, repo.String())
	if err != nil {
		return nil, err
	}
	head.Repo = repo
	head.Seal()
	return &row{id: id, head: head}, nil
}

// loadSince reads what changed since base. It returns base itself for nothing, and
// [store.ErrNoRepo] when the name's data is kept elsewhere by now.
func loadSince(ctx context.Context, q querier, repo api.Repo, base *row) (*row, error) {
	since, err := readHead(ctx, q, selectSince, base.id, repo.String(), int64(base.head.Version))
	switch {
	case err != nil:
		return nil, err
	case since.Epoch != base.head.Epoch || since.Version < base.head.Version:
		return loadHead(ctx, q, repo, base.id) // another history
	case since.Version == base.head.Version:
		return base, nil
	}
	changed := make(map[api.Key]bool, len(since.Items)+len(since.Tombs))
	for _, item := range since.Items {
		changed[item.Key] = true
	}
	for _, tomb := range since.Tombs {
		changed[tomb.Key] = true
	}
	for _, item := range base.head.Items {
		if !changed[item.Key] {
			since.Items = append(since.Items, item)
		}
	}
	for _, tomb := range base.head.Tombs {
		if !changed[tomb.Key] {
			since.Tombs = append(since.Tombs, tomb)
		}
	}
	since.Repo = repo
	sortHead(since)
	since.Seal()
	return &row{id: base.id, head: since}, nil
}

func sortHead(h *store.Head) {
	slices.SortFunc(h.Items, func(a, b store.Item) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(h.Tombs, func(a, b store.Tomb) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(h.Redacted, func(a, b api.Checksum) int { return slices.Compare(a[:], b[:]) })
}

// readHead collects the rows of one of the statements above, sorted and not yet
// sealed.
func readHead(ctx context.Context, q querier, query string, args ...any) (*store.Head, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	head, found := &store.Head{}, false
	for rows.Next() {
		var r headRow
		if err := rows.Scan(&r.kind, &r.key, &r.sum, &r.bytes, &r.version, &r.modified, &r.allowed); err != nil {
			return nil, err
		}
		found = found || r.kind == "h"
		if err := r.into(head); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if !found {
		return nil, store.ErrNoRepo
	}
	sortHead(head)
	return head, nil
}

type headRow struct {
	kind     string
	key      *string
	sum      []byte
	bytes    int
	version  int64
	modified int64
	allowed  string
}

func (r *headRow) into(head *store.Head) error {
	switch r.kind {
	case "h":
		head.Version, head.Epoch = uint64(r.version), r.allowed
		if r.version > 0 {
			head.Modified = millis(r.modified)
		}
		return nil
	case "r":
		sum, err := sumOf(r.sum)
		head.Redacted = append(head.Redacted, sum)
		return err
	}
	key, err := keyOf(r.key)
	if err != nil {
		return err
	}
	if r.kind == "t" {
		head.Tombs = append(head.Tombs, store.Tomb{Key: key, Version: uint64(r.version)})
		return nil
	}
	sum, err := sumOf(r.sum)
	head.Items = append(head.Items, store.Item{
		Key: key, Sum: sum, Bytes: r.bytes, Version: uint64(r.version), Modified: millis(r.modified), Allowed: r.allowed,
	})
	return err
}

// keyOf reads a key; NULL is none.
func keyOf(text *string) (api.Key, error) {
	if text == nil {
		return api.Key{}, nil
	}
	key, err := api.ParseKey(*text)
	if err != nil {
		return api.Key{}, fmt.Errorf("a stored key is damaged: %w", err)
	}
	return key, nil
}

// sumOf reads a checksum; NULL is none.
func sumOf(stored []byte) (sum api.Checksum, err error) {
	if len(stored) != len(sum) && stored != nil {
		return sum, fmt.Errorf("a stored checksum is damaged: it has %d bytes", len(stored))
	}
	copy(sum[:], stored)
	return sum, nil
}

// millis reads a time that is always there.
func millis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// fromMillis reads a time; 0 is the zero time.
func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func toMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
