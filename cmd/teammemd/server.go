package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/scanner"
)

func (a *app) serverCommand() *cobra.Command {
	var flags serverFlags
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run the companion server",
		Long: "Run the companion server until SIGTERM or SIGINT, which let requests in flight\n" +
			"finish. SIGHUP reads the configuration again; a faulty one changes nothing.\n\n" +
			"A flag wins over TEAMMEMD_SERVER_<KEY>, which wins over the configuration file.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runServer(cmd.Context(), &flags) },
	}
	flags.register(cmd)
	flags.registerListen(cmd)
	cmd.AddCommand(a.tokenCommand(), a.healthcheckCommand(), a.backupCommand(), a.restoreServerCommand(),
		a.fsckCommand(), a.pruneCommand(), a.exportCommand(), a.migrateCommand(), a.auditCommand(), a.adminCommand())
	return cmd
}

func (a *app) runServer(ctx context.Context, flags *serverFlags) error {
	hups, ignoreHups := hangups()
	defer ignoreHups()
	load := func() (config.Server, error) { return flags.load(a) }
	c, err := load()
	if err != nil {
		return err
	}
	log, setLevel := a.serverLog(c)
	sc := scanner.New(scanner.Options{})
	e, err := newEmbedded(ctx, c, sc, log, a.accessLog())
	if err != nil {
		return err
	}
	if err := a.announce(e); err != nil {
		return errors.Join(err, e.Close())
	}
	log.InfoContext(ctx, "server started", "url", e.URL(), "data", c.Data, "version", versionText())
	systemd := notifier{log}
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error { return e.Run(gctx) })
	group.Go(func() error { return e.reloadOnHangup(gctx, hups, load, setLevel) })
	group.Go(func() error { return systemd.watch(gctx, e.auth.Healthy) })
	group.Go(func() error { e.proveScanner(gctx, sc); return nil })
	group.Go(func() error {
		systemd.ready(gctx)
		<-gctx.Done()
		systemd.stopping(gctx)
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	log.InfoContext(ctx, "server stopped")
	return nil
}

// announce prints where the server listens, the one line of its standard
// output.
func (a *app) announce(e *embedded) error {
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "listening": e.URL()})
	}
	a.printf("listening %s\n", e.URL())
	return nil
}

// proveScanner loads the rules before the first write needs them, and says so
// where they do not hold: every write is refused then.
func (e *embedded) proveScanner(ctx context.Context, sc *scanner.Scanner) {
	if _, err := sc.Scan(ctx, "", ""); err != nil && ctx.Err() == nil {
		e.log.ErrorContext(ctx, "secret scanner does not work, writes are refused", "error", err)
	}
}
