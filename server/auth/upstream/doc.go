// Package upstream finds out who somebody is by sending them to an issuer that
// knows: a forge (GitHub, GitHub Enterprise, GitLab, Gitea) by OAuth 2.0, or any
// OpenID Connect provider.
//
// What an issuer gives stays on the server, sealed. A token of an issuer is
// never a credential here: it has no audience, so any program that somebody
// trusted with one could come with it. Only a code that the issuer gave to our
// own client id, for a trip that the same browser began, makes an [Identity].
package upstream
