// Package etc holds the configuration files that are shipped: every key with
// its default, commented out.
package etc

import _ "embed"

// Client is the client's config.toml.
//
//go:embed teammemd.toml
var Client string

// Server is the server's server.toml.
//
//go:embed server.toml
var Server string
