package core

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/search"
	"github.com/teammem/teammemd/server/store"
)

const (
	// indexTime bounds the making of one index.
	indexTime = 2 * time.Minute
	// indexCost is what an index takes at most for each byte of text, closely:
	// BenchmarkMemory finds 4.2, texts of scripts without spaces take more.
	indexCost = 6
	// searchTries bounds how often a search waits for an index that is thrown away.
	searchTries = 5
)

// Search answers a query about the live entries of a repo. The first one of a repo
// waits until its entries are taken apart, which goes on when the caller leaves.
// An answer is never older than the last write that was completed before. The
// error is [NotFound] for a repo that was never written, and wraps
// [api.ErrBadRequest] for a query that is none.
func (c *Core) Search(ctx context.Context, repo api.Repo, text string, limit, offset int) (api.SearchAnswer, error) {
	query, err := search.Parse(text)
	if err != nil {
		return api.SearchAnswer{}, err
	}
	made, err := c.index(ctx, repo)
	if err != nil {
		return api.SearchAnswer{}, err
	}
	found, err := made.index.Search(ctx, query, search.Page{Limit: limit, Offset: offset})
	if err != nil {
		return api.SearchAnswer{}, fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	answer := api.SearchAnswer{
		Repo: repo, Version: made.version, Match: string(found.Match), Total: found.Total,
		Searched: made.index.Len(), Cut: made.index.Cut(), Results: make([]api.SearchResult, 0, len(found.Results)),
	}
	for _, r := range found.Results {
		answer.Results = append(answer.Results, api.SearchResult{
			Key: r.Key.String(), Line: r.Line, Snippet: r.Text, Marks: r.Marks, Score: r.Score, Modified: r.Modified,
		})
	}
	return answer, nil
}

// index returns an index of the repo as it is now, or later.
func (c *Core) index(ctx context.Context, repo api.Repo) (*indexed, error) {
	for range searchTries {
		head, err := c.o.Store.Head(ctx, repo)
		if err != nil {
			return nil, storeError("reading the head", err)
		}
		if head.Version == 0 {
			return nil, NotFound()
		}
		// Twice: an index under way when the head was read may be of one before it.
		for range 2 {
			if made := c.searches.get(head); made != nil {
				return made, nil
			}
			under := c.makeIndex(ctx, repo)
			select {
			case <-under.done:
			case <-ctx.Done():
				return nil, fmt.Errorf("%w: waiting for the index: %w", api.ErrUnavailable, ctx.Err())
			}
			switch made, err := under.result, under.err; {
			case err != nil:
				return nil, err
			case made != nil && made.covers(head):
				return made, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: the repo keeps changing", api.ErrUnavailable)
}

// makeIndex starts to make an index of a repo, or joins who does.
func (c *Core) makeIndex(ctx context.Context, repo api.Repo) *making {
	under, mine := c.searches.begin(repo)
	if mine {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), indexTime)
		go func() {
			defer cancel()
			made, err := c.follow(ctx, repo, under.base)
			c.searches.end(repo, under, made, err)
		}()
	}
	return under
}

// follow makes the index of a repo's present head, with what base holds of it.
func (c *Core) follow(ctx context.Context, repo api.Repo, base *indexed) (made *indexed, err error) {
	defer func() {
		if recover() != nil { // what it panicked with may hold a content
			made, err = nil, fmt.Errorf("%w: an entry could not be searched", api.ErrInternal)
		}
	}()
	head, err := c.o.Store.Head(ctx, repo)
	if err != nil {
		return nil, storeError("reading the head", err)
	}
	made = &indexed{repo: repo, epoch: head.Epoch, version: head.Version, redacted: len(head.Redacted)}
	items := make([]search.Item, len(head.Items))
	for i, item := range head.Items {
		items[i] = search.Item{Key: item.Key, Sum: item.Sum, Modified: item.Modified}
	}
	most := mostBytes(head.Items, c.o.SearchBytes/indexCost)
	var old *search.Index
	if base != nil && base.epoch == head.Epoch {
		old = base.index
	}
	contents, err := c.contentsOf(ctx, head, old.Lacks(items, most))
	if err != nil {
		return nil, err
	}
	made.index = old.Next(items, contents, most)
	return made, nil
}

// contentsOf reads the contents of items, a few at a time.
func (c *Core) contentsOf(ctx context.Context, head *store.Head, items []search.Item) (map[api.Checksum]string, error) {
	contents := make(map[api.Checksum]string, len(items))
	rest := make([]store.Item, 0, len(items))
	for _, item := range items {
		if whole, live := head.Item(item.Key); live {
			rest = append(rest, whole)
		}
	}
	for len(rest) > 0 {
		var chunk []store.Item
		chunk, rest = cutChunk(rest)
		sums := make([]api.Checksum, len(chunk))
		for i := range chunk {
			sums[i] = chunk[i].Sum
		}
		bodies, err := c.o.Store.Bodies(ctx, head.Repo, sums)
		if err != nil {
			return nil, storeError("reading contents", err)
		}
		maps.Copy(contents, bodies)
	}
	return contents, nil
}

// mostBytes returns how much of each entry is searched so that all together stay
// within so many bytes. It changes in steps, so that it seldom does.
func mostBytes(items []store.Item, within int) int {
	most := api.MaxEntryBytes
	for ; most > 1; most /= 2 {
		sum := 0
		for i := range items {
			sum += min(items[i].Bytes, most)
		}
		if sum <= within {
			break
		}
	}
	return most
}
