package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

func (a *app) backupCommand() *cobra.Command {
	var server serverFlags
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database as it is at one moment, also while the server runs",
		Long: "Copy the SQLite database as it is at one moment into FILE, beside a server that may\n" +
			"be running. FILE is readable by its owner alone and takes the place of an earlier\n" +
			"backup of that name once it is whole. It holds everything: keep it as safe as the\n" +
			"data directory. What is encrypted stays so: a restore needs the key file, which is\n" +
			"not in it. A PostgreSQL database is backed up by its own tools.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.backup(cmd.Context(), &server, args[0]) },
	}
	server.register(cmd)
	return cmd
}

// backuper is a store that can copy itself.
type backuper interface {
	Backup(ctx context.Context, path string) error
}

func (a *app) backup(ctx context.Context, flags *serverFlags, file string) error {
	if dir, err := os.Stat(filepath.Dir(file)); err != nil || !dir.IsDir() {
		return fmt.Errorf("%w: there is no directory %s", api.ErrUsage, filepath.Dir(file))
	}
	err := a.withStore(ctx, flags, func(s store.Backend) error {
		b, ok := s.(backuper)
		if !ok {
			return ownTools("backed up")
		}
		return b.Backup(ctx, file)
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

func ownTools(done string) error {
	return withHint(fmt.Errorf("%w: a PostgreSQL database is %s by its own tools", api.ErrUsage, done), "see 'Backup' in docs/operate.md")
}

func (a *app) restoreServerCommand() *cobra.Command {
	var server serverFlags
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of a stopped server's database",
		Long: "Put a backup in the place of a stopped server's database, or into a new directory.\n" +
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
	if c.Database.URL != "" {
		return ownTools("restored")
	}
	if info, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%w: there is no file %s", api.ErrUsage, file)
	}
	keys, err := loadKeys(c)
	if err != nil {
		return err
	}
	done, err := sqlitestore.Restore(ctx, sqlitestore.Options{Dir: c.Data, Keys: keys}, file, api.Actor{Token: "server restore"}, time.Now().UTC().Truncate(time.Millisecond))
	if err != nil {
		return explainStore(c.Data, err)
	}
	if done.Unread != nil {
		a.sayf("warning: the replaced database cannot be read, so what was redacted, retired, erased and revoked since the backup is not done again: %s\n", oneLine(done.Unread.Error()))
	}
	return a.tellRestored(c, file, done)
}

func (a *app) tellRestored(c config.Server, file string, done sqlitestore.Restored) error {
	if a.json {
		return a.printJSON(map[string]any{
			"schema": schema, "file": file, "data": c.Data, "epoch": done.Epoch, "kept": done.Kept, "replayed": done.Unread == nil,
			"redactions": done.Redactions, "retirements": done.Retirements, "erasures": done.Erasures, "revocations": done.Revocations,
		})
	}
	a.printf("restored %s to %s, epoch %s\n", file, c.Data, done.Epoch)
	a.printf("done again: %d redactions, %d retirements, %d erasures, %d revocations\n", done.Redactions, done.Retirements, done.Erasures, done.Revocations)
	if done.Kept != "" {
		a.printf("the replaced database is %s\n", done.Kept)
	}
	return nil
}
