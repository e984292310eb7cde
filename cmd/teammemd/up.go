package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/server/auth"
)

// defaultListen is where the embedded server listens.
const defaultListen = "127.0.0.1:8787"

// upOptions are the flags of up.
type upOptions struct {
	registration
	listen string
	detach bool
	silent bool // the detached child: its parent speaks
}

func (a *app) upCommand() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up [PATH]",
		Short: "Run server and daemon here, for this checkout",
		Long: "Run the embedded server and the daemon on this machine and register this\n" +
			"checkout. It stays in the foreground until interrupted; in a second checkout it\n" +
			"registers with the one that runs.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.path, o.anyCheckout = pathArg(args), true
			return a.up(cmd.Context(), o)
		},
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.listen, "listen", defaultListen, "where the embedded server listens")
	cmd.Flags().BoolVar(&o.detach, "detach", false, "return after the first cycle, with its exit code; server and daemon go on")
	cmd.Flags().BoolVar(&o.silent, "silent-child", false, "")
	_ = cmd.Flags().MarkHidden("silent-child") // the flag was made in the line above
	return cmd
}

func (a *app) up(ctx context.Context, o upOptions) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	o.server = "http://" + o.listen // a first word; the real port is known later
	if _, err := a.resolve(m, o.registration); err != nil {
		return err // before anything is started
	}
	_, err = m.daemon(ctx)
	switch {
	case err == nil && !o.silent:
		return a.upBeside(ctx, m, o)
	case err != nil && !errors.Is(err, control.ErrNotRunning):
		return err
	case o.detach:
		return a.upDetached(ctx, m, o)
	}
	return a.upHere(ctx, m, o)
}

// upHere runs server and daemon in this process.
func (a *app) upHere(ctx context.Context, m machine, o upOptions) error {
	begun := time.Now()
	if file, ok := a.err.(*os.File); ok && o.silent {
		a.err = newRotatedLog(file, oldLog(m.logFile()), maxLog)
	}
	log, setLevel := a.upLog(m)
	sc := scanner.New(scanner.Options{})
	d, err := a.newDaemon(m, sc, log)
	if err != nil {
		return err
	}
	d.setLevel = setLevel
	e, err := startEmbedded(ctx, a, m.paths.DataDir, o.listen, sc, log)
	if err != nil {
		return errors.Join(err, d.giveUp())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		defer stop()
		// The server outlives the daemon, whose last push it takes.
		serving, serveNoMore := context.WithCancel(context.WithoutCancel(ctx))
		defer serveNoMore()
		context.AfterFunc(d.over, serveNoMore)
		served <- e.Run(serving)
	}()
	root, err := a.upRoot(ctx, m, o, e.URL(), e.auth)
	if err != nil {
		stop()
		return errors.Join(err, d.giveUp(), <-served)
	}
	first := make(chan error, 1)
	go func() { first <- a.upFirst(ctx, m, d, root, e, o, begun) }()
	err = d.run(ctx)
	stop()
	return errors.Join(err, <-served, <-first, d.lease.Release())
}

// upLog is quiet where a person reads the transcript. The function sets its
// level by a later configuration.
func (a *app) upLog(m machine) (log *slog.Logger, set func(level string)) {
	if a.verbose || a.getenv("TEAMMEMD_LOG") != "" || !isTerminal(a.err) {
		return a.clientLog(m.client.Config)
	}
	return a.logger(slog.LevelWarn, false), func(string) {}
}

// upRoot signs this machine in to its own server and registers the checkout.
// Roots that were registered with an earlier port of the server follow it.
func (a *app) upRoot(ctx context.Context, m machine, o upOptions, url string, tokens *auth.Auth) (config.Root, error) {
	if err := m.signIn(ctx, url, tokens); err != nil {
		return config.Root{}, err
	}
	if err := m.moveRoots(url); err != nil {
		return config.Root{}, err
	}
	o.server = url
	quiet := *a
	quiet.quiet = true // it was said by the first resolve
	root, err := quiet.resolve(m, o.registration)
	if err != nil {
		return config.Root{}, err
	}
	return a.register(m, root)
}

// signIn makes sure that a token for the own server is stored and valid.
func (m machine) signIn(ctx context.Context, url string, tokens *auth.Auth) error {
	stored := config.CredentialsAt(m.paths)
	if token, err := stored.Token(url, api.Repo{}); err == nil {
		if _, err := tokens.Authenticate(ctx, token); err == nil {
			return nil
		}
	}
	_, token, err := tokens.Create(ctx, "up on "+deviceName(), "**", api.Admin, time.Time{})
	if err != nil {
		return fmt.Errorf("signing in to the embedded server: %w", err)
	}
	return stored.SaveToken(url, api.Repo{}, token)
}

// urlNote is where the embedded server's last URL stands.
func (m machine) urlNote() string { return filepath.Join(m.paths.DataDir, "url") }

// embeddedURL returns the last URL of the embedded server, "" for none.
func (m machine) embeddedURL() string {
	text, err := os.ReadFile(m.urlNote())
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// moveRoots points the roots of the embedded server to its present URL.
func (m machine) moveRoots(url string) error {
	before := m.embeddedURL()
	if before == url {
		return nil
	}
	if before != "" {
		roots, err := m.roots()
		if err != nil {
			return err
		}
		for _, root := range roots {
			if root.Server != before {
				continue
			}
			root.Server = url
			if err := config.UpdateRoot(m.paths, root); err != nil {
				return err
			}
		}
	}
	return atomicfile.WriteFile(m.urlNote(), []byte(url+"\n"), 0o600)
}

// upFirst waits for the first cycle and prints the transcript.
func (a *app) upFirst(ctx context.Context, m machine, d *daemon, root config.Root, e *embedded, o upOptions, begun time.Time) error {
	select {
	case <-d.ready:
	case <-ctx.Done():
		return nil
	}
	line := a.progressOf(ctx, root)
	watching, enough := context.WithCancel(ctx)
	go d.progress(watching, root.ID, line.set)
	report, err := d.Sync(ctx, control.SyncRequest{Root: root.ID})
	enough()
	line.end()
	switch {
	case errors.Is(err, context.Canceled): // interrupted
		return nil
	case err != nil:
		return err
	case o.silent:
		return nil
	}
	report = movedSince(report, control.Moved{})
	report.DurationMS = time.Since(begun).Milliseconds()
	return a.transcript(ctx, m, root, report, e.auth, d.scanner, o.source())
}
