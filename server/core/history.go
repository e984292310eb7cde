package core

import (
	"context"
	"errors"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// restoreTries bounds how often [Core.Restore] meets a change by someone else.
const restoreTries = 3

// History returns the versions of one key, or of all for the zero Key, newest
// first, at most limit (0 = all). The error is [NotFound] for a repo that was
// never written.
func (c *Core) History(ctx context.Context, repo api.Repo, key api.Key, limit int) (api.HistoryAnswer, error) {
	rows, err := c.o.Store.History(ctx, repo, key, limit)
	if err != nil {
		return api.HistoryAnswer{}, storeError("reading history", err)
	}
	answer := api.HistoryAnswer{Repo: repo, Versions: make([]api.VersionInfo, 0, len(rows))}
	seen := make(map[api.Key]bool)
	for _, row := range rows {
		// The newest row of a key says what the key is now: a head read beside
		// the history could be of another moment.
		current := row.Op == store.OpPut && !seen[row.Key]
		seen[row.Key] = true
		_, allowed := decodeAllowed(row.Allowed)
		answer.Versions = append(answer.Versions, api.VersionInfo{
			Key: row.Key.String(), Version: row.Version, Op: string(row.Op), Checksum: row.Sum, Bytes: row.Bytes,
			At: row.At, Actor: row.Actor, Redacted: row.Redacted,
			Current: current, Rules: row.Rules, Allowed: allowed,
		})
	}
	return answer, nil
}

// Content returns one key as it was written at one version. The error wraps
// [api.ErrNotFound] when that version did not put the key, and [api.ErrRedacted]
// when its content was taken away.
func (c *Core) Content(ctx context.Context, repo api.Repo, key api.Key, version uint64) (api.ContentAnswer, error) {
	answer, _, err := c.content(ctx, repo, key, version)
	return answer, err
}

// content is Content with what was allowed in that version.
func (c *Core) content(ctx context.Context, repo api.Repo, key api.Key, version uint64) (answer api.ContentAnswer, allowed string, err error) {
	rows, err := c.o.Store.History(ctx, repo, key, 0)
	if err != nil {
		return api.ContentAnswer{}, "", storeError("reading history", err)
	}
	for _, row := range rows {
		if row.Version != version || row.Op != store.OpPut {
			continue
		}
		bodies, err := c.o.Store.Bodies(ctx, repo, []api.Checksum{row.Sum})
		if err != nil {
			return api.ContentAnswer{}, "", storeError("reading a content", err)
		}
		body, ok := bodies[row.Sum]
		if row.Redacted || !ok {
			return api.ContentAnswer{}, "", api.Errorf(api.ErrRedacted, "this version was redacted")
		}
		return api.ContentAnswer{Repo: repo, Key: key.String(), Version: version, Checksum: row.Sum, Content: body}, row.Allowed, nil
	}
	return api.ContentAnswer{}, "", api.Errorf(api.ErrNotFound, "the key has no content of this version")
}

// Restore puts the content that key had at version in place again, reviving a
// retired key: an ordinary write, scanned and recorded as one, by a maintainer.
// push.Request is ignored. When the content is in place already nothing is
// written.
func (c *Core) Restore(ctx context.Context, push Push, key api.Key, version uint64) (Pushed, error) {
	if push.Role < api.Reader {
		return Pushed{}, NotFound()
	}
	if push.Role < api.Maintainer {
		return Pushed{}, api.Errorf(api.ErrForbidden, "restoring is for maintainers of the repo")
	}
	then, allowed, err := c.content(ctx, push.Repo, key, version)
	if err != nil {
		return Pushed{}, err
	}
	for range restoreTries {
		head, err := c.o.Store.Head(ctx, push.Repo)
		if err != nil {
			return Pushed{}, storeError("reading the head", err)
		}
		push.Request = api.PushRequest{
			Entries: map[string]string{key.String(): then.Content},
			Expect:  map[string]string{key.String(): stateOf(head, key).String()},
			Allowed: allowedOf(key, allowed, c.generation),
		}
		pushed, err := c.Push(ctx, push)
		if !errors.Is(err, api.ErrPrecondition) {
			return pushed, err
		}
	}
	return Pushed{}, api.Errorf(api.ErrConflict, "the key keeps changing")
}
