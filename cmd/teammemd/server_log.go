package main

import (
	"context"
	"log/slog"

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

// serverLog returns the log that c asks for, and a function that sets its level
// by a later configuration. The flags --verbose and --quiet win over both.
func (a *app) serverLog(c config.Server) (*slog.Logger, func(config.Server)) {
	asJSON := c.LogFormat == "json" || c.LogFormat == "auto" && !isTerminal(a.err)
	level := new(slog.LevelVar)
	set := func(c config.Server) {
		if wanted, ok := config.Level(c.LogLevel); ok && !a.verbose {
			level.Set(wanted)
		}
	}
	if a.verbose {
		level.Set(slog.LevelDebug)
	}
	set(c)
	return slog.New(leveled{a.logger(slog.LevelDebug, asJSON).Handler(), level}), set
}
