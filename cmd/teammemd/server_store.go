package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"syscall"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/seal"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// openServing opens the store of a configuration for a process that serves it:
// the only one on SQLite, one of several on PostgreSQL. Errors are those of
// [explainStore]. meter may be nil.
func openServing(ctx context.Context, c config.Server, log *slog.Logger, meter store.Meter) (store.Backend, error) {
	keys, err := loadKeys(c)
	if err != nil {
		return nil, err
	}
	if c.Database.URL != "" {
		return openDatabase(ctx, pgstore.Options{DSN: c.Database.URL, Serve: true, Keys: keys, Log: log, Meter: meter})
	}
	return openStore(ctx, sqlitestore.Options{Dir: c.Data, Serve: true, Keys: keys, Meter: meter})
}

// openBeside opens the store of a configuration for its credentials, beside a
// server that may be running on it.
func openBeside(ctx context.Context, c config.Server) (store.Backend, error) {
	keys, err := loadKeys(c)
	if err != nil {
		return nil, err
	}
	if c.Database.URL != "" {
		return openDatabase(ctx, pgstore.Options{DSN: c.Database.URL, Keys: keys})
	}
	return openStore(ctx, sqlitestore.Options{Dir: c.Data, Keys: keys})
}

// loadKeys reads the key file that a configuration names, nil for none. The error
// wraps [api.ErrConfig].
func loadKeys(c config.Server) (*seal.Keys, error) {
	if c.EncryptionKeyFile == "" {
		return nil, nil //nolint:nilnil // nil is how a store without encryption has its keys
	}
	keys, err := seal.Load(c.EncryptionKeyFile)
	if err != nil {
		return nil, withHint(fmt.Errorf("%w: encryption_key_file: %w", api.ErrConfig, err), "mend encryption_key_file (TEAMMEMD_SERVER_ENCRYPTION_KEY_FILE), or make a file by 'teammemd server key new FILE'")
	}
	return keys, nil
}

// explainKeys adds what a person can do where a key is missing.
func explainKeys(err error) error {
	if errors.Is(err, seal.ErrNoKey) {
		return withHint(fmt.Errorf("%w: %w", api.ErrConfig, err), "name the file that has it: encryption_key_file in the configuration, or TEAMMEMD_SERVER_ENCRYPTION_KEY_FILE")
	}
	return err
}

// storeName names the store of a configuration for people.
func storeName(c config.Server) string {
	if c.Database.URL != "" {
		return "the database"
	}
	return c.Data
}

func openStore(ctx context.Context, o sqlitestore.Options) (store.Backend, error) {
	s, err := sqlitestore.Open(ctx, o)
	if err != nil {
		return nil, explainStore(o.Dir, err)
	}
	return s, nil
}

func openDatabase(ctx context.Context, o pgstore.Options) (store.Backend, error) {
	s, err := pgstore.Open(ctx, o)
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, store.ErrNewerSchema), errors.Is(err, seal.ErrNoKey), errors.Is(err, seal.ErrDamaged):
		return nil, explainStore("", err)
	case errors.Is(err, pgstore.ErrDSN), errors.Is(err, pgstore.ErrRefused):
		return nil, withHint(fmt.Errorf("%w: %w", api.ErrConfig, err), "mend database.url (TEAMMEMD_SERVER_DATABASE_URL), or what it names")
	}
	return nil, withHint(fmt.Errorf("%w: %w", api.ErrUnavailable, err), "is the database running, and can it be reached from here?")
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
	case errors.Is(err, seal.ErrNoKey):
		return explainKeys(err)
	case errors.Is(err, seal.ErrDamaged):
		return withHint(fmt.Errorf("%w: %w", api.ErrConfig, err), "encryption_key_file has another key under this name: name the file that has the right one")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EROFS):
		return withHint(fmt.Errorf("%w: the data directory %s cannot be used: %w", api.ErrConfig, dir, err), "run as the user who owns it, or name another directory: --data DIR")
	}
	return err
}
