package core

import (
	"container/list"
	"sync"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// viewOverhead is what a view costs before it is rendered, in bytes, roughly.
const viewOverhead = 1 << 10

// viewCache keeps the newest view of each repo, least recently used first out,
// within a budget of rendered bytes.
type viewCache struct {
	budget int
	// generation returns that of the scanner's rules. It is asked where a text was
	// let pass, and nowhere else: naming the rules loads them.
	generation func() string
	// moved is told each head that is another than the one kept.
	moved func(*store.Head)

	mu    sync.Mutex
	used  int
	order *list.List // of *cached, most recent first
	byKey map[api.Repo]*list.Element
}

type cached struct {
	view *View
	cost int
}

func newViewCache(budget int) *viewCache {
	return &viewCache{budget: budget, order: list.New(), byKey: map[api.Repo]*list.Element{}}
}

// get returns the view of head: the one that is kept when it shows the same
// state, a new one otherwise.
func (c *viewCache) get(head *store.Head) *View {
	view, fresh := c.look(head)
	if fresh && c.moved != nil {
		c.moved(head)
	}
	return view
}

func (c *viewCache) look(head *store.Head) (view *View, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.byKey[head.Repo]; ok {
		entry := el.Value.(*cached)
		if sameState(entry.view.head, head) {
			c.order.MoveToFront(el)
			return entry.view, false
		}
		if newer(entry.view.head, head) {
			return newView(c, head), false // a slow reader's; not worth keeping
		}
		c.remove(el)
	}
	view = newView(c, head)
	c.byKey[head.Repo] = c.order.PushFront(&cached{view, viewOverhead})
	c.used += viewOverhead
	c.shrink()
	return view, true
}

// charge adds what rendering a view cost, if it is still kept.
func (c *viewCache) charge(view *View, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.byKey[view.head.Repo]
	if !ok || el.Value.(*cached).view != view {
		return
	}
	el.Value.(*cached).cost += bytes
	c.used += bytes
	c.shrink()
}

// size counts the views that are kept, and the bytes that they take.
func (c *viewCache) size() (views, used int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Len(), c.used
}

func (c *viewCache) shrink() {
	for c.used > c.budget && c.order.Len() > 1 {
		c.remove(c.order.Back())
	}
}

func (c *viewCache) remove(el *list.Element) {
	entry := c.order.Remove(el).(*cached)
	delete(c.byKey, entry.view.head.Repo)
	c.used -= entry.cost
}

func sameState(a, b *store.Head) bool {
	return a == b || (a.Version == b.Version && a.Checksum == b.Checksum && a.Epoch == b.Epoch)
}

// newer reports whether a is a later state than b of the same store.
func newer(a, b *store.Head) bool { return a.Epoch == b.Epoch && a.Version > b.Version }
