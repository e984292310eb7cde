package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// openServing opens the store in dir for the one process that serves it. Errors
// are those of [explainStore]. meter may be nil.
func openServing(ctx context.Context, dir string, meter store.Meter) (store.Backend, error) {
	return openStore(ctx, sqlitestore.Options{Dir: dir, Serve: true, Meter: meter})
}

// openBeside opens the store in dir for its credentials, beside a server that
// may be running on it.
func openBeside(ctx context.Context, dir string) (store.Backend, error) {
	return openStore(ctx, sqlitestore.Options{Dir: dir})
}

func openStore(ctx context.Context, o sqlitestore.Options) (store.Backend, error) {
	s, err := sqlitestore.Open(ctx, o)
	if err != nil {
		return nil, explainStore(o.Dir, err)
	}
	return s, nil
}

// explainStore adds what a person can do: the error wraps
// [api.ErrAlreadyRunning] when another process serves the store, and
// [api.ErrConfig] when it cannot be opened before something is mended by hand.
func explainStore(dir string, err error) error {
	switch {
	case errors.Is(err, store.ErrLocked):
		return withHint(fmt.Errorf("%w: another server serves %s", api.ErrAlreadyRunning, dir), "stop that one, or name another directory: --data DIR")
	case errors.Is(err, store.ErrNewerSchema):
		return withHint(fmt.Errorf("%w: %w", api.ErrConfig, err), "a newer teammemd wrote it: use that release or a later one")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EROFS):
		return withHint(fmt.Errorf("%w: the data directory %s cannot be used: %w", api.ErrConfig, dir, err), "run as the user who owns it, or name another directory: --data DIR")
	}
	return err
}
