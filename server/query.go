package server

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
)

// memoryQuery is the query of a team-memory request.
type memoryQuery struct {
	repo   api.Repo
	hashes bool
	sel    core.Selection
	wait   time.Duration
	after  uint64
	epoch  string
}

// query parses the raw query strictly: a client that sends a malformed one
// should hear of it, not get an answer to something else.
func (c *call) query() (url.Values, error) {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, api.Errorf(api.ErrBadRequest, "the query is malformed")
	}
	return values, nil
}

// aboutRepo reads the query of a request about one repo, and what its caller may
// do there.
func (c *call) aboutRepo() (values url.Values, at place, err error) {
	if values, err = c.query(); err != nil {
		return nil, place{}, err
	}
	repo, err := repoParam(values)
	if err != nil {
		return nil, place{}, err
	}
	at, err = c.access(repo)
	return values, at, err
}

// one returns the value of a parameter that may stand once.
func one(values url.Values, name string) (value string, given bool, err error) {
	switch list := values[name]; len(list) {
	case 0:
		return "", false, nil
	case 1:
		return list[0], true, nil
	}
	return "", false, api.Errorf(api.ErrBadRequest, "the parameter %s may stand once", name)
}

func oneNumber(values url.Values, name string) (n uint64, given bool, err error) {
	s, given, err := one(values, name)
	if err != nil || !given {
		return 0, given, err
	}
	if n, err = strconv.ParseUint(s, 10, 64); err != nil {
		return 0, true, api.Errorf(api.ErrBadRequest, "the parameter %s is a whole number", name)
	}
	return n, true, nil
}

func repoParam(values url.Values) (api.Repo, error) {
	s, given, err := one(values, "repo")
	if err != nil {
		return api.Repo{}, err
	}
	if !given {
		return api.Repo{}, api.Errorf(api.ErrRepoInvalid, "the parameter repo is missing")
	}
	return parseRepo(s)
}

func parseRepo(s string) (api.Repo, error) {
	repo, err := api.ParseRepo(s)
	if err != nil {
		return api.Repo{}, explain(api.ErrRepoInvalid, err)
	}
	return repo, nil
}

func parseKey(s string) (api.Key, error) {
	key, err := api.ParseKey(s)
	if err != nil {
		return api.Key{}, explain(api.ErrKeyInvalid, err)
	}
	return key, nil
}

// memoryQuery reads all parameters of the team-memory door. Unknown ones are
// left alone: other servers may know them.
func (c *call) memoryQuery() (q memoryQuery, err error) {
	values, err := c.query()
	if err != nil {
		return q, err
	}
	if q.repo, err = repoParam(values); err != nil {
		return q, err
	}
	view, _, err := one(values, "view")
	if err != nil {
		return q, err
	}
	if !slices.Contains([]string{"", "full", "hashes"}, view) {
		return q, api.Errorf(api.ErrBadRequest, "the parameter view is hashes, full or absent")
	}
	q.hashes = view == "hashes"
	if q.epoch, _, err = one(values, "epoch"); err != nil {
		return q, err
	}
	if q.sel.Since, q.sel.Delta, err = oneNumber(values, "since"); err != nil {
		return q, err
	}
	q.sel.Epoch, q.sel.Keys = q.epoch, values["keys"]
	if q.after, _, err = oneNumber(values, "after"); err != nil {
		return q, err
	}
	seconds, _, err := oneNumber(values, "wait")
	q.wait = min(time.Duration(min(seconds, 3600))*time.Second, api.MaxWait)
	return q, err
}

// plainMemoryQuery is the fast path of [call.memoryQuery] for the two queries
// that nearly all requests have: repo=<name>, alone or with view=hashes.
func plainMemoryQuery(raw string) (name string, hashes, ok bool) {
	name, ok = strings.CutPrefix(raw, "repo=")
	if !ok {
		return "", false, false
	}
	name, hashes = strings.CutSuffix(name, "&view=hashes")
	if strings.ContainsAny(name, "&;+=") {
		return "", false, false
	}
	name, err := url.QueryUnescape(name)
	return name, hashes, err == nil
}
