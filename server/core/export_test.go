package core

import (
	"weak"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/search"
)

// IndexBytes is what all indexes take.
func IndexBytes(c *Core) int {
	c.searches.mu.Lock()
	defer c.searches.mu.Unlock()
	return c.searches.used
}

// IndexGone returns what reports whether the present index of a repo is in memory
// no more.
func IndexGone(c *Core, repo api.Repo) func() bool {
	c.searches.mu.Lock()
	defer c.searches.mu.Unlock()
	var held weak.Pointer[search.Index]
	if el, ok := c.searches.byRepo[repo]; ok {
		held = weak.Make(el.Value.(*indexed).index)
	}
	return func() bool { return held.Value() == nil }
}

// BeginTwice begins the index of a repo twice at a time, and ends it. It reports
// whether each has to make it, and whether both wait for the same.
func BeginTwice(c *Core, repo api.Repo) (first, second, same bool) {
	one, first := c.searches.begin(repo)
	other, second := c.searches.begin(repo)
	c.searches.end(repo, one, nil, nil)
	return first, second, one == other
}
