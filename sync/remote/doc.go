// Package remote is the client side of the team-memory protocol over HTTP: it
// sends what the engine decides and believes nothing that comes back unchecked.
//
// An answer counts only when its content type is JSON, when it names the repo
// that was asked for, when every content matches its checksum and every key is
// safe to use as a path. A captive portal, a proxy's error page or a truncated
// body is [api.ErrBadAnswer], never an empty repo.
//
// It works against a server that offers only the base protocol: our additions
// are used when the answer carries [api.HeaderProtocol].
package remote
