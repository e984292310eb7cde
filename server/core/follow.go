package core

import (
	"context"
	"fmt"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Follow lets what other servers change take effect here: it wakes the readers of
// a repo, and forgets policies that are not what they were. It returns nil when
// ctx ends.
func (c *Core) Follow(ctx context.Context, feed store.Feed) error {
	err := feed.Follow(ctx, func(repo api.Repo, version uint64) {
		switch {
		case repo.IsZero():
			c.policies.dropAll()
			c.hub.BumpAll()
		case version == 0:
			c.policies.drop(repo)
		default:
			c.hub.Bump(repo, version)
		}
	})
	if err != nil {
		return fmt.Errorf("following other servers: %w", err)
	}
	return nil
}
