package core

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// redactTries bounds how often [Core.Redact] meets new contents with the value.
const redactTries = 5

// Redact takes contents away for good, everywhere: from history, from what is
// live, from the database's files, and, by the ledger in the hashes view, from
// every client. It is for maintainers. role is the caller's. The error is that of
// a write; [api.ErrPrecondition] (wrapped) when a version is asked for that is live,
// without leave to retire its key.
func (c *Core) Redact(ctx context.Context, role api.Role, by api.Actor, r api.RedactRequest) (api.RedactAnswer, error) {
	switch {
	case role < api.Reader:
		return api.RedactAnswer{}, NotFound()
	case role < api.Maintainer:
		return api.RedactAnswer{}, api.Errorf(api.ErrForbidden, "redacting is for maintainers of the repo")
	}
	if err := checkRedact(r); err != nil {
		return api.RedactAnswer{}, err
	}
	d := redaction{core: c, request: r, by: c.CleanActor(ctx, by), answer: api.RedactAnswer{
		Repo: r.Repo, Versions: []api.VersionInfo{}, DryRun: r.DryRun,
	}}
	for range redactTries {
		found, err := d.round(ctx)
		if err != nil {
			return api.RedactAnswer{}, err
		}
		if !found || r.DryRun {
			break
		}
	}
	if !r.DryRun {
		d.scrub(ctx)
		d.where(ctx)
	}
	return d.answer, nil
}

func checkRedact(r api.RedactRequest) error {
	byVersion, byValue := r.Key != "" || r.Version != 0, r.Value != ""
	switch {
	case byVersion == byValue:
		return api.Errorf(api.ErrBadRequest, "name either key and version, or value")
	case byVersion && (r.Key == "" || r.Version == 0):
		return api.Errorf(api.ErrBadRequest, "key and version go together")
	case byValue && len(r.Value) < api.MinRedactBytes:
		return api.Errorf(api.ErrBadRequest, "a value has at least %d bytes: shorter ones are in texts by chance", api.MinRedactBytes)
	case byValue && strings.Contains(api.RedactedText, r.Value):
		return api.Errorf(api.ErrBadRequest, "this value stands for what was redacted")
	}
	return nil
}

// redaction is one call on its way.
type redaction struct {
	core    *Core
	request api.RedactRequest
	by      api.Actor
	answer  api.RedactAnswer
	held    []uint64 // the versions of the round that have what goes
	made    []uint64 // the versions that the rounds made
}

// round finds what is to go and takes it away. It reports whether there was
// anything: a write of that moment may have brought the value once more.
func (d *redaction) round(ctx context.Context) (found bool, err error) {
	c, repo := d.core, d.request.Repo
	rows, err := c.o.Store.History(ctx, repo, api.Key{}, 0)
	if err != nil {
		return false, storeError("reading history", err)
	}
	head, err := c.o.Store.Head(ctx, repo)
	if err != nil {
		return false, storeError("reading the head", err)
	}
	d.answer.Version = head.Version
	clean, err := d.find(ctx, rows)
	if err != nil || len(clean) == 0 {
		return false, err
	}
	d.held = heldBy(rows, clean)
	change, live, err := d.change(head, clean)
	if err != nil {
		return false, err
	}
	d.report(rows, clean, live)
	if d.request.DryRun {
		return true, nil
	}
	after, err := c.o.Store.Update(ctx, repo, func(tx store.Tx) (store.Change, error) {
		if !sameState(tx.Head(), head) {
			change, live, err = d.change(tx.Head(), clean)
		}
		return change, err
	})
	if err != nil {
		return false, storeError("redacting", err)
	}
	d.answer.Version = after.Version
	d.made = append(d.made, after.Version)
	maps.Copy(d.answer.Live, live)
	c.views.get(after) // what is kept of the state before must not stay
	c.hub.Bump(repo, after.Version)
	c.o.Log.WarnContext(ctx, "contents redacted", "repo", repo.String(), "version", after.Version, "contents", len(clean), "token", d.by.Token)
	return d.request.Value != "", nil
}

// find returns the contents that are to go, each with the text that takes its
// place where it is live: "" for none.
func (d *redaction) find(ctx context.Context, rows []store.Version) (map[api.Checksum]string, error) {
	clean := make(map[api.Checksum]string)
	if d.request.Value == "" {
		for _, row := range rows {
			if row.Key.String() == d.request.Key && row.Version == d.request.Version && row.Op == store.OpPut && !row.Redacted {
				clean[row.Sum] = ""
				return clean, nil
			}
		}
		return nil, api.Errorf(api.ErrNotFound, "the key has no content of this version")
	}
	for rest := distinct(rows); len(rest) > 0; {
		var chunk []api.Checksum
		chunk, rest = cutSums(rest)
		bodies, err := d.core.o.Store.Bodies(ctx, d.request.Repo, chunk)
		if err != nil {
			return nil, storeError("reading contents", err)
		}
		for sum, body := range bodies {
			if strings.Contains(body, d.request.Value) {
				clean[sum] = strings.ReplaceAll(body, d.request.Value, api.RedactedText)
			}
		}
	}
	return clean, nil
}

// sized is a content and its size, in bytes.
type sized struct {
	sum   api.Checksum
	bytes int
}

// distinct lists the contents of a history, each once.
func distinct(rows []store.Version) []sized {
	seen := make(map[api.Checksum]bool, len(rows))
	var out []sized
	for _, row := range rows {
		if row.Sum.IsZero() || row.Redacted || seen[row.Sum] {
			continue
		}
		seen[row.Sum] = true
		out = append(out, sized{row.Sum, row.Bytes})
	}
	return out
}

func cutSums(all []sized) (chunk []api.Checksum, rest []sized) {
	size, n := 0, 0
	for n < len(all) && (n == 0 || size+all[n].bytes <= chunkBytes) {
		size += all[n].bytes
		chunk = append(chunk, all[n].sum)
		n++
	}
	return chunk, all[n:]
}

// change returns the write that takes clean's contents away from head, and what
// becomes of live keys.
func (d *redaction) change(head *store.Head, clean map[api.Checksum]string) (store.Change, map[string]string, error) {
	change := store.Change{
		Actor: d.by, At: d.core.o.Now().UTC().Truncate(time.Millisecond), Rules: d.core.o.Rules(),
		Redact: slices.SortedFunc(maps.Keys(clean), func(a, b api.Checksum) int { return slices.Compare(a[:], b[:]) }),
		Action: store.ActionRedact,
	}
	live := make(map[string]string)
	for _, item := range head.Items {
		instead, gone := clean[item.Sum]
		switch {
		case !gone:
		case d.request.Retire:
			change.Retire = append(change.Retire, item.Key)
			live[item.Key.String()] = "retired"
		case instead == "":
			return store.Change{}, nil, api.Errorf(api.ErrPrecondition, "this content is live: write another text first, or ask for its key to be retired")
		default:
			change.Puts = append(change.Puts, store.Put{Key: item.Key, Content: instead, Sum: api.SumString(instead), Allowed: item.Allowed})
			live[item.Key.String()] = "replaced"
		}
	}
	how := "version"
	if d.request.Value != "" {
		how = "value"
	}
	detail, err := json.Marshal(redactedDetail{Contents: len(clean), By: how, Live: len(live), Held: d.held})
	if err != nil {
		return store.Change{}, nil, fmt.Errorf("%w: encoding what is redacted: %w", api.ErrInternal, err)
	}
	change.Detail = string(detail)
	return change, live, nil
}

// report tells of the versions that lose their content.
func (d *redaction) report(rows []store.Version, clean map[api.Checksum]string, live map[string]string) {
	d.answer.Contents += len(clean)
	for _, row := range rows {
		if _, gone := clean[row.Sum]; gone && !row.Redacted {
			d.answer.Versions = append(d.answer.Versions, api.VersionInfo{
				Key: row.Key.String(), Version: row.Version, Op: string(row.Op), Bytes: row.Bytes, At: row.At, Actor: row.Actor, Rules: row.Rules,
			})
		}
	}
	if d.answer.Live == nil {
		d.answer.Live = make(map[string]string)
	}
	maps.Copy(d.answer.Live, live)
}

// where tells which devices may have what was taken away. The redaction is done:
// that this cannot be read now is no failure of it.
func (d *redaction) where(ctx context.Context) {
	if len(d.made) == 0 {
		return
	}
	reports, err := d.core.reports(ctx, d.request.Repo, func(version uint64) bool { return slices.Contains(d.made, version) })
	if err != nil {
		d.core.o.Log.WarnContext(ctx, "no report of a redaction", "error", err)
	}
	d.answer.Reports = reports
}

// scrub cleans the files of the database, also where nothing was found now: an
// earlier call may not have come so far.
func (d *redaction) scrub(ctx context.Context) {
	if d.core.o.Scrub == nil {
		d.answer.Unscrubbed = "this store cannot be scrubbed"
		return
	}
	if err := d.core.o.Scrub(ctx); err != nil {
		d.answer.Unscrubbed = "the database's files could not be cleaned; ask again"
		d.core.o.Log.ErrorContext(ctx, "redacted contents not scrubbed from the database's files", "error", err)
		return
	}
	d.answer.Scrubbed = true
}
