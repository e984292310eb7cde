package signin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
)

// judge turns an error of x/oauth2 or of the transport into one of ours. Theirs
// quote what the server sent, and the URL.
func judge(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		switch refused.ErrorCode {
		case "authorization_pending", "slow_down":
			return ErrPending
		case "access_denied":
			return errDenied
		case "expired_token":
			return errExpired
		case "invalid_grant":
			return errEnded
		}
		return judgeStatus(refused.Response.StatusCode)
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%w: %w", api.ErrOffline, outer.Err)
	}
	return fmt.Errorf("%w: its answer to a sign-in cannot be read", api.ErrBadAnswer)
}

func judgeStatus(status int) error {
	switch {
	case status == http.StatusNotFound:
		return fmt.Errorf("%w: there is no sign-in at this address", api.ErrNotFound)
	case status == http.StatusTooManyRequests:
		return fmt.Errorf("%w: try again in a minute", api.ErrRateLimited)
	case status >= http.StatusInternalServerError:
		return fmt.Errorf("%w: try again in a minute", api.ErrUnavailable)
	}
	return fmt.Errorf("%w: it answered a sign-in with status %d", api.ErrBadAnswer, status)
}

// passing reports whether it is worth trying again.
func passing(err error) bool {
	for _, one := range []error{api.ErrOffline, api.ErrUnavailable, api.ErrRateLimited, api.ErrBadAnswer} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
