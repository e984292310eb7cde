package sync

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/memory"
)

// Why a copy was saved, as in [api.SavedCopy].
const (
	whyConflict = "conflict" // the server's text took its place
	whyMerged   = "merged"   // its edits live on in a merge; nobody has to act
)

// SetMerging says whether two edits of one text become one where they do not
// overlap. Otherwise, and where they do, the server wins and the local text is
// saved. Call it before the first Step.
func (c *Core) SetMerging(on bool) { c.merging = on }

// basesToMerge names the bases whose texts a merge of keys needs.
func (c *Core) basesToMerge(keys []api.Key) map[api.Key]api.Checksum {
	if !c.merging {
		return nil
	}
	bases := make(map[api.Key]api.Checksum)
	for _, key := range keys {
		if f := c.facts(key); Plan(f) == Displace && !f.Base.Sum.IsZero() {
			bases[key] = f.Base.Sum
		}
	}
	return bases
}

// joined returns one text with both edits, false where a person has to choose.
func (c *Core) joined(key api.Key, mine clash, theirs string) (string, bool) {
	switch {
	case !c.merging:
		return "", false
	case mine.base == nil:
		return memory.MergeWithoutBase(key, mine.Content, theirs)
	}
	return memory.Merge(key, *mine.base, mine.Content, theirs)
}

// recall returns the text of a base, nil when it is not kept.
func (e *Engine) recall(ctx context.Context, sum api.Checksum) *string {
	if e.opts.Texts == nil || sum.IsZero() {
		return nil
	}
	text, err := e.opts.Texts.Text(ctx, sum)
	if err != nil {
		return nil
	}
	return &text
}

// keepTexts stores the texts of new bases: those at hand, and those that stand
// in the tree. What cannot be kept is only missing for a merge.
func (e *Engine) keepTexts(ctx context.Context, f Commit) {
	if e.opts.Texts == nil {
		return
	}
	for _, sum := range slices.SortedFunc(maps.Keys(f.Texts), func(a, b api.Checksum) int { return bytes.Compare(a[:], b[:]) }) {
		if err := e.opts.Texts.Keep(ctx, sum, f.Texts[sum]); err != nil {
			e.log.DebugContext(ctx, "text of a base not kept", "error", err.Error())
			return
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(f.Agreed), api.Key.Compare) {
		sum := f.Agreed[key]
		if _, kept := f.Texts[sum]; kept {
			continue
		}
		file, err := e.opts.Tree.Load(ctx, key, api.Reading{})
		if err != nil || file.Sum != sum {
			continue // edited meanwhile
		}
		if err := e.opts.Texts.Keep(ctx, sum, file.Content); err != nil {
			e.log.DebugContext(ctx, "text of a base not kept", "error", err.Error())
			return
		}
	}
}
