package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

func (a *app) keyCommand() *cobra.Command {
	return group("key", "Make and change the keys under which contents are encrypted",
		a.keyNewCommand(), a.keyRotateCommand())
}

func (a *app) keyNewCommand() *cobra.Command {
	var add bool
	cmd := &cobra.Command{
		Use:   "new FILE",
		Short: "Make a key file, or with --add a key in one",
		Long: "Make a file with one master key and mode 0600, for encryption_key_file in the\n" +
			"server's configuration. A file that is there is never written over.\n\n" +
			"With --add the file stays, and a new key becomes its first, the one that wraps.\n" +
			"The others still open what they wrapped, until 'teammemd server key rotate'.\n" +
			"Keep a copy of the file where no backup of the database is: who lost it has lost\n" +
			"all contents.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.newKey(args[0], add) },
	}
	cmd.Flags().BoolVar(&add, "add", false, "add a key to the file, as the first")
	return cmd
}

func (a *app) newKey(file string, add bool) error {
	write := seal.NewFile
	if add {
		write = seal.AddToFile
	}
	name, err := write(file)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrUsage, err)
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "file": file, "key": name})
	}
	a.printf("key %s is the first of %s\n", name, file)
	return nil
}

func (a *app) keyRotateCommand() *cobra.Command {
	var server serverFlags
	var contents bool
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Wrap all data keys under the first master key, and encrypt what is plain",
		Long: "Wrap every data key under the first key of encryption_key_file, after which the\n" +
			"others can leave it.\n\n" +
			"With --contents every repo also gets a new data key, all contents are encrypted with\n" +
			"it, those too that were plain, and the database's files are written anew, so that\n" +
			"nothing is left in them of what was plain. What was interrupted goes on when it is\n" +
			"called again.\n\n" +
			"On SQLite stop the server before. On PostgreSQL servers go on, and all must have\n" +
			"the new key file before: give it to them and restart them one by one.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.rotateKeys(cmd.Context(), &server, contents) },
	}
	server.register(cmd)
	cmd.Flags().BoolVar(&contents, "contents", false, "new data keys, and all contents encrypted with them")
	return cmd
}

func (a *app) rotateKeys(ctx context.Context, flags *serverFlags, contents bool) error {
	c, err := flags.loadStore(a)
	if err != nil {
		return err
	}
	keys, err := loadKeys(c)
	if err != nil {
		return err
	}
	if keys == nil {
		return withHint(fmt.Errorf("%w: encryption_key_file names no key file", api.ErrConfig), "make one by 'teammemd server key new FILE' and name it in the configuration")
	}
	var done store.Rotation
	var kept store.Sealing
	err = a.withStoreAlone(ctx, flags, func(s store.Backend) error {
		sealed, ok := s.(store.Sealed)
		if !ok {
			return fmt.Errorf("%w: this store cannot encrypt", api.ErrInternal)
		}
		if done, err = sealed.RotateKeys(ctx, contents, nil); err != nil {
			return err
		}
		kept, err = sealed.Sealing(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{
			"schema": schema, "key": keys.First(), "wrapped": done.Wrapped, "made": done.Made, "contents": done.Contents,
			"plain": kept.Plain, "encrypted": kept.Sealed, "data_keys": kept.Keys,
		})
	}
	a.printf("all %d data keys are under %s: %d wrapped again, %d new\n", kept.Keys, keys.First(), done.Wrapped, done.Made)
	a.printf("contents: %d encrypted now; in all %d encrypted, %d plain\n", done.Contents, kept.Sealed, kept.Plain)
	if kept.Plain > 0 {
		a.sayf("%d contents are plain: 'teammemd server key rotate --contents' encrypts them\n", kept.Plain)
	}
	return nil
}
