package server_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/core"
	"github.com/teammem/teammemd/server/store"
)

// faulty is the real store with a fault switched on.
type faulty struct {
	store.Backend
	fault    atomic.Value // of string
	bodies   atomic.Int32 // calls of Bodies
	redacted []api.Checksum
}

// The faults.
const (
	none        = ""
	updateFails = "update fails"      // nothing is written
	answerLost  = "answer lost"       // written, but reported as failed
	headFails   = "head fails"        // no head can be read
	bodiesFail  = "bodies fail"       // no content can be read
	bodiesBreak = "bodies break off"  // only the first contents can be read
	bodiesMiss  = "bodies are missed" // contents are gone, as after a redaction
	credsFail   = "credentials fail"  // no token can be read
	redaction   = "redaction"         // the head has a ledger
)

var errDisk = errors.New("disk is gone")

func (f *faulty) is(fault string) bool { return f.fault.Load() == fault }

func (f *faulty) Update(ctx context.Context, repo api.Repo, decide func(store.Tx) (store.Change, error)) (*store.Head, error) {
	if f.is(updateFails) {
		return nil, errDisk
	}
	head, err := f.Backend.Update(ctx, repo, decide)
	if err == nil && f.is(answerLost) {
		return nil, errDisk
	}
	return head, err
}

func (f *faulty) Head(ctx context.Context, repo api.Repo) (*store.Head, error) {
	if f.is(headFails) {
		return nil, errDisk
	}
	head, err := f.Backend.Head(ctx, repo)
	if err == nil && f.is(redaction) {
		changed := *head
		changed.Redacted = f.redacted
		changed.Seal()
		head = &changed
	}
	return head, err
}

func (f *faulty) Bodies(ctx context.Context, repo api.Repo, sums []api.Checksum) (map[api.Checksum]string, error) {
	call := f.bodies.Add(1)
	if f.is(bodiesFail) || (f.is(bodiesBreak) && call > 1) {
		return nil, errDisk
	}
	found, err := f.Backend.Bodies(ctx, repo, sums)
	if f.is(bodiesMiss) {
		delete(found, sums[0])
	}
	return found, err
}

func (f *faulty) Generation(ctx context.Context) (uint64, error) {
	if f.is(credsFail) {
		return 0, errDisk
	}
	return f.Backend.Generation(ctx)
}

func newFaulty(t *testing.T, o options) (*world, *faulty) {
	t.Helper()
	f := &faulty{}
	f.fault.Store(none)
	o.store = func(real store.Backend) store.Backend {
		f.Backend = real
		return f
	}
	return newWorld(t, o), f
}

func TestStoreFaults(t *testing.T) {
	const text = "words of an entry"
	w, f := newFaulty(t, options{})
	token := w.token("*", api.Maintainer)
	w.put(token, "a/b", entries{"k": text})
	whole := request{path: memory("a/b")}
	tests := []struct {
		fault string
		r     request
	}{
		{updateFails, request{method: http.MethodPut, path: memory("a/b"), body: `{"entries":{"k":"` + text + ` anew"}}`}},
		{headFails, whole},
		{headFails, request{path: memory("a/b", "view=hashes")}},
		{headFails, request{path: memory("a/b", "wait=25&after=1")}},
		{bodiesFail, whole},
		{bodiesFail, request{path: memory("a/b"), header: map[string]string{"Accept-Encoding": "gzip"}}},
		{bodiesFail, request{path: api.PathContent + "?repo=a/b&key=k&version=1"}},
	}
	for _, tt := range tests {
		f.fault.Store(tt.fault)
		tt.r.token = token
		a := w.do(tt.r)
		wantStatus(t, tt.fault+" "+tt.r.path, a, 503, "unavailable")
		if a.header.Get("Retry-After") == "" || a.header.Get("Content-Encoding") != "" {
			t.Errorf("%s: headers %v", tt.fault, a.header)
		}
		if strings.Contains(string(a.body), errDisk.Error()) {
			t.Errorf("%s: the cause travels: %s", tt.fault, a.body)
		}
	}
	f.fault.Store(none)
	if got := w.hashes(token, "a/b").Version; got != 1 {
		t.Errorf("version %d after the faults, want 1", got)
	}
	log := w.logged.String()
	if !strings.Contains(log, errDisk.Error()) || strings.Contains(log, text) {
		t.Errorf("the log should tell the cause and no content: %s", log)
	}
}

// A write whose answer was lost is sent again, and succeeds without a second
// version, preconditions and all.
func TestAnswerLostAfterCommit(t *testing.T) {
	w, f := newFaulty(t, options{})
	token := w.token("*", api.Writer)
	first := w.put(token, "a/b", entries{"k": "1"})
	again := request{
		method: http.MethodPut, path: memory("a/b"), token: token, header: map[string]string{"If-Match": first.Checksum.String()},
		body: jsonOf(t, api.PushRequest{Entries: entries{"k": "2"}, Expect: entries{"k": api.SumString("1").String()}}),
	}
	f.fault.Store(answerLost)
	wantStatus(t, "the lost answer", w.do(again), 503, "unavailable")
	f.fault.Store(none)
	a := w.do(again)
	wantStatus(t, "sent again", a, 200, "")
	if v := decodeAs[api.PushAnswer](t, a).Version; v != 2 {
		t.Errorf("version %d, want 2", v)
	}
}

// An answer that cannot be finished must not look whole.
func TestAnswerIsCutOff(t *testing.T) {
	w, f := newFaulty(t, options{})
	token := w.token("*", api.Writer)
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		w.put(token, "a/b", entries{key: strings.Repeat(key, 240_000)})
	}
	f.fault.Store(bodiesBreak)
	for _, coding := range []string{"identity", "gzip"} {
		f.bodies.Store(0)
		if a, err := w.try(request{path: memory("a/b"), token: token, header: map[string]string{"Accept-Encoding": coding}}); err == nil {
			t.Errorf("%s: the answer ended well after %d bytes", coding, len(a.body))
		}
	}
}

func TestContentGoneWhileReading(t *testing.T) {
	w, f := newFaulty(t, options{})
	token := w.token("*", api.Writer)
	w.put(token, "a/b", entries{"a": "1", "b": "2"})
	f.fault.Store(bodiesMiss)
	full := decodeAs[api.FullAnswer](t, w.do(request{path: memory("a/b"), token: token}))
	if diff := cmp.Diff(entries{"b": "2"}, full.Content.Entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if len(full.Content.EntryChecksums) != 1 || len(full.Content.EntryModified) != 1 {
		t.Errorf("content = %+v", full.Content)
	}
	wantStatus(t, "its version", w.do(request{path: api.PathContent + "?repo=a/b&key=a&version=1", token: token}), 422, "content_redacted")
}

func TestRedactedIsAnnounced(t *testing.T) {
	w, f := newFaulty(t, options{})
	token := w.token("*", api.Writer)
	before := w.put(token, "a/b", entries{"a": "1"})
	w.hashes(token, "a/b")
	f.redacted = []api.Checksum{api.SumString("gone"), api.SumString("gone too")}
	f.fault.Store(redaction)
	view := w.hashes(token, "a/b")
	if !slices.Equal(view.Redacted, f.redacted) {
		t.Errorf("redacted = %v", view.Redacted)
	}
	if view.Checksum == before.Checksum {
		t.Error("a redaction does not change the checksum")
	}
}

func TestCredentialsOut(t *testing.T) {
	w, f := newFaulty(t, options{})
	token := w.token("*", api.Writer)
	wantStatus(t, "before", w.do(request{path: api.PathWhoAmI, token: token}), 200, "")
	f.fault.Store(credsFail)
	failed := time.Now()
	for sent := failed; w.do(request{path: api.PathWhoAmI, token: token}).status == 200; sent = time.Now() {
		if sent.Sub(failed) > time.Second {
			t.Fatal("tokens are believed for more than a second after they could be read")
		}
	}
	wantStatus(t, "a token that cannot be checked", w.do(request{path: api.PathWhoAmI, token: token}), 503, "unavailable")
	unready := w.do(request{path: api.PathReady})
	wantStatus(t, "readiness", unready, 503, "unavailable")
	if !strings.Contains(string(unready.body), "store not readable") || unready.header.Get("Retry-After") == "" {
		t.Errorf("readiness gives no reason: %v %s", unready.header, unready.body)
	}
	wantStatus(t, "liveness", w.do(request{path: api.PathLive}), 200, "")
	f.fault.Store(none)
	wantStatus(t, "after", w.do(request{path: api.PathWhoAmI, token: token}), 200, "")
	wantStatus(t, "readiness after", w.do(request{path: api.PathReady}), 200, "")
}

func TestAccessLog(t *testing.T) {
	w := newWorld(t, options{level: slog.LevelDebug})
	token := w.token("*", api.Writer)
	w.put(token, "secret-project/x", entries{"k": "words of an entry"})
	w.do(request{path: "/words-of-a-client", token: token})
	log := w.logged.String()
	for _, want := range []string{"method=PUT route=" + api.PathTeamMemory + " status=200", "route=other status=404", "duration_ms="} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q", want)
		}
	}
	for _, bad := range []string{token, "words-of-a-client", "words of an entry"} {
		if strings.Contains(log, bad) {
			t.Errorf("the log holds %q", bad)
		}
	}
}

// A request that does not end is cut off when the time to drain is over.
func TestDrainEnds(t *testing.T) {
	scanning := make(chan struct{})
	w := newWorld(t, options{
		core: func(o *core.Options) {
			o.Scan = func(ctx context.Context, _, _ string) ([]api.Finding, error) {
				close(scanning)
				<-ctx.Done()
				return nil, ctx.Err()
			}
		},
		server: func(o *server.Options) { o.DrainTime = 50 * time.Millisecond },
	})
	token := w.token("*", api.Writer)
	failed := make(chan error, 1)
	go func() {
		_, err := w.try(request{method: http.MethodPut, path: memory("a/b"), token: token, body: `{"entries":{"k":"1"}}`})
		failed <- err
	}()
	<-scanning
	if err := w.stop(); err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
	if err := <-failed; err == nil {
		t.Error("the request that hung was answered")
	}
	if !strings.Contains(w.logged.String(), "requests were cut off by the stop") {
		t.Error("the log does not say that a request was cut off")
	}
}
