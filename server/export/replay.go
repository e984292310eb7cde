package export

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Source is what is exported; a [store.Store] is one. A server may go on writing
// to it: each repo is exported as it was at one version.
type Source interface {
	Head(ctx context.Context, repo api.Repo) (*store.Head, error)
	Bodies(ctx context.Context, repo api.Repo, sums []api.Checksum) (map[api.Checksum]string, error)
	History(ctx context.Context, repo api.Repo, key api.Key, limit int) ([]store.Version, error)
}

// Summary counts what was written.
type Summary struct {
	Repos    int
	Entries  int // that are live
	Versions int // of repos, those without anything left to show not counted
}

func (s *Summary) add(other Summary) {
	s.Repos += other.Repos
	s.Entries += other.Entries
	s.Versions += other.Versions
}

// step is one version of a repo: what it did to its keys, in their order.
type step struct {
	version uint64
	at      time.Time
	by      store.Version // any row of it: who acted
	changes []change
}

// change is one row with its content.
type change struct {
	store.Version
	content string
	gone    bool // the content was redacted or pruned; of a redacted one the key as well
}

// chunkRows bounds the contents that are in memory at a time: 64 of 250,000 bytes
// are 16 MB.
const chunkRows = 64

// replay calls each with every version of a repo up to head's, oldest first.
func replay(ctx context.Context, src Source, head *store.Head, each func(step) error) error {
	rows, err := src.History(ctx, head.Repo, api.Key{}, 0)
	if err != nil {
		return fmt.Errorf("reading the history of %q: %w", head.Repo, err)
	}
	rows = slices.DeleteFunc(rows, func(v store.Version) bool { return v.Version > head.Version })
	slices.SortStableFunc(rows, func(a, b store.Version) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), a.Key.Compare(b.Key))
	})
	var now step
	for rest := rows; len(rest) > 0; {
		chunk := rest[:min(chunkRows, len(rest))]
		rest = rest[len(chunk):]
		bodies, err := src.Bodies(ctx, head.Repo, sumsOf(chunk))
		if err != nil {
			return fmt.Errorf("reading contents of %q: %w", head.Repo, err)
		}
		for _, row := range chunk {
			if row.Version != now.version && now.version != 0 {
				if err := each(now); err != nil {
					return err
				}
				now = step{}
			}
			now.version, now.at, now.by = row.Version, row.At, row
			now.changes = append(now.changes, changeOf(row, bodies))
		}
	}
	if now.version == 0 {
		return nil
	}
	return each(now)
}

func sumsOf(rows []store.Version) []api.Checksum {
	var sums []api.Checksum
	for _, row := range rows {
		if row.Op == store.OpPut && !row.Redacted {
			sums = append(sums, row.Sum)
		}
	}
	return sums
}

func changeOf(row store.Version, bodies map[api.Checksum]string) change {
	c := change{Version: row}
	if row.Op != store.OpPut {
		c.gone = row.Redacted
		return c
	}
	var found bool
	c.content, found = bodies[row.Sum]
	c.gone = row.Redacted || row.Pruned || !found
	if c.gone {
		c.content = ""
	}
	return c
}

// whoIs names an actor in one line: as a person, else as what bore the token.
func whoIs(a api.Actor) string { return cmp.Or(a.Person, a.Token, "unknown") }
