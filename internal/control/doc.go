// Package control is how the command line talks to the daemon of the same user:
// HTTP and JSON over a socket that only the user can open, and the lock that
// keeps the daemon alone.
//
// It promises that an error which the daemon returns arrives as the same
// sentinel of package api, that a socket whose file vanishes comes back within
// seconds, and that a stale socket is removed only by the holder of the lock. The
// reports are what `--json` prints: fields are added, never changed.
//
//	held, err := control.Lock(paths.Lock())
//	server := control.NewServer(control.Options{Handler: daemon, Logger: log})
//	err = server.Listen(held, paths.Socket())
//	err = server.Run(ctx)
//
//	client, err := control.Dial(ctx, paths.Socket())
//	status, err := client.Status(ctx)
package control
