package sync

import (
	"context"
	"log/slog"
)

// Perform carries out one effect with the ports of opts and returns its answer,
// as [Engine.Run] does between two steps. It is for whoever drives a [Core]
// otherwise, with a clock of its own.
func Perform(ctx context.Context, opts Options, effect Effect) Event {
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return (&Engine{opts: opts, log: log}).perform(ctx, effect)
}
