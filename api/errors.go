package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// The sentinels of the whole program, each with one row in [Errors].
var (
	ErrBadRequest     = errors.New("bad request")
	ErrRepoInvalid    = errors.New("repo name invalid")
	ErrKeyInvalid     = errors.New("key invalid")
	ErrKeyConflict    = errors.New("key conflicts with another")
	ErrKeyRetired     = errors.New("key was retired")
	ErrSecretFound    = errors.New("secret found")
	ErrRedacted       = errors.New("content was redacted")
	ErrRefused        = errors.New("refused by the server")
	ErrSignedOut      = errors.New("not signed in")
	ErrForbidden      = errors.New("not allowed")
	ErrNotFound       = errors.New("no data yet")
	ErrNoAccess       = errors.New("no access")
	ErrPrecondition   = errors.New("precondition failed")
	ErrTooManyEntries = errors.New("too many entries")
	ErrEntryTooLarge  = errors.New("entry too large")
	ErrBodyTooLarge   = errors.New("body too large")
	ErrConflict       = errors.New("conflict, try again")
	ErrRateLimited    = errors.New("too many requests")
	ErrUnavailable    = errors.New("server unavailable")
	ErrInternal       = errors.New("internal error")
	ErrOffline        = errors.New("server not reachable")
	ErrBadAnswer      = errors.New("not an answer of a team-memory server")
	ErrAlreadyRunning = errors.New("already running")
	ErrUsage          = errors.New("usage")
	ErrConfig         = errors.New("configuration")
	ErrHeld           = errors.New("something is held or in conflict")
	ErrServerChanged  = errors.New("the server was restored or replaced")
)

// Exit codes of the built binary.
const (
	ExitOK       = 0
	ExitFailure  = 1
	ExitUsage    = 2
	ExitHeld     = 3
	ExitSignIn   = 4
	ExitTempFail = 75
	ExitNoAccess = 77
	ExitConfig   = 78
)

// ErrorRow says how one sentinel looks on the wire and to a shell. Status 0
// means that it never travels.
type ErrorRow struct {
	Err    error
	Status int    // HTTP status
	Type   string // error.type
	Code   string // error.details.error_code, unique among rows with a status
	Exit   int    // process exit code
}

// Errors is the one table, most specific rows first.
var Errors = []ErrorRow{
	{ErrBadRequest, http.StatusBadRequest, "invalid_request_error", "bad_request", ExitFailure},
	{ErrRepoInvalid, http.StatusBadRequest, "invalid_request_error", "repo_invalid", ExitUsage},
	{ErrKeyInvalid, http.StatusUnprocessableEntity, "invalid_request_error", "key_invalid", ExitHeld},
	{ErrKeyConflict, http.StatusUnprocessableEntity, "invalid_request_error", "key_conflict", ExitHeld},
	{ErrKeyRetired, http.StatusUnprocessableEntity, "invalid_request_error", "key_retired", ExitHeld},
	{ErrSecretFound, http.StatusUnprocessableEntity, "invalid_request_error", "secret_found", ExitHeld},
	{ErrRedacted, http.StatusUnprocessableEntity, "invalid_request_error", "content_redacted", ExitHeld},
	{ErrRefused, http.StatusUnprocessableEntity, "invalid_request_error", "refused", ExitHeld},
	{ErrSignedOut, http.StatusUnauthorized, "authentication_error", "signed_out", ExitSignIn},
	{ErrForbidden, http.StatusForbidden, "permission_error", "forbidden", ExitNoAccess},
	{ErrNotFound, http.StatusNotFound, "not_found_error", "not_found", ExitFailure},
	{ErrNoAccess, 0, "", "", ExitNoAccess},
	{ErrPrecondition, http.StatusPreconditionFailed, "conflict_error", "precondition_failed", ExitFailure},
	{ErrTooManyEntries, http.StatusRequestEntityTooLarge, "request_too_large", "team_memory_too_many_entries", ExitHeld},
	{ErrEntryTooLarge, http.StatusRequestEntityTooLarge, "request_too_large", "entry_too_large", ExitHeld},
	{ErrBodyTooLarge, http.StatusRequestEntityTooLarge, "request_too_large", "body_too_large", ExitFailure},
	{ErrConflict, http.StatusConflict, "conflict_error", "conflict", ExitTempFail},
	{ErrRateLimited, http.StatusTooManyRequests, "rate_limit_error", "rate_limited", ExitTempFail},
	{ErrUnavailable, http.StatusServiceUnavailable, "overloaded_error", "unavailable", ExitTempFail},
	{ErrInternal, http.StatusInternalServerError, "api_error", "internal", ExitFailure},
	{ErrOffline, 0, "", "", ExitTempFail},
	{ErrBadAnswer, 0, "", "", ExitTempFail},
	{ErrAlreadyRunning, 0, "", "", ExitTempFail},
	{ErrUsage, 0, "", "", ExitUsage},
	{ErrConfig, 0, "", "", ExitConfig},
	{ErrHeld, 0, "", "", ExitHeld},
	{ErrServerChanged, 0, "", "", ExitHeld},
}

// exitOrder ranks exit codes for several conditions at once, worst first.
var exitOrder = []int{ExitConfig, ExitUsage, ExitSignIn, ExitNoAccess, ExitTempFail, ExitFailure, ExitHeld, ExitOK}

// WorseExit returns the code that is reported when both conditions hold.
func WorseExit(a, b int) int {
	for _, code := range exitOrder {
		if code == a || code == b {
			return code
		}
	}
	return ExitFailure
}

// Row returns the row of the first sentinel that err wraps, [ErrInternal]'s
// for an error that wraps none.
func Row(err error) ErrorRow {
	internal := ErrorRow{ErrInternal, http.StatusInternalServerError, "api_error", "internal", ExitFailure}
	for _, row := range Errors {
		if errors.Is(err, row.Err) {
			return row
		}
	}
	return internal
}

// ExitCode returns the exit code for err, [ExitOK] for nil. Joined errors count
// each, the worst wins.
func ExitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	code, found := ExitOK, false
	for _, row := range Errors {
		if errors.Is(err, row.Err) {
			code, found = WorseExit(code, row.Exit), true
		}
	}
	if !found {
		return ExitFailure
	}
	return code
}

// Error is a refusal with the details that travel in its body. It unwraps to
// its sentinel. No field may hold a secret or a line of an entry.
type Error struct {
	Err        error         // one of the sentinels
	Message    string        // one sentence for people
	Details    Details       // travels as error.details
	RetryAfter time.Duration // Retry-After; 0 = not said
}

// Error returns the sentinel's text and the message.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v: %s", e.Err, e.Message)
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an [Error] without details.
func Errorf(sentinel error, format string, args ...any) *Error {
	return &Error{Err: sentinel, Message: fmt.Sprintf(format, args...)}
}

// Details is error.details on the wire.
type Details struct {
	ErrorCode       string    `json:"error_code"`
	MaxEntries      int       `json:"max_entries,omitempty"`
	ReceivedEntries int       `json:"received_entries,omitempty"`
	MaxBytes        int       `json:"max_bytes,omitempty"`
	Findings        []Finding `json:"findings,omitempty"`
	// Conflicts maps each key whose precondition failed to what the server has:
	// "sha256:<hex>", "tombstone:<version>", or "" for nothing.
	Conflicts map[string]string `json:"conflicts,omitempty"`
}

// Finding is one reason why an entry was refused.
type Finding struct {
	Key    string `json:"key"`
	Line   int    `json:"line,omitempty"`   // 1-based; 0 = not about a line
	Column int    `json:"column,omitempty"` // 1-based, in bytes
	Rule   string `json:"rule"`             // a scanner's rule id, or an error_code
	Tier   string `json:"tier,omitempty"`
	Reason string `json:"reason"`
	// Allowed is why it may pass all the same, a reason of [AllowReasons] or
	// [AllowedByTeam]; "" for a finding that holds.
	Allowed string `json:"-"`
}

// ErrorBody is the JSON of every refusal.
type ErrorBody struct {
	Error ErrorPart `json:"error"`
}

// ErrorPart is the "error" member of [ErrorBody].
type ErrorPart struct {
	Type    string  `json:"type"`
	Message string  `json:"message"`
	Details Details `json:"details"`
}

// Wire returns the status and body for err. The message of an error that is
// not an [Error] stays inside the server: its sentinel's text travels instead.
func Wire(err error) (status int, body ErrorBody) {
	row := Row(err)
	if row.Status == 0 {
		row = Row(ErrInternal)
	}
	part := ErrorPart{Type: row.Type, Message: row.Err.Error()}
	var e *Error
	if errors.As(err, &e) && errors.Is(e, row.Err) {
		part.Message, part.Details = e.Error(), e.Details
	}
	part.Details.ErrorCode = row.Code
	return row.Status, ErrorBody{part}
}

// FromWire is the inverse of [Wire] for a client: the sentinel is chosen by
// error_code where the status agrees, else by the status alone.
func FromWire(status int, body ErrorBody) *Error {
	e := &Error{Err: sentinelOf(status), Message: body.Error.Message, Details: body.Error.Details}
	for _, row := range Errors {
		if row.Status == status && row.Code == body.Error.Details.ErrorCode {
			e.Err = row.Err
		}
	}
	// Our own servers begin with the sentinel's words, which Error says again.
	e.Message = strings.TrimPrefix(strings.TrimPrefix(e.Message, e.Err.Error()), ": ")
	return e
}

func sentinelOf(status int) error {
	switch status {
	case http.StatusUnprocessableEntity:
		return ErrRefused
	case http.StatusRequestEntityTooLarge:
		return ErrBodyTooLarge
	case http.StatusProxyAuthRequired, http.StatusMultiStatus:
		return ErrBadAnswer
	}
	for _, row := range Errors {
		if row.Status == status {
			return row.Err
		}
	}
	switch {
	case status >= 500:
		return ErrUnavailable
	case status >= 400:
		return ErrBadRequest
	}
	return ErrBadAnswer
}
