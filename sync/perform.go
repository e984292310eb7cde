package sync

import (
	"context"
	"errors"
	"fmt"

	"github.com/teammem/teammemd/api"
)

// perform carries out one effect and returns its answer. It decides nothing.
func (e *Engine) perform(ctx context.Context, effect Effect) Event {
	switch f := effect.(type) {
	case Scan:
		snapshot, err := e.opts.Tree.Snapshot(ctx, f.How)
		return Scanned{snapshot, err}
	case Look:
		view, err := e.opts.Remote.Hashes(ctx, f.Known)
		return Viewed{view, err}
	case Inspect:
		return e.inspect(ctx, f)
	case Send:
		answer, err := e.opts.Remote.Push(ctx, f.Batch)
		return Sent{answer, err}
	case Receive:
		return e.receive(ctx, f)
	case Install:
		return e.install(ctx, f)
	case Commit:
		return Committed{e.opts.State.Commit(ctx, f.Record)}
	}
	panic(fmt.Sprintf("sync: unknown effect %T", effect)) // a new effect without a case here
}

// inspect loads each file and lets the guard judge the very buffer that will be
// sent.
func (e *Engine) inspect(ctx context.Context, f Inspect) Event {
	answer := Inspected{Files: make([]Inspection, 0, len(f.Keys))}
	for _, key := range f.Keys {
		file := Inspection{Key: key}
		file.Loaded, file.Err = e.opts.Tree.Load(ctx, key, f.How)
		if file.Err == nil {
			findings, err := e.opts.Guard.Check(ctx, key, file.Loaded.Content)
			var unfit *api.HeldError
			switch {
			case errors.As(err, &unfit):
				file.Err = err
			case err != nil:
				return Inspected{Err: fmt.Errorf("scanning for secrets: %w", err)}
			}
			file.Findings = findings
		}
		answer.Files = append(answer.Files, file)
	}
	return answer
}

func (e *Engine) receive(ctx context.Context, f Receive) Event {
	pulled, err := e.opts.Remote.Pull(ctx, f.Keys)
	if err != nil {
		return Received{Err: err}
	}
	answer := Received{Invalid: pulled.Invalid, Entries: make([]Arrival, 0, len(pulled.Entries))}
	for _, entry := range pulled.Entries {
		arrival := Arrival{Incoming: entry}
		arrival.Findings, err = e.opts.Guard.Check(ctx, entry.Key, entry.Content)
		if err != nil && !errors.As(err, &arrival.Refusal) {
			return Received{Err: fmt.Errorf("scanning for secrets: %w", err)}
		}
		answer.Entries = append(answer.Entries, arrival)
	}
	return answer
}

// install saves before it displaces. A copy that cannot be saved stops all of
// it: nothing may be displaced whose text is not safe.
func (e *Engine) install(ctx context.Context, f Install) Event {
	answer := Installed{Saved: make(map[api.Key]string, len(f.Copies))}
	for _, text := range f.Copies {
		id, err := e.opts.State.Save(ctx, text)
		if err != nil {
			return Installed{Err: fmt.Errorf("saving a copy of %q: %w", text.Key, err)}
		}
		answer.Saved[text.Key] = id
	}
	if len(f.Placements) > 0 {
		answer.Placed = e.opts.Tree.Place(ctx, f.Placements)
	}
	for _, r := range f.Retirements {
		answer.Retired = append(answer.Retired, e.opts.Tree.Retire(ctx, r.Key, r.Known))
	}
	return answer
}
