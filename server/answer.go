package server

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
)

// Values of headers, shared by all answers: net/http only reads them.
var (
	jsonType  = []string{"application/json"}
	noSniff   = []string{"nosniff"}
	private   = []string{"private, no-cache"}
	varies    = []string{"Accept-Encoding"}
	gzipValue = []string{"gzip"}
)

// errMethod is the 405, the one status that our own clients never meet and the
// table of errors does not list.
var errMethod = errors.New("method not allowed")

// defaultRetry is Retry-After where nothing better is known.
const defaultRetry = time.Second

// begin sends status and headers.
func (c *call) begin(status int) {
	c.status = status
	c.w.WriteHeader(status)
}

// sendJSON answers with v.
func (c *call) sendJSON(status int, v any) error {
	body, err := core.Marshal(v)
	if err != nil {
		return err
	}
	c.sendBytes(status, body)
	return nil
}

func (c *call) sendBytes(status int, body []byte) {
	h := c.w.Header()
	h["Content-Type"] = jsonType
	h["X-Content-Type-Options"] = noSniff
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.begin(status)
	_, _ = c.write(body) // fails only when the client is gone
}

// fail answers with the refusal err.
func (c *call) fail(err error) {
	if c.gone(err) && c.status == 0 {
		c.status = 499 // seen by nobody but the log
		return
	}
	if c.status != 0 {
		c.log.ErrorContext(c.r.Context(), "answer was cut off", "request_id", c.id, "path", c.routeName(), "error", err)
		c.broken = true
		return
	}
	if errors.Is(err, errMethod) {
		c.sendError(http.StatusMethodNotAllowed, api.ErrorBody{Error: api.ErrorPart{
			Type: "invalid_request_error", Message: "the method is not allowed here",
			Details: api.Details{ErrorCode: "method_not_allowed"},
		}})
		return
	}
	status, body := api.Wire(err)
	switch status {
	case http.StatusUnauthorized:
		c.w.Header().Set("WWW-Authenticate", `Bearer realm="teammemd"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		c.w.Header().Set("Retry-After", retryAfter(err))
	}
	if status >= http.StatusInternalServerError {
		c.log.ErrorContext(c.r.Context(), "request failed", "request_id", c.id, "path", c.routeName(), "status", status, "error", err)
	}
	c.sendError(status, body)
}

func (c *call) sendError(status int, body api.ErrorBody) {
	c.refused = body.Error.Details.ErrorCode
	c.o.Meter.Refused(c.refused)
	raw, err := core.Marshal(body)
	if err != nil {
		raw = []byte(`{"error":{"type":"api_error","message":"internal error","details":{"error_code":"internal"}}}`)
	}
	c.sendBytes(status, raw)
}

// retryAfter returns whole seconds, rounded up.
func retryAfter(err error) string {
	wait := defaultRetry
	var e *api.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		wait = e.RetryAfter
	}
	return strconv.Itoa(int((wait + time.Second - 1) / time.Second))
}

// explain makes a refusal of err whose text may travel: one of a parser of
// package api, which never repeats its input.
func explain(sentinel, err error) error {
	return api.Errorf(sentinel, "%s", strings.TrimPrefix(err.Error(), sentinel.Error()+": "))
}

// acceptsGzip reports whether the client asked for gzip.
func acceptsGzip(r *http.Request) bool {
	for _, line := range r.Header["Accept-Encoding"] {
		if line == "gzip" {
			return true
		}
		for part := range strings.SplitSeq(line, ",") {
			coding, params, _ := strings.Cut(part, ";")
			coding = strings.TrimSpace(coding)
			if strings.EqualFold(coding, "gzip") || strings.EqualFold(coding, "x-gzip") || coding == "*" {
				return !isZeroWeight(params)
			}
		}
	}
	return false
}

// isZeroWeight reports whether the parameters say q=0, which refuses a coding.
func isZeroWeight(params string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err != nil || weight == 0
		}
	}
	return false
}
