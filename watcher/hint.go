package watcher

// Hint says that a root should be read again.
type Hint struct {
	ID string
	// Full means that looking at sizes and times is not enough: events were
	// lost, the root is another than before, or it is time for it.
	Full bool
}

// Mode is how a root is watched.
type Mode string

// The modes.
const (
	Events  Mode = "events"
	Polling Mode = "polling"
	Missing Mode = "missing"
)

// outbox holds the hints that nobody has taken yet: one for each root, the one
// that waited longest first.
type outbox struct {
	order []string
	full  map[string]bool
}

func (o *outbox) put(h Hint) {
	if o.full == nil {
		o.full = map[string]bool{}
	}
	full, waiting := o.full[h.ID]
	if !waiting {
		o.order = append(o.order, h.ID)
	}
	o.full[h.ID] = full || h.Full
}

func (o *outbox) head() (Hint, bool) {
	if len(o.order) == 0 {
		return Hint{}, false
	}
	id := o.order[0]
	return Hint{id, o.full[id]}, true
}

// taken removes a hint that was handed over, unless it has become more than
// that meanwhile.
func (o *outbox) taken(h Hint) {
	if full, waiting := o.full[h.ID]; waiting && full == h.Full {
		o.drop(h.ID)
	}
}

func (o *outbox) drop(id string) {
	if _, waiting := o.full[id]; !waiting {
		return
	}
	delete(o.full, id)
	for i, other := range o.order {
		if other == id {
			o.order = append(o.order[:i], o.order[i+1:]...)
			return
		}
	}
}

func (o *outbox) has(id string) bool {
	_, waiting := o.full[id]
	return waiting
}
