package access

import (
	"container/list"
	"strings"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/forge"
)

const (
	maxEntries = 50_000
	// maxOfUser keeps one user who asks for many names from pushing out what is
	// known of others.
	maxOfUser = 2_000
)

// question is what an entry answers.
type question struct {
	user string
	repo api.Repo // as it was asked for
}

// entry is what is known of one user in one repo. It is immutable.
type entry struct {
	person    Person
	said      forge.Answer // by the forge; zero for nothing
	home      api.Repo     // where the data of the forge's repository is kept; zero without
	asked     time.Time    // when this was found out
	confirmed time.Time    // when the forge last said so
	until     time.Time
	failed    error // why the forge's word is missing
}

// cache remembers entries, each user's least recently used first out.
type cache struct {
	mu     sync.Mutex
	users  map[string]*list.List // of *row, most recent first
	rows   map[question]*list.Element
	drops  uint64
	oldest *list.List // of users, most recently used first
	places map[string]*list.Element
}

type row struct {
	key question
	e   *entry
}

func newCache() *cache {
	return &cache{users: map[string]*list.List{}, rows: map[question]*list.Element{}, oldest: list.New(), places: map[string]*list.Element{}}
}

// get returns an entry, nil for none.
func (c *cache) get(key question) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.rows[key]
	if !ok {
		return nil
	}
	c.users[key.user].MoveToFront(el)
	c.oldest.MoveToFront(c.places[key.user])
	return el.Value.(*row).e
}

// last is get for an entry that may be too old.
func (c *cache) last(key question) *entry { return c.get(key) }

// dropped counts how often entries were taken out before their time.
func (c *cache) dropped() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drops
}

// put remembers an entry, unless something was dropped since drops were counted:
// what was found out may be older than the reason for that.
func (c *cache) put(key question, e *entry, drops uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drops != drops {
		return
	}
	if el, ok := c.rows[key]; ok {
		el.Value.(*row).e = e
		return
	}
	mine := c.users[key.user]
	if mine == nil {
		mine = list.New()
		c.users[key.user] = mine
		c.places[key.user] = c.oldest.PushFront(key.user)
	}
	if mine.Len() >= maxOfUser {
		c.remove(mine.Back())
	}
	for len(c.rows) >= maxEntries {
		c.remove(c.users[c.oldest.Back().Value.(string)].Back())
	}
	if c.users[key.user] == nil { // the last one removed was this user's only one
		c.users[key.user], c.places[key.user] = mine, c.oldest.PushFront(key.user)
	}
	c.rows[key] = mine.PushFront(&row{key, e})
}

// drop takes out the entries that match.
func (c *cache) drop(match func(question, *entry) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	for _, el := range c.rows {
		r := el.Value.(*row)
		if match(r.key, r.e) {
			c.remove(el)
		}
	}
}

// remove takes one row out; c.mu is held.
func (c *cache) remove(el *list.Element) {
	key := el.Value.(*row).key
	mine := c.users[key.user]
	mine.Remove(el)
	delete(c.rows, key)
	if mine.Len() == 0 {
		delete(c.users, key.user)
		c.oldest.Remove(c.places[key.user])
		delete(c.places, key.user)
	}
}

// below reports whether repo is owner or stands below it.
func below(repo, owner string) bool {
	return repo == owner || strings.HasPrefix(repo, owner+"/")
}
