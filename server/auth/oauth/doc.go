// Package oauth is the server as an OAuth 2.0 authorization server for its own
// clients: the device grant (RFC 8628), the authorization code with PKCE (RFC
// 6749, 7636), refresh tokens that rotate and whose reuse is found out (RFC
// 9700), token exchange for machines (RFC 8693), revocation (RFC 7009),
// introspection (RFC 7662) and metadata (RFC 8414), with the few pages at which
// people sign in and agree.
//
// It decides who somebody is and that a client may act for them. What they may
// do in a repo is decided elsewhere, at every request.
//
// All secrets are random, 256 bits (typed codes apart), and kept by their
// SHA-256. What depends on stored state is decided by pure functions inside the
// store's transaction, so that of two requests at once each sees the other.
package oauth
