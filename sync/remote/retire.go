package remote

import (
	"context"

	"github.com/teammem/teammemd/api"
)

// Retire takes key away from everybody, on purpose: the server keeps a tombstone
// and its history. view says what the caller has seen: when the key, or with a
// base server anything at all, has changed since, nothing is retired and the
// error is [api.ErrPrecondition]; [api.ErrForbidden] for a role that may not. A
// key that is retired already is a success.
func (c *Client) Retire(ctx context.Context, key api.Key, view *api.View) (api.Pushed, error) {
	put := api.PushRequest{Entries: map[string]string{}, SoftDeleteKeys: []string{key.String()}}
	var ifMatch api.Checksum
	if view.Base {
		ifMatch = view.Checksum
	} else {
		put.Expect = map[string]string{key.String(): view.Sums[key].String()}
	}
	body, err := encodePut(put)
	if err != nil {
		return api.Pushed{}, err
	}
	return c.put(ctx, body, ifMatch)
}
