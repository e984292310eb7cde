package oauth

import (
	"errors"
	"net/http"
	"time"
)

// Error is a refusal as RFC 6749 spells it. Description is for people who write
// clients; it repeats nothing that was sent.
type Error struct {
	Code        string
	Description string
	status      int           // 0: 400
	retry       time.Duration // Retry-After; 0: not said
}

// Error returns code and description.
func (e *Error) Error() string { return e.Code + ": " + e.Description }

func refuse(code, description string) *Error { return &Error{Code: code, Description: description} }

// The refusals. Those of a grant do not tell an unknown secret from one of
// another client, a spent one from a wrong one.
var (
	errGrant         = refuse("invalid_grant", "the code or token is unknown, used, expired or revoked")
	errPending       = refuse("authorization_pending", "nobody has answered yet")
	errSlowDown      = refuse("slow_down", "wait five seconds longer between polls from now on")
	errExpired       = refuse("expired_token", "the code expired; begin anew")
	errDenied        = refuse("access_denied", "the request was denied")
	errClient        = &Error{Code: "invalid_client", Description: "there is no such client", status: http.StatusUnauthorized}
	errGrantType     = refuse("unsupported_grant_type", "the server offers device_code, authorization_code, refresh_token and token-exchange")
	errScope         = refuse("invalid_scope", "there are no scopes; leave the parameter out")
	errTarget        = refuse("invalid_target", "no policy gives this token access")
	errMethod        = &Error{Code: "invalid_request", Description: "this endpoint takes another method", status: http.StatusMethodNotAllowed}
	errTooLarge      = &Error{Code: "invalid_request", Description: "the body is too large", status: http.StatusRequestEntityTooLarge}
	errForm          = &Error{Code: "invalid_request", Description: "the body must be application/x-www-form-urlencoded", status: http.StatusUnsupportedMediaType}
	errUnauthorized  = &Error{Code: "invalid_token", Description: "introspection is for administrators", status: http.StatusUnauthorized}
	errCrossOrigin   = &Error{Code: "invalid_request", Description: "browsers may not send this from another site", status: http.StatusForbidden}
	errUnavailable   = &Error{Code: "temporarily_unavailable", Description: "try again in a moment", status: http.StatusServiceUnavailable, retry: time.Second}
	errReplayed      = errors.New("an authorization code was used twice")
	errReused        = errors.New("a spent refresh token was used again")
	errCodeUnknown   = errors.New("there is no open request with this code")
	errOtherBrowser  = errors.New("the sign-in began in another browser, or too long ago")
	errTooManyTries  = errors.New("too many tries")
	errNotRegistered = errors.New("the address to return to is not registered for this client")
)
