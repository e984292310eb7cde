package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/teammem/teammemd/api"
)

// schema is the number that every JSON object of ours begins with; fields may
// be added under the same number, never taken away.
const schema = 1

// app is one invocation: its streams, its environment, and the flags that every
// verb has. Nothing below it reads os.Stdout, os.Stderr or the environment.
type app struct {
	in     io.Reader
	out    *results
	err    io.Writer // talk
	getenv func(string) string

	json    bool
	quiet   bool
	verbose bool

	// code is the exit code of a verb that ended well and still has something
	// to say, such as [api.ExitHeld].
	code int
}

func newApp(in io.Reader, out, errOut io.Writer, getenv func(string) string) *app {
	return &app{in: in, out: &results{w: out}, err: errOut, getenv: getenv}
}

// results is where results go. It remembers that one could not be written, so
// that no verb needs to look after each line and none can forget to. Safe for
// concurrent use.
type results struct {
	w io.Writer

	mu  sync.Mutex
	err error // the first; guarded by mu
}

// Write implements [io.Writer]. After a failure nothing more is written: a
// result with a hole in it would be worse than its beginning.
func (r *results) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.w.Write(p)
	r.err = err
	return n, err
}

// lost returns why a result could not be written, nil if all were.
func (r *results) lost() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// run executes the command line and returns the exit code. Results that could
// not be written are a failure, said once and at the end; a reader that closed
// its pipe knows it without being told.
func (a *app) run(ctx context.Context, args []string) int {
	cmd := a.rootCommand()
	cmd.SetArgs(args)
	cmd.SetIn(a.in)
	cmd.SetOut(a.out)
	cmd.SetErr(a.err)
	verb, err := cmd.ExecuteContextC(ctx)
	err = a.configToo(verb, err)
	lost := a.out.lost()
	switch {
	case err == nil && lost == nil:
		return a.code
	case lost != nil && (err == nil || errors.Is(err, lost)):
		if errors.Is(lost, syscall.EPIPE) {
			return api.WorseExit(a.code, api.ExitFailure)
		}
		err = fmt.Errorf("writing the result: %w", lost)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = errInterrupted
	}
	return api.WorseExit(a.code, a.fail(ctx, args, err))
}

var errInterrupted = errors.New("interrupted; what was not finished is done next time")

func (a *app) rootCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "teammemd",
		Short:         "Self-hosted team memory for coding agents",
		Long:          "teammemd keeps the team's part of coding agents' memories equal on every\nmachine, and lets no secret travel with it.",
		Version:       versionText(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	flags := cmd.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "print one JSON object instead of text")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print results and errors only")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "say more on standard error")
	cmd.SetFlagErrorFunc(misused)
	cmd.AddCommand(a.verbs()...)
	usageArgs(cmd)
	return cmd
}

// misused is the usage error of a verb.
func misused(cmd *cobra.Command, err error) error {
	return withHint(fmt.Errorf("%w: %w", api.ErrUsage, err), "see '%s --help'", cmd.CommandPath())
}

// configToo adds to a usage error that the configuration, which the verb had no
// occasion to read, is wrong as well: whatever starts services must see that
// first.
func (a *app) configToo(cmd *cobra.Command, err error) error {
	if !errors.Is(err, api.ErrUsage) || errors.Is(err, api.ErrConfig) || !readsConfig(cmd) {
		return err
	}
	if _, configErr := a.machine(); configErr != nil {
		return errors.Join(err, configErr)
	}
	return err
}

// readsConfig reports whether a verb is one of the client's, which read its
// configuration; those that only have verbs below them do not.
func readsConfig(cmd *cobra.Command) bool {
	if cmd.HasSubCommands() {
		return false
	}
	for cmd.HasParent() && cmd.Parent().HasParent() {
		cmd = cmd.Parent()
	}
	return cmd.HasParent() && !slices.Contains([]string{"server", "version", "help", "completion"}, cmd.Name())
}

// usageArgs makes wrong arguments a usage error, in every verb.
func usageArgs(cmd *cobra.Command) {
	check := cmd.Args
	if check == nil {
		check = cobra.NoArgs
	}
	if cmd.HasSubCommands() && cmd.Args == nil {
		check = cobra.ArbitraryArgs
	}
	cmd.Args = func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return misused(c, err)
		}
		return nil
	}
	for _, sub := range cmd.Commands() {
		usageArgs(sub)
	}
}

// group is a verb that only has verbs below it.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, RunE: func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return withHint(fmt.Errorf("%w: %q is no verb of '%s'", api.ErrUsage, args[0], c.CommandPath()), "see '%s --help'", c.CommandPath())
		}
		return c.Help()
	}}
	cmd.AddCommand(subs...)
	return cmd
}

// hinted is an error with a line that says what to do.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint returns what the user can do about it.
func (h *hinted) Hint() string { return h.hint }

// withHint adds a hint; an empty one is not shown.
func withHint(err error, format string, args ...any) error {
	return &hinted{err, fmt.Sprintf(format, args...)}
}

// fail tells the user about err and returns the exit code.
func (a *app) fail(ctx context.Context, typed []string, err error) int {
	code := api.ExitCode(err)
	var hint interface{ Hint() string }
	text := ""
	if errors.As(err, &hint) {
		text = hint.Hint()
	}
	// The sentinel's name in front of a usage error tells a person nothing.
	message := repeatable(ctx, typed, strings.TrimPrefix(oneLine(err.Error()), api.ErrUsage.Error()+": "))
	text = repeatable(ctx, typed, text)
	if a.json {
		_ = a.printJSON(map[string]any{"schema": schema, "error": map[string]any{"message": message, "hint": text, "code": code}})
	}
	fmt.Fprintf(a.err, "teammemd: %s\n", message)
	if text != "" {
		fmt.Fprintf(a.err, "hint: %s\n", text)
	}
	return code
}

// oneLine joins what several errors said.
func oneLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines, "; ")
}

// printJSON writes one object as one line.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	return nil
}

// printf writes a result.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// sayf writes talk, unless --quiet.
func (a *app) sayf(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.err, format, args...)
	}
}

// worse makes code the exit code where it outranks the present one.
func (a *app) worse(code int) { a.code = api.WorseExit(a.code, code) }

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// versionText is the version of this build, "devel" without one.
func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// version is set by the release build.
var version string
