package main

import (
	"context"
	"log/slog"

	"github.com/lmittmann/tint"

	"github.com/teammem/teammemd/internal/config"
)

// leveled is a handler whose level can be changed while it is in use.
type leveled struct {
	slog.Handler
	level *slog.LevelVar
}

// Enabled implements [slog.Handler].
func (h leveled) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level.Level() && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements [slog.Handler].
func (h leveled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return leveled{h.Handler.WithAttrs(attrs), h.level}
}

// WithGroup implements [slog.Handler].
func (h leveled) WithGroup(name string) slog.Handler {
	return leveled{h.Handler.WithGroup(name), h.level}
}

// changeableLog returns a log and a function that sets its level by a later
// configuration. The flags --verbose and --quiet win over both.
func (a *app) changeableLog(level string, asJSON bool) (log *slog.Logger, set func(level string)) {
	now := new(slog.LevelVar)
	set = func(name string) {
		if wanted, ok := config.Level(name); ok && !a.verbose {
			now.Set(wanted)
		}
	}
	if a.verbose {
		now.Set(slog.LevelDebug)
	}
	set(level)
	return slog.New(leveled{a.logger(slog.LevelDebug, asJSON).Handler(), now}), set
}

// serverLog returns the log that c asks for, and a function that sets its level
// by a later configuration.
func (a *app) serverLog(c config.Server) (*slog.Logger, func(config.Server)) {
	log, set := a.changeableLog(c.LogLevel, c.LogFormat == "json" || c.LogFormat == "auto" && !isTerminal(a.err))
	return log, func(c config.Server) { set(c.LogLevel) }
}

// accessLog returns the log of requests: JSON whatever the other log is, so that
// programs can read it.
func (a *app) accessLog() *slog.Logger { return slog.New(slog.NewJSONHandler(a.err, nil)) }

// clientLog is the same for the client's long-running verbs.
func (a *app) clientLog(c config.Client) (log *slog.Logger, set func(level string)) {
	return a.changeableLog(c.LogLevel, c.LogFormat == "json" || c.LogFormat == "auto" && !isTerminal(a.err) && a.getenv("JOURNAL_STREAM") == "")
}

// onceLog is for verbs that end with a report of their own: it says nothing that
// is in there, unless more was asked for.
func (a *app) onceLog(m machine) *slog.Logger {
	if a.verbose || a.getenv("TEAMMEMD_LOG") != "" {
		log, _ := a.clientLog(m.client.Config)
		return log
	}
	return a.logger(slog.LevelError, false)
}

// logger returns the log of a long-running verb: text on a terminal, JSON or
// plain text elsewhere.
func (a *app) logger(level slog.Level, asJSON bool) *slog.Logger {
	if a.verbose {
		level = min(level, slog.LevelDebug)
	}
	if a.quiet {
		level = max(level, slog.LevelWarn)
	}
	switch {
	case asJSON:
		return slog.New(slog.NewJSONHandler(a.err, &slog.HandlerOptions{Level: level}))
	case isTerminal(a.err):
		return slog.New(tint.NewTextHandler(a.err, &tint.Options{Level: level, TimeFormat: "15:04:05", NoColor: a.getenv("NO_COLOR") != ""}))
	default:
		return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
	}
}
