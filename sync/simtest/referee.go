package simtest

import (
	"errors"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// referee watches the order of what one process does. It knows what the process
// may know: the views that it was shown, and what people said.
type referee struct {
	scanned  bool // in this cycle
	shut     bool // this cycle was told that there is nothing, by a server that had something
	back     bool // this cycle saw a server that went back, and nobody said how to go on
	misled   bool // this cycle was told that there is nothing, and had no reason to doubt it
	resolved bool // somebody said it, and it was not used yet
	tombs    map[api.Key]uint64
	placed   map[api.Key]api.Checksum // without an error, in this cycle
	empty    map[api.Key]time.Time    // since when each scan found the file empty
	followed api.Position             // what the process follows, by its records
	accepted api.Position             // the changed server that a word was used on, until that is recorded
	seen     api.Position             // where this cycle's view was

	// When the cycle began, and our own part since.
	edits, changes, mine int
}

// before judges an effect that is about to be carried out.
func (r *referee) before(m *machine, effect teamsync.Effect) {
	switch effect.(type) {
	case teamsync.Scan:
		r.scanned, r.shut, r.back, r.misled = true, false, false, false
		clear(r.placed)
		r.edits, r.changes, r.mine = m.edits, m.w.server.changes, 0
	case teamsync.Look:
		m.w.broke(promiseScanFirst(r))
	case teamsync.Send, teamsync.Receive, teamsync.Install:
		m.w.broke(promiseStopped(r, effect))
	}
}

// viewed notes what a process was shown.
func (r *referee) viewed(m *machine, view *api.View, err error) {
	if err != nil {
		r.refusedView(m, err)
		return
	}
	at := api.Position{Epoch: view.Epoch, Version: view.Version}
	r.seen = at
	r.back = isBack(r.followed, at) && (r.accepted == api.Position{} || isBack(r.accepted, at))
	if r.back && r.resolved {
		r.back, r.accepted = false, at
	}
	r.resolved = false // used, or of no use
	if !view.NotModified {
		r.tombs = view.Tombs
	}
}

// heard notes a person's word about a changed server. A view that is on its way
// to the core is judged by it.
func (r *referee) heard(m *machine) {
	answer, arriving := m.answer.(teamsync.Viewed)
	if !arriving || answer.Err != nil {
		r.resolved = true
		return
	}
	if r.back {
		r.back, r.accepted = false, api.Position{Epoch: answer.View.Epoch, Version: answer.View.Version}
	}
}

// isBack reports whether a server that was at then, and is at now, went back.
func isBack(then, now api.Position) bool {
	return then.Epoch != "" && now.Epoch != then.Epoch || now.Version < then.Version
}

// pulled notes where the server was when it gave contents. One that went back
// since the view may not fill the tree with them.
func (r *referee) pulled(at api.Position) { r.back = r.back || isBack(r.seen, at) }

// recorded notes a record that is durable.
func (r *referee) recorded(record api.Record) {
	if record.View != nil {
		r.followed, r.accepted = *record.View, api.Position{}
	}
}

func (r *referee) refusedView(m *machine, err error) {
	was := m.state.promised
	had := was.Version > 0
	for _, base := range was.Bases {
		had = had || !base.Sum.IsZero() || base.Tomb != 0
	}
	r.seen = api.Position{}
	r.shut = had && errors.Is(err, api.ErrNotFound)
	r.misled = !had && errors.Is(err, api.ErrNotFound)
	if r.misled {
		r.tombs = nil
	}
}

// after judges what a process says at the end of a cycle.
func (r *referee) after(m *machine) {
	report := m.core.Report()
	r.scanned = false
	m.w.stats.Conflicts += len(report.Conflicts)
	m.w.broke(promiseNoSecretTold(report))
	m.w.broke(promiseDoorClosed(r, report))
	m.w.broke(promiseTriesAgain(m, report))
	m.w.broke(promiseInSyncIsTrue(m, report))
}

// sending, placing, retiring and committing judge what a process asks its ports
// for.
func (r *referee) sending(m *machine, batch api.Batch) {
	m.w.broke(promiseTombsRespected(r, batch))
	m.w.broke(promiseEmptyWaits(m, batch))
}

// found notes what a scan told.
func (r *referee) found(m *machine, files []api.Local) {
	before := r.empty
	r.empty = map[api.Key]time.Time{}
	for _, f := range files {
		if f.Bytes > 0 {
			continue
		}
		r.empty[f.Key] = m.w.now
		if since, again := before[f.Key]; again {
			r.empty[f.Key] = since
		}
	}
}

// loaded notes what a reading told since.
func (r *referee) loaded(m *machine, key api.Key, content text) {
	if _, known := r.empty[key]; content.s == "" && !known {
		r.empty[key] = m.w.now
	}
}

func (r *referee) placing(m *machine, p api.Placement) {
	if m.w.history.Merge && m.w.server.live[p.Key].sum != p.Sum && !m.w.whole[p.Content] {
		m.w.whole[p.Content] = true // a merge of two that are
		m.w.stats.Merges++
	}
	m.w.broke(promisePlacement(m, p))
}

func (r *referee) retiring(m *machine, key api.Key) { m.w.broke(promiseRetiredOnPurpose(r, key)) }

func (r *referee) committing(m *machine, record api.Record) {
	m.w.broke(promiseBaseAfterFact(m, record))
}
