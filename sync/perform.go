package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// perform carries out one effect and returns its answer. It decides nothing.
func (e *Engine) perform(ctx context.Context, effect Effect) Event {
	switch f := effect.(type) {
	case Scan:
		snapshot, err := e.opts.Tree.Snapshot(ctx, f.How)
		return Scanned{snapshot, err}
	case Look:
		view, err := e.opts.Remote.Hashes(ctx, f.Known)
		answer := Viewed{View: view, Err: err}
		if err == nil || errors.Is(err, api.ErrNotFound) {
			answer.Rules = e.opts.Guard.Rules()
		}
		return answer
	case Purge:
		return Purged{e.opts.State.Purge(ctx, f.Sums)}
	case Confirm:
		return Confirmed{e.opts.Remote.Confirm(ctx, f.At, f.Known)}
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
		return e.commit(ctx, f)
	}
	panic(fmt.Sprintf("sync: unknown effect %T", effect)) // a new effect without a case here
}

// commit makes the files durable before the record that says that both sides
// have them. Otherwise a loss of power could bring an older text back under a
// newer base, and it would be sent as an edit of what the team has by now.
func (e *Engine) commit(ctx context.Context, f Commit) Event {
	answer := Committed{}
	agreed := slices.SortedFunc(maps.Keys(f.Agreed), api.Key.Compare)
	if len(agreed) > 0 && !planted.In(planted.LooseBase) {
		record := f.Record
		record.Bases = maps.Clone(record.Bases)
		for i, err := range e.opts.Disk.Persist(ctx, agreed) {
			if err != nil {
				answer.Left, answer.Why = append(answer.Left, agreed[i]), err
				delete(record.Bases, agreed[i])
			}
		}
		f.Record = record
	}
	if answer.Err = e.opts.State.Commit(ctx, f.Record); answer.Err == nil {
		e.keepTexts(ctx, f)
	}
	return answer
}

// inspect loads each file and lets the guard judge the very buffer that will be
// sent.
func (e *Engine) inspect(ctx context.Context, f Inspect) Event {
	files := make([]Inspection, len(f.Keys))
	for i, key := range f.Keys {
		files[i].Key = key
		files[i].Loaded, files[i].Err = e.opts.Tree.Load(ctx, key, f.How)
		files[i].Base = e.recall(ctx, f.Bases[key])
	}
	err := judge(len(files), func(i int) (err error) {
		if file := &files[i]; file.Err == nil {
			var unfit *api.HeldError
			if file.Findings, unfit, err = e.check(ctx, file.Key, file.Loaded.Content, f.Vouched[file.Key]); unfit != nil {
				file.Err = unfit
			}
		}
		return err
	})
	if err != nil {
		return Inspected{Err: err}
	}
	if planted.In(planted.OtherBuffer) {
		for i, key := range f.Keys {
			files[i].Loaded, files[i].Err = e.opts.Tree.Load(ctx, key, f.How)
		}
	}
	return Inspected{Files: files}
}

func (e *Engine) receive(ctx context.Context, f Receive) Event {
	pulled, err := e.opts.Remote.Pull(ctx, f.Keys)
	if err != nil {
		return Received{Err: err}
	}
	entries := make([]Arrival, len(pulled.Entries))
	err = judge(len(entries), func(i int) (err error) {
		entry := &entries[i]
		entry.Incoming = pulled.Entries[i]
		entry.Findings, entry.Refusal, err = e.check(ctx, entry.Key, entry.Content, api.Vouched{Sum: entry.Sum, Rules: entry.Allowed})
		return err
	})
	if err != nil {
		return Received{Err: err}
	}
	return Received{Invalid: pulled.Invalid, Entries: entries, At: pulled.At}
}

// check tells a guard that cannot judge one text from one that cannot judge any.
func (e *Engine) check(ctx context.Context, key api.Key, content string, vouched api.Vouched) ([]api.Finding, *api.HeldError, error) {
	findings, err := e.opts.Guard.Check(ctx, key, content, vouched)
	if unfit, ok := errors.AsType[*api.HeldError](err); ok {
		return nil, unfit, nil
	}
	if planted.In(planted.LeakyLog) && len(findings) > 0 {
		e.log.DebugContext(ctx, "a text is held", "key", key.String(), "text", content)
	}
	return findings, nil, err
}

// judge asks the guard about n texts, as many at a time as there are processors:
// it is what a first sync spends its time on. The error is one of those that
// mean that nothing can be judged now.
func judge(n int, check func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error { return check(i) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("scanning for secrets: %w", err)
	}
	return nil
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
