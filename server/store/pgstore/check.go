package pgstore

import (
	"context"

	"github.com/teammem/teammemd/server/store"
)

// Check reads everything and reports what contradicts.
func (s *Store) Check(ctx context.Context, found func(store.Problem)) error {
	return nil
}
