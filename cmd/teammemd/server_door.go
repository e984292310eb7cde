package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/server/store"
)

// A server on SQLite alone may change its database. What an administrator does by
// hand goes through a socket in the data directory then, which its owner alone can
// open: whoever can may read the database itself.

// doorFile is how the socket is called.
const doorFile = "admin.sock"

// doorTime bounds what is done through the socket: a scrub copies the database.
const doorTime = time.Hour

// maxDoorBytes bounds a message either way.
const maxDoorBytes = 1 << 20

// chores are what can be asked for: what each does with a store. A verb does the
// same by itself where no server runs.
func (e *embedded) chores() map[string]func(ctx context.Context, raw []byte) (any, error) {
	return map[string]func(context.Context, []byte) (any, error){
		"/prune": chore(e.backend, func(ctx context.Context, s store.Backend, r pruning) (any, error) { return r.run(ctx, s) }),
		"/erase": chore(e.backend, func(ctx context.Context, s store.Backend, r erasing) (any, error) {
			answer, err := r.run(ctx, s)
			e.clients.Forget() // what is gathered there must not bring the name back
			return answer, err
		}),
	}
}

// chore reads a request of its kind.
func chore[T any](s store.Backend, run func(context.Context, store.Backend, T) (any, error)) func(context.Context, []byte) (any, error) {
	return func(ctx context.Context, raw []byte) (any, error) {
		var request T
		if err := json.Unmarshal(raw, &request); err != nil {
			return nil, fmt.Errorf("%w: this is not what the server understands: are both of one release?", api.ErrUsage)
		}
		return run(ctx, s, request)
	}
}

// refusedChore is the body of an answer that is no success.
type refusedChore struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
	Usage bool   `json:"usage,omitempty"` // the caller is to mend it
}

// door is the open socket. A nil door is none: on PostgreSQL none is needed, and a
// server without one works all the same.
type door struct {
	net.Listener

	path string
}

// newDoor opens the socket of a server that has the store's lock.
func newDoor(ctx context.Context, c config.Server, log *slog.Logger) *door {
	if c.Database.URL != "" {
		return nil
	}
	path := filepath.Join(c.Data, doorFile)
	ln, err := openDoor(ctx, c.Data, path)
	if err != nil { // such as a path that is too long for a socket
		log.DebugContext(ctx, "no socket for administrators", "error", err)
		return nil
	}
	return &door{ln, path}
}

// shut closes the socket while the store's lock is held still: after it the name may
// be another server's. It may be called again.
func (d *door) shut() {
	if d != nil && d.Close() == nil {
		_ = os.Remove(d.path)
	}
}

// serveDoor answers on the socket until ctx ends.
func (e *embedded) serveDoor(ctx context.Context) {
	if e.door == nil {
		return
	}
	defer e.door.shut()
	mux := http.NewServeMux()
	for name, do := range e.chores() {
		mux.HandleFunc("POST "+name, func(w http.ResponseWriter, r *http.Request) { answerChore(w, r, do) })
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	// What is under way ends with its context, and tells who asked.
	stop := context.AfterFunc(ctx, func() { e.door.shut(); _ = srv.Shutdown(context.WithoutCancel(ctx)) })
	defer stop()
	if err := srv.Serve(e.door); !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
		e.log.WarnContext(ctx, "the socket for administrators ended", "error", err)
	}
}

// openDoor makes the socket where only its owner can come, and puts it in place with
// its rights, also over one that a killed server left: this one holds the lock.
func openDoor(ctx context.Context, dir, path string) (net.Listener, error) {
	aside, err := os.MkdirTemp(dir, ".door")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(aside)
	made := filepath.Join(aside, "s")
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", made)
	if err != nil {
		return nil, err
	}
	if u, ok := ln.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // it has another name by then
	}
	if err := errors.Join(os.Chmod(made, 0o600), os.Rename(made, path)); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

func answerChore(w http.ResponseWriter, r *http.Request, do func(context.Context, []byte) (any, error)) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxDoorBytes))
	var answer any
	if err == nil {
		answer, err = do(r.Context(), raw)
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		refusal := refusedChore{Error: err.Error(), Usage: errors.Is(err, api.ErrUsage)}
		if hint, ok := errors.AsType[*hinted](err); ok {
			refusal.Hint = hint.Hint()
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		answer = refusal
	}
	_ = json.NewEncoder(w).Encode(answer) // who left hears nothing
}

// alone does a chore by itself, or through the server that has the store.
func alone[T, A any](ctx context.Context, a *app, flags *serverFlags, name string, request T, run func(context.Context, store.Backend) (A, error)) (answer A, err error) {
	err = a.withStoreAlone(ctx, flags, func(s store.Backend) (err error) {
		answer, err = run(ctx, s)
		return err
	})
	if !errors.Is(err, api.ErrAlreadyRunning) {
		return answer, err
	}
	c, err := flags.loadStore(a)
	if err != nil {
		return answer, err
	}
	return answer, askDoor(ctx, c, name, request, &answer)
}

// askDoor lets the server that runs do a chore.
func askDoor(ctx context.Context, c config.Server, name string, request, answer any) error {
	path := filepath.Join(c.Data, doorFile)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: doorTime}
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encoding a request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://door"+name, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking the server that runs: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return withHint(fmt.Errorf("%w: a server serves %s and cannot be asked to do this at %s", api.ErrAlreadyRunning, c.Data, path),
			"run this as the user of the server, or stop the server, run this, and start it again")
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxDoorBytes))
	switch {
	case err != nil:
		return fmt.Errorf("%w: the server that runs stopped answering; look whether it was done", api.ErrUnavailable)
	case resp.StatusCode == http.StatusOK:
		if json.Unmarshal(raw, answer) == nil {
			return nil
		}
	}
	return refusedByDoor(resp.StatusCode, raw)
}

func refusedByDoor(status int, raw []byte) error {
	var refusal refusedChore
	if json.Unmarshal(raw, &refusal) != nil || refusal.Error == "" {
		return withHint(fmt.Errorf("%w: the server that runs answered status %d", api.ErrAlreadyRunning, status), "it is of another release: stop it, run this, and start it again")
	}
	err := errors.New(refusal.Error)
	if refusal.Usage {
		err = usageError{refusal.Error}
	}
	if refusal.Hint != "" {
		return withHint(err, "%s", refusal.Hint)
	}
	return err
}

// usageError is a refusal of the server that is the caller's to mend, in its words.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }
func (usageError) Unwrap() error   { return api.ErrUsage }
