package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

func (a *app) backupCommand() *cobra.Command {
	var server serverFlags
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database as it is at one moment, also while the server runs",
		Long: "Copy the database as it is at one moment into FILE, beside a server that may be\n" +
			"running. FILE is readable by its owner alone and takes the place of an earlier\n" +
			"backup of that name once it is whole. It holds everything: keep it as safe as the\n" +
			"database. What is encrypted stays so: a restore needs the key file, which is not in\n" +
			"it. It is the same for SQLite and PostgreSQL: one restores the other's.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.backup(cmd.Context(), &server, args[0]) },
	}
	server.register(cmd)
	return cmd
}

func (a *app) backup(ctx context.Context, flags *serverFlags, file string) error {
	if dir, err := os.Stat(filepath.Dir(file)); err != nil || !dir.IsDir() {
		return fmt.Errorf("%w: there is no directory %s", api.ErrUsage, filepath.Dir(file))
	}
	c, err := flags.loadStore(a)
	if err != nil {
		return err
	}
	keys, err := loadKeys(c)
	if err != nil {
		return err
	}
	err = a.withStore(ctx, flags, func(s store.Backend) error {
		switch s := s.(type) {
		case *sqlitestore.Store:
			return s.Backup(ctx, file)
		case *pgstore.Store:
			return s.Dump(ctx, func(tables sqlitestore.Tables) error { return sqlitestore.WriteBackup(ctx, file, keys, tables) })
		}
		return fmt.Errorf("%w: not a database that can be backed up", api.ErrInternal)
	})
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("looking at the backup: %w", err)
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "file": file, "bytes": info.Size()})
	}
	a.printf("backed up to %s, %d bytes\n", file, info.Size())
	return nil
}

func (a *app) restoreServerCommand() *cobra.Command {
	var server serverFlags
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of a stopped server's database",
		Long: "Put a backup in the place of a stopped server's database, or where there is none: a\n" +
			"new directory, or an empty PostgreSQL database. It may be a backup of either kind.\n" +
			"The backup is checked first, and refused whole where anything is wrong with it. What\n" +
			"was redacted, retired, erased and revoked since is done again, as far as the\n" +
			"database that is replaced can be read; that one stays beside the new one. Clients\n" +
			"see by the new epoch that the server went back, and overwrite nothing.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.restoreServer(cmd.Context(), &server, args[0])
		},
	}
	server.register(cmd)
	return cmd
}

func (a *app) restoreServer(ctx context.Context, flags *serverFlags, file string) error {
	c, err := flags.loadStore(a)
	if err != nil {
		return err
	}
	if info, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%w: there is no file %s", api.ErrUsage, file)
	}
	keys, err := loadKeys(c)
	if err != nil {
		return err
	}
	by, now := api.Actor{Token: "server restore"}, time.Now().UTC().Truncate(time.Millisecond)
	to := sqlitestore.Options{Dir: c.Data, Keys: keys}
	var done sqlitestore.Restored
	if c.Database.URL == "" {
		if done, err = sqlitestore.Restore(ctx, to, file, by, now); err != nil {
			err = explainStore(c.Data, err)
		}
	} else {
		done, err = a.restoreDatabase(ctx, c.Database.URL, to, file, by, now)
	}
	if err != nil {
		return err
	}
	if done.Unread != nil {
		a.sayf("warning: the replaced database cannot be read, so what was redacted, retired, erased and revoked since the backup is not done again: %s\n", oneLine(done.Unread.Error()))
	}
	return a.tellRestored(c, file, done)
}

// restoreDatabase restores into PostgreSQL. The backup is prepared in the data
// directory.
func (a *app) restoreDatabase(ctx context.Context, dsn string, to sqlitestore.Options, file string, by api.Actor, at time.Time) (done sqlitestore.Restored, err error) {
	opened, err := openDatabase(ctx, pgstore.Options{DSN: dsn, Serve: true, Keys: to.Keys, Log: a.logger(slog.LevelWarn, false)})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	s, ok := opened.(*pgstore.Store)
	if !ok {
		return done, fmt.Errorf("%w: not a database that can be replaced", api.ErrInternal)
	}
	kept, err := s.Replace(ctx, func(ctx context.Context, data bool, take func(pgstore.Tables) error) (err error) {
		var old sqlitestore.Replaced
		if data {
			old = s
		}
		if done, err = sqlitestore.RestoreTo(ctx, to, file, old, by, at, take); err != nil {
			err = explainStore(to.Dir, err)
		}
		return err
	})
	switch {
	case errors.Is(err, store.ErrLocked):
		err = withHint(fmt.Errorf("%w: %w", api.ErrAlreadyRunning, err), "stop every server on this database, and wait for other verbs to end")
	case errors.Is(err, pgstore.ErrDistributed):
		err = fmt.Errorf("%w: %w", api.ErrConfig, err)
	}
	done.Kept = kept
	return done, err
}

func (a *app) tellRestored(c config.Server, file string, done sqlitestore.Restored) error {
	if a.json {
		return a.printJSON(map[string]any{
			"schema": schema, "file": file, "data": storeName(c), "epoch": done.Epoch, "kept": done.Kept, "replayed": done.Unread == nil,
			"redactions": done.Redactions, "retirements": done.Retirements, "erasures": done.Erasures, "revocations": done.Revocations,
		})
	}
	a.printf("restored %s to %s, epoch %s\n", file, storeName(c), done.Epoch)
	a.printf("done again: %d redactions, %d retirements, %d erasures, %d revocations\n", done.Redactions, done.Retirements, done.Erasures, done.Revocations)
	switch {
	case done.Kept == "":
	case c.Database.URL != "":
		a.printf("the replaced tables are in the schema %s\n", done.Kept)
	default:
		a.printf("the replaced database is %s\n", done.Kept)
	}
	return nil
}
