package server

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/clients"
	"github.com/teammem/teammemd/server/core"
)

// saw notes that a checkout came and which state it was answered, nil for none.
// delivered says that contents went with the answer: a client without a device id
// is noted for those alone.
func (c *call) saw(repo api.Repo, view *core.View, delivered bool) {
	if c.o.Clients == nil {
		return
	}
	s := clients.Sighting{Repo: repo, At: time.Now()}
	var named bool
	if s.ID, named = deviceID(c.r.Header); !named {
		if !delivered {
			return
		}
		s.ID, s.Nameless = c.credential(), true
	}
	if view != nil {
		s.Epoch, s.Pulled = view.Epoch(), view.Version()
		if named {
			s.Cleaned = cleaned(c.r.Header, view)
		}
	}
	c.o.Clients.Saw(s, c)
}

// Actor returns who a device is.
func (c *call) Actor() api.Actor {
	by := c.actor()
	by.Agent, by.Session = "", ""
	return by
}

// deviceID reads [api.HeaderDevice]. What is no id is none.
func deviceID(h http.Header) (id clients.ID, ok bool) {
	values := h[api.HeaderDevice]
	if len(values) != 1 || len(values[0]) != hex.EncodedLen(len(id)) {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(values[0]))
	return id, err == nil
}

// credential stands for a client that says no id.
func (c *call) credential() (id clients.ID) {
	sum := sha256.Sum256([]byte("without a device id: " + cmp.Or(c.grant.Family, c.grant.ID)))
	copy(id[:], sum[:])
	return id
}

// cleaned reads [api.HeaderCleaned]: 0 where it is not of the store's epoch, or
// claims what is not yet.
func cleaned(h http.Header, view *core.View) uint64 {
	values := h[api.HeaderCleaned]
	if len(values) != 1 {
		return 0
	}
	epoch, number, _ := strings.Cut(values[0], ";")
	version, err := strconv.ParseUint(number, 10, 64)
	if err != nil || epoch != view.Epoch() || version > view.Version() {
		return 0
	}
	return version
}
