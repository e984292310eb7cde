package sync

import "context"

// Perform carries out one effect with the ports of opts and returns its answer,
// as [Engine.Run] does between two steps. It is for whoever drives a [Core]
// otherwise, with a clock of its own.
func Perform(ctx context.Context, opts Options, effect Effect) Event {
	return (&Engine{opts: opts}).perform(ctx, effect)
}
