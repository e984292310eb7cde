package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/teammem/teammemd/api"
)

// Handler is the daemon. Its methods may be called from several goroutines. An
// error keeps its sentinel of package api on the way to the client.
type Handler interface {
	Status(ctx context.Context) (Status, error)
	// Sync runs one full cycle of one root and returns when it is over.
	Sync(ctx context.Context, req SyncRequest) (RootReport, error)
	// Reload reads the registered roots and the configuration anew.
	Reload(ctx context.Context) error
	// Stop asks the daemon to end; it returns before the daemon does.
	Stop(ctx context.Context) error
}

// Options are what a [Server] is made of.
type Options struct {
	Handler Handler
	Logger  *slog.Logger // nil means none
	// Note is a file that names the socket while the server listens, "" for none.
	// A client that sees another runtime directory finds the socket by it.
	Note string
	// Changes returns a channel that is closed when the status may have changed.
	// nil means that whoever watches sees changes a little later.
	Changes func() <-chan struct{}
	// CheckEvery is how often the socket's file is looked for; zero means 3 s.
	CheckEvery time.Duration
}

// drain is how long running requests may take when the server stops.
const drain = 2 * time.Second

// Server answers on the control socket. Listen, then Run, each once.
type Server struct {
	opts   Options
	http   *http.Server
	ending chan struct{} // closed when the server stops

	// Owned by Listen, then by Run's goroutine.
	wanted   string
	at       address
	listener net.Listener
	file     os.FileInfo
}

// NewServer starts nothing.
func NewServer(opts Options) *Server {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.CheckEvery <= 0 {
		opts.CheckEvery = 3 * time.Second
	}
	s := &Server{opts: opts, ending: make(chan struct{})}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(opts.Logger.Handler(), slog.LevelDebug)}
	s.http.RegisterOnShutdown(func() { close(s.ending) })
	return s
}

// Listen binds the socket at path, in a directory that only the user can enter,
// and removes what an earlier daemon left there. lease proves that no other
// daemon is alive. When it returns nil, clients can connect; they are answered
// once Run runs.
func (s *Server) Listen(lease *Lease, path string) error {
	if lease == nil || !lease.lock.Locked() {
		return errors.New("listening on the control socket: the lock is not held")
	}
	s.wanted = path
	return s.bind()
}

// bind makes the socket anew. It is called under the lease only.
func (s *Server) bind() error {
	if err := privateDirectory(filepath.Dir(s.wanted)); err != nil {
		return err
	}
	at, err := resolve(s.wanted)
	if err != nil {
		return fmt.Errorf("finding a place for the control socket: %w", err)
	}
	if err := os.Remove(at.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		at.close()
		return fmt.Errorf("removing a stale control socket: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "unix", at.name)
	if err != nil {
		at.close()
		return fmt.Errorf("listening on the control socket %q: %w", at.path, err)
	}
	// Closing must not remove a file that may be a later socket's.
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	err = os.Chmod(at.path, privateFile)
	file, statErr := os.Lstat(at.path)
	if err := errors.Join(err, statErr); err != nil {
		_ = listener.Close()
		at.close()
		return fmt.Errorf("closing the control socket %q to others: %w", at.path, err)
	}
	s.unbind()
	s.at, s.listener, s.file = at, listener, file
	s.writeNote()
	return nil
}

// unbind closes the current socket and leaves its file.
func (s *Server) unbind() {
	if s.listener != nil {
		_ = s.listener.Close()
	}
	s.at.close()
}

func (s *Server) writeNote() {
	if s.opts.Note == "" {
		return
	}
	if err := os.WriteFile(s.opts.Note, []byte(s.at.path+"\n"), privateFile); err != nil {
		s.opts.Logger.Warn("control socket note not written", "error", err)
	}
}

// Run answers until ctx ends, then lets running requests finish for a moment
// and removes the socket. A socket whose file vanishes or is replaced is made
// again.
func (s *Server) Run(ctx context.Context) error {
	if s.listener == nil {
		return errors.New("running the control socket: it does not listen")
	}
	failed := make(chan error, 1)
	s.serve(failed)
	ticker := time.NewTicker(s.opts.CheckEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.stop(context.WithoutCancel(ctx))
		case err := <-failed:
			s.opts.Logger.WarnContext(ctx, "control socket failed", "error", err)
			s.again(failed)
		case <-ticker.C:
			if !s.intact() {
				s.opts.Logger.WarnContext(ctx, "control socket vanished")
				s.again(failed)
			}
		}
	}
}

// serve starts answering on the current listener; it ends with the listener or
// with the server.
func (s *Server) serve(failed chan<- error) {
	listener := s.listener
	go func() {
		err := s.http.Serve(listener)
		if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
			return
		}
		select {
		case failed <- err:
		default:
		}
	}()
}

// again makes the socket anew; the next check tries once more if it cannot.
func (s *Server) again(failed chan<- error) {
	if err := s.bind(); err != nil {
		s.opts.Logger.Error("control socket not restored", "error", err)
		return
	}
	s.serve(failed)
}

// intact reports whether the file of the socket is still ours.
func (s *Server) intact() bool {
	st, err := os.Lstat(s.at.path)
	return err == nil && os.SameFile(st, s.file)
}

func (s *Server) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drain)
	defer cancel()
	if s.intact() {
		_ = os.Remove(s.at.path)
	}
	if s.opts.Note != "" {
		_ = os.Remove(s.opts.Note)
	}
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close()
	}
	s.unbind()
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // what was running is cut off, as promised
	}
	return err
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	h := s.opts.Handler
	mux.HandleFunc("GET "+pathAlive, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET "+pathStatus, func(w http.ResponseWriter, r *http.Request) {
		status, err := h.Status(r.Context())
		answer(w, status, err)
	})
	mux.HandleFunc("GET "+pathStream, s.stream)
	mux.HandleFunc("POST "+pathSync, func(w http.ResponseWriter, r *http.Request) {
		var req SyncRequest
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage)).Decode(&req); err != nil {
			answer(w, nil, fmt.Errorf("%w: reading the request", api.ErrBadRequest))
			return
		}
		report, err := h.Sync(r.Context(), req)
		answer(w, report, err)
	})
	mux.HandleFunc("POST "+pathReload, func(w http.ResponseWriter, r *http.Request) {
		answer(w, struct{}{}, h.Reload(r.Context()))
	})
	mux.HandleFunc("POST "+pathStop, func(w http.ResponseWriter, r *http.Request) {
		answer(w, struct{}{}, h.Stop(r.Context()))
	})
	return mux
}

// answer sends the result or the error, never both.
func answer(w http.ResponseWriter, body any, err error) {
	if err != nil {
		status, _ := api.Wire(err)
		writeJSON(w, status, encodeFailure(err))
		return
	}
	writeJSON(w, http.StatusOK, body)
}
