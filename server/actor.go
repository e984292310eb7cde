package server

import (
	"net/url"

	"github.com/teammem/teammemd/api"
)

// actor returns who writes: the token's name, and what the client says of
// itself.
func (c *call) actor() api.Actor {
	return api.Actor{
		Token:   c.grant.Name,
		User:    c.grant.User,
		Person:  c.actorPart(api.HeaderActorPerson),
		Device:  c.actorPart(api.HeaderActorDevice),
		Agent:   c.actorPart(api.HeaderActorAgent),
		Session: c.actorPart(api.HeaderActorSession),
	}
}

// actorPart undoes the percent-encoding of one header and bounds its text. What
// is not well encoded is taken as it stands.
func (c *call) actorPart(header string) string {
	value := c.r.Header.Get(header)
	if plain, err := url.PathUnescape(value); err == nil {
		value = plain
	}
	return api.CleanText(value, api.MaxActorBytes)
}
