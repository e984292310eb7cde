package watcher

// Hint says that a root should be read again.
type Hint struct {
	ID string
	// Full means that looking at sizes and times is not enough: events were
	// lost, the root is another than before, or it is time for it.
	Full bool
	// Busy means that writing goes on and the longest wait is over: a file that
	// is read now may be written at the same moment.
	Busy bool
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
	hints map[string]Hint
}

func (o *outbox) put(h Hint) {
	if o.hints == nil {
		o.hints = map[string]Hint{}
	}
	old, waiting := o.hints[h.ID]
	if !waiting {
		o.order = append(o.order, h.ID)
	}
	o.hints[h.ID] = Hint{h.ID, old.Full || h.Full, old.Busy || h.Busy}
}

func (o *outbox) head() (Hint, bool) {
	if len(o.order) == 0 {
		return Hint{}, false
	}
	return o.hints[o.order[0]], true
}

// taken removes a hint that was handed over, unless it has become more than
// that meanwhile.
func (o *outbox) taken(h Hint) {
	if o.hints[h.ID] == h {
		o.drop(h.ID)
	}
}

func (o *outbox) drop(id string) {
	if _, waiting := o.hints[id]; !waiting {
		return
	}
	delete(o.hints, id)
	for i, other := range o.order {
		if other == id {
			o.order = append(o.order[:i], o.order[i+1:]...)
			return
		}
	}
}

func (o *outbox) has(id string) bool {
	_, waiting := o.hints[id]
	return waiting
}
