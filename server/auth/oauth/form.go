package oauth

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"
)

const (
	// maxBody bounds a form, in bytes; the largest holds an OIDC token.
	maxBody = 32 << 10
	// maxParams bounds the parameters of a form.
	maxParams = 40
	// maxQuery bounds the query of a page, in bytes.
	maxQuery = 8 << 10
)

// readForm reads the body of a POST. Parameters in the URL do not count.
func readForm(r *http.Request) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, errForm
	}
	if r.ContentLength > maxBody {
		return nil, errTooLarge
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, refuse("invalid_request", "the body ended early")
	}
	if len(raw) > maxBody {
		return nil, errTooLarge
	}
	return parseForm(string(raw))
}

// readQuery reads the query of a page.
func readQuery(r *http.Request) (url.Values, error) {
	if len(r.URL.RawQuery) > maxQuery {
		return nil, refuse("invalid_request", "the query is too long")
	}
	return parseForm(r.URL.RawQuery)
}

// parseForm reads parameters strictly: each stands at most once (RFC 6749,
// section 3.1), so that nobody reads another than we do.
func parseForm(raw string) (url.Values, error) {
	form, err := url.ParseQuery(raw)
	if err != nil || len(form) > maxParams {
		return nil, refuse("invalid_request", "the parameters are malformed")
	}
	for name, values := range form {
		if len(values) > 1 {
			return nil, refuse("invalid_request", "a parameter stands there twice")
		}
		if !utf8.ValidString(name) || !utf8.ValidString(values[0]) {
			return nil, refuse("invalid_request", "a parameter is not UTF-8")
		}
	}
	return form, nil
}

// noStore keeps an answer out of every cache: RFC 6749, section 5.1.
func noStore(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Pragma", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // cannot be: texts, numbers and truths
		status, body = http.StatusInternalServerError, []byte(`{"error":"server_error"}`)
	}
	noStore(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only when the client is gone
}

// fail answers with a refusal as JSON. What is none is ours: it is logged, and
// the client may try again.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := s.refusal(r, err)
	if e.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((e.retry+time.Second-1)/time.Second)))
	}
	status := e.status
	switch status {
	case 0:
		status = http.StatusBadRequest
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="teammemd", error="`+e.Code+`"`)
	}
	sendJSON(w, status, struct {
		Error       string `json:"error"`
		Description string `json:"error_description,omitempty"`
	}{e.Code, e.Description})
}

// refusal is what err looks like to others.
func (s *Server) refusal(r *http.Request, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if r.Context().Err() == nil {
		s.log.ErrorContext(r.Context(), "sign-in failed", "path", r.URL.Path, "error", err)
	}
	return errUnavailable
}
