// Package server is the HTTP interface of a teammemd server: the team-memory
// protocol with its additions, events, history, joining, and the care around
// them: limits, conditional requests, compression, errors, a graceful stop.
//
// It translates between HTTP and package core, where what is written and read
// is decided, and package auth, where it is decided who may. Every answer is
// JSON, refusals included; docs/api.md lists them all. Neither contents nor
// secrets are ever logged.
//
//	s, err := server.New(server.Options{Core: c, Auth: a})
//	err = s.Run(ctx, listener)
package server
