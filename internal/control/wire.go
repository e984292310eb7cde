package control

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/teammem/teammemd/api"
)

// The paths on the socket.
const (
	pathAlive  = "/v1/alive"
	pathStatus = "/v1/status"
	pathStream = "/v1/status/stream"
	pathSync   = "/v1/sync"
	pathReload = "/v1/reload"
	pathStop   = "/v1/stop"
)

// maxMessage bounds a request or an answer on the socket, in bytes.
const maxMessage = 64 << 20

// failure is the JSON of an error. All sentinels travel, also those that have no
// HTTP status on the wire between machines.
type failure struct {
	// Sentinel is the text of the sentinel of package api, "" for none.
	Sentinel string `json:"sentinel"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
}

// Error is an error that the daemon answered. It wraps the sentinel that the
// daemon's own error wrapped.
type Error struct {
	sentinel error
	message  string
	hint     string
}

// Error returns the daemon's message.
func (e *Error) Error() string { return e.message }

// Hint returns what the user can do, "" for nothing in particular.
func (e *Error) Hint() string { return e.hint }

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.sentinel }

func encodeFailure(err error) failure {
	f := failure{Sentinel: api.Row(err).Err.Error(), Message: err.Error()}
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		f.Hint = hinted.Hint()
	}
	return f
}

func decodeFailure(f failure) *Error {
	e := &Error{sentinel: api.ErrInternal, message: f.Message, hint: f.Hint}
	for _, row := range api.Errors {
		if row.Err.Error() == f.Sentinel {
			e.sentinel = row.Err
		}
	}
	if e.message == "" {
		e.message = e.sentinel.Error()
	}
	return e
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone away needs no answer.
	_ = json.NewEncoder(w).Encode(body)
}
