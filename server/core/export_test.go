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
